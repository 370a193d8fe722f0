// Paints what stands on the corners of boxes: the sign of a change (+ added, − removed,
// ~ changed), and the number of a stop: filled where it began, outlined where it spread.

import { intersects } from "../geometry/rect.js";
import { signOf } from "../graph/mark.js";
import { readableOn } from "./colour.js";
import type { Frame } from "./frame.js";
import type { Pen } from "./pen.js";

const RADIUS = { world: 9, least: 6 }; // never smaller than that many CSS pixels
const MOST_SHARE = 0.45; // of the height of the box
/** Where along the upper border: what is of the value left, of the gradient right. */
const ALONG = { value: 0, none: 0.5, gradient: 1 };
const OUTLINE = 0.18; // of the radius

interface Sign {
  readonly text: string;
  readonly colour: string;
  readonly isFilled: boolean;
  readonly along: number;
}

export function paintSigns(context: Pen, frame: Frame): void {
  const { marks, stops, theme } = frame;
  context.textAlign = "center";
  context.textBaseline = "middle";
  for (const [item, mark] of marks) {
    const text = signOf(mark);
    if (text === null) continue;
    const colour = theme.marks[mark];
    paintSign(context, frame, item, { text, colour, isFilled: true, along: 0 });
  }
  for (const [item, { number, isBirth, side, severity }] of stops) {
    paintSign(context, frame, item, {
      text: String(number),
      colour: theme.marks[severity],
      isFilled: isBirth,
      along: ALONG[side ?? "none"],
    });
  }
}

function paintSign(context: Pen, frame: Frame, item: number, sign: Sign): void {
  const { scene, theme, view, text } = frame;
  const box = scene.boxes[item];
  if (box === undefined || !intersects(box, frame.world)) return;
  const wanted = Math.max(RADIUS.world, RADIUS.least / view.scale);
  const radius = Math.min(wanted, box.height * MOST_SHARE);
  const [x, y] = [box.x + sign.along * box.width, box.y];
  const fill = sign.isFilled ? sign.colour : theme.background;
  context.beginPath();
  context.arc(x, y, radius, 0, 2 * Math.PI);
  context.fillStyle = fill;
  context.fill();
  if (!sign.isFilled) {
    context.strokeStyle = sign.colour;
    context.lineWidth = radius * OUTLINE;
    context.stroke();
  }
  if (radius * view.scale < RADIUS.least - 1) return; // a dot says where, not what
  context.font = text.font(radius * (sign.text.length > 1 ? 1.1 : 1.5), true);
  context.fillStyle = sign.isFilled ? readableOn(fill) : sign.colour;
  context.fillText(sign.text, x, y + radius * 0.05);
}
