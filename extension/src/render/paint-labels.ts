// Paints what is written over the picture: badges, labels of edges, titles of scopes.
import { intersects, type Rect } from "../geometry/rect.js";
import { METRICS } from "../scene/boxes.js";
import type { FrameTitle } from "../scene/frame-titles.js";
import { DETAIL, type Frame, isFaded } from "./frame.js";
import { printable } from "./text-metrics.js";

const BADGE = { height: 15, padding: 5, gap: 3, overlap: 6, clear: 12 };
const EDGE_LABEL = { size: 10, aside: 6, below: 12, above: 14, height: 13 };
const TITLE = { marker: 9, left: 10, gap: 7, plate: 4 };

export function paintBadges(context: CanvasRenderingContext2D, frame: Frame): void {
  const { scene, theme, text, view } = frame;
  if (view.scale < DETAIL.names) return;
  const isFull = view.scale >= DETAIL.subtitles;
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.font = text.font(METRICS.badgeSize, true);
  scene.boxGrid.query(frame.world, (item) => {
    const box = scene.boxes[item];
    if (box === undefined || isFaded(frame, item)) return;
    const badges = box.badges.filter((badge) => isFull || badge.isBad);
    const widths = badges.map(
      (badge) => text.measure(badge.text, METRICS.badgeSize, true) + 2 * BADGE.padding,
    );
    const all = widths.reduce((sum, width) => sum + width + BADGE.gap, 0);
    // At the right corner, and clear of the arrow that arrives in the middle.
    const clear = box.x + box.width / 2 + BADGE.clear + all;
    let right = Math.max(box.x + box.width + BADGE.overlap, clear);
    for (const [index, badge] of badges.entries()) {
      const width = widths[index] ?? 0;
      const y = box.y - BADGE.height / 2 - 1;
      context.beginPath();
      context.roundRect(right - width, y, width, BADGE.height, BADGE.height / 2);
      context.fillStyle = badge.isBad ? theme.bad : theme.badge;
      context.fill();
      context.lineWidth = 1.2;
      context.strokeStyle = theme.background;
      context.stroke();
      context.fillStyle = badge.isBad ? theme.badText : theme.badgeText;
      const middle = right - width / 2;
      context.fillText(badge.text, middle, y + BADGE.height / 2 + 0.5);
      right -= width + BADGE.gap;
    }
  });
}

/** Write beside each edge which tensor it carries: where the edge leaves, once for all
 * edges of that tensor; where it arrives, when its source has several. */
export function paintEdgeLabels(context: CanvasRenderingContext2D, frame: Frame): void {
  const { scene, theme, text, view } = frame;
  if (view.scale < DETAIL.edgeLabels) return;
  const { points, starts } = scene.placement;
  const placed: Rect[] = [];
  const written = new Set<string>();
  context.textAlign = "left";
  context.textBaseline = "middle";
  context.font = text.font(EDGE_LABEL.size, false);
  scene.edgeGrid.query(frame.world, (edge) => {
    const label = scene.edges[edge]?.label ?? "";
    const source = scene.visible.source[edge] ?? -1;
    const target = scene.visible.target[edge] ?? -1;
    if (label === "" || (isFaded(frame, source) && isFaded(frame, target))) return;
    const start = starts[edge] ?? 0;
    const end = starts[edge + 1] ?? 0;
    const isAlone = hasOneLabel(frame, source);
    const key = isAlone ? `${source}` : `${source} ${target} ${label}`;
    if (written.has(key)) return;
    written.add(key);
    const at = isAlone ? start : end - 2;
    const width = text.measure(label, EDGE_LABEL.size, false);
    // Beside the line, on the side that it does not bend to.
    const bendsRight = (points[isAlone ? at + 2 : at - 2] ?? 0) > (points[at] ?? 0) + 1;
    const aside = bendsRight ? -EDGE_LABEL.aside - width : EDGE_LABEL.aside;
    const x = (points[at] ?? 0) + aside;
    const y = (points[at + 1] ?? 0) + (isAlone ? EDGE_LABEL.below : -EDGE_LABEL.above);
    const area = {
      x: x - 2,
      y: y - EDGE_LABEL.height / 2,
      width: width + 4,
      height: EDGE_LABEL.height,
    };
    if (placed.some((other) => intersects(area, other))) return;
    placed.push(area);
    context.globalAlpha = 0.86;
    context.fillStyle = backgroundAt(frame, source);
    context.fillRect(area.x, area.y, area.width, area.height);
    context.globalAlpha = 1;
    context.fillStyle = scene.edges[edge]?.kind === "bad" ? theme.bad : theme.muted;
    context.fillText(label, x, y + 0.5);
  });
}

