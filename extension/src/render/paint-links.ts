// Paints the links of shared memory: dashed, and solid for what is selected.
import { linkCurve } from "../scene/links.js";
import { DETAIL, type Frame, isSelected } from "./frame.js";
import type { Pen } from "./pen.js";

const DASH = [2, 4];
const WIDTH = { others: 1.3, own: 2.2 };
const LEAST = 0.6; // CSS pixels
const DOT = 2.6;

export function paintLinks(context: Pen, frame: Frame): void {
  const { scene, theme, view, world } = frame;
  if (frame.links === null || view.scale < DETAIL.edges) return;
  context.strokeStyle = theme.link;
  context.fillStyle = theme.link;
  for (const isOwn of [false, true]) {
    context.setLineDash(isOwn ? [] : DASH);
    const width = isOwn ? WIDTH.own : WIDTH.others;
    context.lineWidth = Math.max(width, LEAST / view.scale);
    const ends: [number, number][] = [];
    context.beginPath();
    for (const link of frame.links) {
      const from = scene.boxes[link.from];
      const to = scene.boxes[link.to];
      if (from === undefined || to === undefined) continue;
      if ((isSelected(frame, link.from) || isSelected(frame, link.to)) !== isOwn)
        continue;
      const [x0 = 0, y0 = 0, x1 = 0, y1 = 0, x2 = 0, y2 = 0, x3 = 0, y3 = 0] =
        linkCurve(from, to);
      const isInView =
        Math.min(x0, x3) <= world.x + world.width &&
        x1 >= world.x &&
        Math.min(y0, y3) <= world.y + world.height &&
        Math.max(y0, y3) >= world.y;
      if (!isInView) continue;
      context.moveTo(x0, y0);
      context.bezierCurveTo(x1, y1, x2, y2, x3, y3);
      ends.push([x0, y0], [x3, y3]);
    }
    context.stroke();
    if (view.scale >= DETAIL.arrows) paintDots(context, ends);
  }
  context.setLineDash([]);
}

/** Links have no direction: both ends are the same. */
function paintDots(context: Pen, ends: readonly [number, number][]): void {
  context.beginPath();
  for (const [x, y] of ends) {
    context.moveTo(x + DOT, y);
    context.arc(x, y, DOT, 0, 2 * Math.PI);
  }
  context.fill();
}
