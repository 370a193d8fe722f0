// Paints what is written beside boxes and edges: badges, and shapes of tensors.
import { intersects, type Rect } from "../geometry/rect.js";
import { METRICS } from "../scene/boxes.js";
import { DETAIL, type Frame, frameFill, isFaded } from "./frame.js";

const BADGE = { height: 15, padding: 5, gap: 3, overlap: 6, clear: 12 };
const EDGE_LABEL = { size: 10, aside: 6, below: 12, above: 14, height: 13, padding: 2 };

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
    // At the right corner, and clear of an arrow that arrives in the middle.
    const clear = box.x + box.width / 2 + BADGE.clear + all;
    const corner = box.x + box.width + BADGE.overlap;
    let right = hasInput(frame, item) ? Math.max(corner, clear) : corner;
    for (const [index, badge] of [...badges.entries()].reverse()) {
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

function hasInput({ scene }: Frame, item: number): boolean {
  const edges = scene.edgesOfItem.get(item) ?? [];
  return edges.some((edge) => scene.visible.target[edge] === item);
}

/** Write beside each edge which tensor it carries: where the edge leaves, once for all
 * edges of that tensor; where it arrives, when its source has several. */
export function paintEdgeLabels(context: CanvasRenderingContext2D, frame: Frame): void {
  const { scene, theme, text, view } = frame;
  if (view.scale < DETAIL.edgeLabels) return;
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
    const isShared = hasOneLabel(frame, source);
    const key = isShared ? `${source}` : `${source} ${target}`;
    if (written.has(key)) return;
    written.add(key);
    const area = labelArea(frame, edge, label, isShared);
    if (placed.some((other) => intersects(area, other))) return;
    placed.push(area);
    context.globalAlpha = 0.86;
    context.fillStyle = backgroundAt(frame, source);
    context.fillRect(area.x, area.y, area.width, area.height);
    context.globalAlpha = 1;
    context.fillStyle = scene.edges[edge]?.kind === "bad" ? theme.bad : theme.muted;
    const middle = area.y + area.height / 2 + 0.5;
    context.fillText(label, area.x + EDGE_LABEL.padding, middle);
  });
}

/** Beside the line, on the side that it does not bend to. */
function labelArea(frame: Frame, edge: number, label: string, atStart: boolean): Rect {
  const { points, starts } = frame.scene.placement;
  const { size, height, padding } = EDGE_LABEL;
  const end = starts[edge + 1] ?? 0;
  const at = atStart ? (starts[edge] ?? 0) : end - 2;
  const next = atStart ? at + 2 : at - 2;
  const x = points[at] ?? 0;
  const width = frame.text.measure(label, size, false) + 2 * padding;
  const bendsRight = (points[next] ?? 0) > x + 1;
  const aside = EDGE_LABEL.aside - padding;
  const middle =
    (points[at + 1] ?? 0) + (atStart ? EDGE_LABEL.below : -EDGE_LABEL.above);
  return {
    x: bendsRight ? x - aside - width : x + aside,
    y: middle - height / 2,
    width,
    height,
  };
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
  const around = frame.scene.visible.parent[item] ?? -1;
  return around < 0 ? frame.theme.background : frameFill(frame, around);
}
