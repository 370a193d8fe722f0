// Paints what is written beside boxes and edges: badges, and shapes of tensors.
import { intersects, type Rect } from "../geometry/rect.js";
import type { Badge } from "../scene/badges.js";
import { METRICS, measureBadges } from "../scene/boxes.js";
import { EDGE_LABEL } from "../scene/edge-labels.js";
import type { Box } from "../scene/scene.js";
import { visibleText } from "../state/visible-text.js";
import { readableOn } from "./colour.js";
import { DETAIL, type Frame, frameFill, isFaded, shownBadges } from "./frame.js";
import type { Pen } from "./pen.js";

/** In a row of their own at the bottom of the box, where no arrow arrives. */
export function paintBadges(context: Pen, frame: Frame): void {
  const { scene, text, view } = frame;
  if (view.scale < DETAIL.names) return;
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.font = text.font(METRICS.badgeSize, true);
  scene.boxGrid.query(frame.world, (item) => {
    const box = scene.boxes[item];
    if (box === undefined || box.badges.length === 0) return;
    const badges = shownBadges(frame, box);
    const { widths, row } = measureBadges(badges, text.measure);
    const marker = box.shape === "stack" ? METRICS.markerWidth : 0;
    let x = box.x + (box.width + marker - row) / 2;
    for (const [index, badge] of badges.entries()) {
      const width = widths[index] ?? 0;
      paintBadge(context, frame, badge, { ...badgeLine(box), x, width });
      x += width + METRICS.badgeGap;
    }
  });
}

function badgeLine(box: Box) {
  const { badgeHeight: height, badgeLine: line } = METRICS;
  return { y: box.y + box.height - line, height };
}

function paintBadge(
  context: Pen,
  { theme }: Frame,
  { text, isBad, severity }: Badge,
  area: Rect,
): void {
  const { x, y, width, height } = area;
  context.beginPath();
  context.roundRect(x, y, width, height, height / 2);
  const [fill, words] = isBad
    ? [theme.bad, theme.badText]
    : severity === null
      ? [theme.badge, theme.badgeText]
      : [theme.marks[severity], readableOn(theme.marks[severity])];
  context.fillStyle = fill;
  context.fill();
  context.fillStyle = words;
  context.fillText(visibleText(text), x + width / 2, y + height / 2 + 0.5);
}

export function paintEdgeLabels(context: Pen, frame: Frame): void {
  const { scene, labels, theme, text, view } = frame;
  if (labels === null || view.scale < DETAIL.edgeLabels) return;
  context.textAlign = "left";
  context.textBaseline = "middle";
  context.font = text.font(EDGE_LABEL.size, false);
  scene.edgeGrid.query(frame.world, (edge) => {
    const area = labels.areaOf(edge);
    const look = scene.edges[edge];
    if (area === null || look === undefined || !intersects(area, frame.world)) return;
    const source = scene.visible.source[edge] ?? -1;
    const isOut =
      isFaded(frame, source) && isFaded(frame, scene.visible.target[edge] ?? -1);
    const colour = look.kind === "bad" ? theme.bad : theme.muted;
    context.fillStyle = isOut ? theme.fadedWords(backgroundAt(frame, source)) : colour;
    const middle = area.y + area.height / 2 + 0.5;
    context.fillText(look.label, area.x + EDGE_LABEL.padding, middle);
  });
}

/** The colour behind the content of the scope around an item. */
function backgroundAt(frame: Frame, item: number): string {
  const around = frame.scene.visible.parent[item] ?? -1;
  return around < 0 ? frame.theme.background : frameFill(frame, around);
}