function hasOneLabel({ scene }: Frame, item: number): boolean {
  let label: string | null = null;
  for (const edge of scene.edgesOfItem.get(item) ?? []) {
    if (scene.visible.source[edge] !== item) continue;
    const own = scene.edges[edge]?.label ?? "";
    if (label !== null && own !== label) return false;
    label = own;
  }
  return true;
}

/** The colour behind the content of the scope around an item. */
function backgroundAt(frame: Frame, item: number): string {
  const depth = depthOf(frame, item) - 1;
  return depth < 0 ? frame.theme.background : frameFill(frame.theme.frames, depth);
}

/** How many open scopes are around an item. */
export function depthOf({ scene }: Frame, item: number): number {
  let depth = 0;
  let around = scene.visible.parent[item] ?? -1;
  while (around >= 0) {
    depth++;
    around = scene.visible.parent[around] ?? -1;
  }
  return depth;
}

export function frameFill(frames: readonly string[], depth: number): string {
  return frames[Math.min(depth, frames.length - 1)] ?? "#888888";
}

/** Titles are painted in screen space, so that they stay readable from afar. */
export function paintFrameTitles(
  context: CanvasRenderingContext2D,
  frame: Frame,
  titles: readonly FrameTitle[],
): void {
  const { theme, text } = frame;
  context.textAlign = "left";
  context.textBaseline = "middle";
  for (const { box, bar, fontSize, isFloating } of titles) {
    const left = bar.x + TITLE.left;
    const room = bar.width - 2 * TITLE.left - TITLE.marker - TITLE.gap;
    if (room < 12) continue;
    const title = text.fit(box.title, fontSize, true, room);
    const titleWidth = text.measure(title, fontSize, true);
    const rest = room - titleWidth - TITLE.gap;
    const needed = text.measure(box.subtitle, fontSize - 1, false);
    const kind = needed <= rest ? printable(box.subtitle) : "";
    const kindWidth = kind === "" ? 0 : needed + TITLE.gap;
    const words = TITLE.marker + TITLE.gap + titleWidth + kindWidth;
    const middle = bar.y + bar.height / 2;
    const isOut = isFaded(frame, box.item);
    const fade = (colour: string) => (isOut ? theme.faded(colour) : colour);
    // A plate behind the words: edges pass under them.
    context.beginPath();
    const plate = isFloating ? bar.height - 4 : fontSize + TITLE.plate;
    context.roundRect(left - 5, middle - plate / 2, words + 10, plate, 5);
    context.fillStyle = fade(frameFill(theme.frames, depthOf(frame, box.item)));
    context.fill();
    if (isFloating) {
      context.strokeStyle = fade(theme.frameBorder);
      context.lineWidth = 1;
      context.stroke();
    }
    context.fillStyle = fade(theme.muted);
    context.beginPath();
    context.moveTo(left, middle - 2.5);
    context.lineTo(left + TITLE.marker, middle - 2.5);
    context.lineTo(left + TITLE.marker / 2, middle + 4);
    context.closePath();
    context.fill();
    context.fillStyle = fade(theme.text);
    context.font = text.font(fontSize, true);
    const titleX = left + TITLE.marker + TITLE.gap;
    context.fillText(title, titleX, middle + 0.5);
    if (kind === "") continue;
    context.fillStyle = fade(theme.muted);
    context.font = text.font(fontSize - 1, false);
    context.fillText(kind, titleX + titleWidth + TITLE.gap, middle + 0.5);
  }
}
