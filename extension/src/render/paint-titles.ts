// Paints the titles of open scopes, in screen space: they stay readable from afar.
import type { FrameTitle } from "../scene/frame-titles.js";
import { visibleText } from "../state/visible-text.js";
import { type Frame, frameFill, isFaded } from "./frame.js";

const MARKER = { width: 9, above: 2.5, below: 4 };
const SPACE = { left: 10, gap: 7, plate: 5, least: 12 };
const PLATE_MARGIN = 4;
const PLATE_RADIUS = 5;

/** The words of a title that fit, and how wide they are. */
interface Words {
  readonly title: string;
  readonly titleWidth: number;
  readonly kind: string;
  readonly width: number;
}

export function paintFrameTitles(
  context: CanvasRenderingContext2D,
  frame: Frame,
  titles: readonly FrameTitle[],
): void {
  const { theme, text } = frame;
  context.textAlign = "left";
  context.textBaseline = "middle";
  for (const frameTitle of titles) {
    const { box, bar, fontSize } = frameTitle;
    const words = fitWords(frame, frameTitle);
    if (words === null) continue;
    const fade = (colour: string) =>
      isFaded(frame, box.item) ? theme.faded(colour) : colour;
    const left = bar.x + SPACE.left;
    const middle = bar.y + bar.height / 2;
    paintPlate(context, frame, frameTitle, words.width, fade);
    paintMarker(context, left, middle, fade(theme.muted));
    const start = left + MARKER.width + SPACE.gap;
    context.fillStyle = fade(theme.text);
    context.font = text.font(fontSize, true);
    context.fillText(words.title, start, middle + 0.5);
    context.fillStyle = fade(theme.muted);
    context.font = text.font(fontSize - 1, false);
    context.fillText(words.kind, start + words.titleWidth + SPACE.gap, middle + 0.5);
  }
}

/** The kind is shown whole or not at all. */
function fitWords({ text }: Frame, { box, bar, fontSize }: FrameTitle): Words | null {
  const room = bar.width - 2 * SPACE.left - MARKER.width - SPACE.gap;
  if (room < SPACE.least) return null;
  const title = text.fit(box.title, fontSize, true, room);
  const titleWidth = text.measure(title, fontSize, true);
  const kindWidth = text.measure(box.subtitle, fontSize - 1, false) + SPACE.gap;
  const hasKind = box.subtitle !== "" && titleWidth + kindWidth <= room;
  return {
    title,
    titleWidth,
    kind: hasKind ? visibleText(box.subtitle) : "",
    width: MARKER.width + SPACE.gap + titleWidth + (hasKind ? kindWidth : 0),
  };
}

/** Behind the words, so that edges pass under them. */
function paintPlate(
  context: CanvasRenderingContext2D,
  frame: Frame,
  { box, bar, fontSize, isStuck }: FrameTitle,
  width: number,
  fade: (colour: string) => string,
): void {
  const height = (isStuck ? bar.height - 2 * PLATE_MARGIN : fontSize) + PLATE_MARGIN;
  const x = bar.x + SPACE.left - SPACE.plate;
  const y = bar.y + (bar.height - height) / 2;
  context.beginPath();
  context.roundRect(x, y, width + 2 * SPACE.plate, height, PLATE_RADIUS);
  context.fillStyle = fade(frameFill(frame, box.item));
  context.fill();
  if (!isStuck) return;
  context.strokeStyle = fade(frame.theme.frameBorder);
  context.lineWidth = 1;
  context.stroke();
}

/** A triangle that points down: this is open. */
function paintMarker(
  context: CanvasRenderingContext2D,
  x: number,
  y: number,
  colour: string,
): void {
  context.fillStyle = colour;
  context.beginPath();
  context.moveTo(x, y - MARKER.above);
  context.lineTo(x + MARKER.width, y - MARKER.above);
  context.lineTo(x + MARKER.width / 2, y + MARKER.below);
  context.closePath();
  context.fill();
}
