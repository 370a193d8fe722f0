// Paints the sign of a change on the corner of its box: + added, − removed, ~ changed.

import { intersects } from "../geometry/rect.js";
import { signOf } from "../graph/mark.js";
import { readableOn } from "./colour.js";
import type { Frame } from "./frame.js";
import type { Pen } from "./pen.js";

const RADIUS = { world: 9, least: 6 }; // never smaller than that many CSS pixels
const MOST_SHARE = 0.45; // of the height of the box

export function paintSigns(context: Pen, frame: Frame): void {
  const { marks, scene, theme, view, text } = frame;
  context.textAlign = "center";
  context.textBaseline = "middle";
  for (const [item, mark] of marks) {
    const sign = signOf(mark);
    const box = scene.boxes[item];
    if (sign === null || box === undefined || !intersects(box, frame.world)) continue;
    const wanted = Math.max(RADIUS.world, RADIUS.least / view.scale);
    const radius = Math.min(wanted, box.height * MOST_SHARE);
    const [x, y] = [box.x, box.y];
    context.beginPath();
    context.arc(x, y, radius, 0, 2 * Math.PI);
    context.fillStyle = theme.marks[mark];
    context.fill();
    if (radius * view.scale < RADIUS.least - 1) continue; // a dot says where, not what
    context.font = text.font(radius * 1.5, true);
    context.fillStyle = readableOn(theme.marks[mark]);
    context.fillText(sign, x, y + radius * 0.05);
  }
}
