// Paints the titles of open scopes, in screen space: they stay readable from afar.
import { rectToWorld } from "../geometry/transform.js";
import { isCrossed } from "../scene/edge-labels.js";
import { type FrameTitle, TITLE_MARKER } from "../scene/frame-titles.js";
import { visibleText } from "../state/visible-text.js";
import { type Frame, frameFill, isFaded } from "./frame.js";
import type { Pen } from "./pen.js";

const MARKER = { width: TITLE_MARKER.width, above: 2.5, below: 4 };
const SPACE = { left: TITLE_MARKER.left, gap: 7, plate: 5, least: 12 };
const PLATE_MARGIN = 4;
const PLATE_RADIUS = 5;
const CLEARANCE = 8; // between an edge with its arrow and the words

/** The words of a title that fit, and where they stand. */
interface Words {
  readonly title: string;
  readonly left: number;
  /** What the scope is; null where it does not fit, or an edge would run through it. */
  readonly kind: { readonly text: string; readonly left: number } | null;
  /** The right end of what stands together. */
  readonly right: number;
}

export function paintFrameTitles(
  context: Pen,
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
    const isOut = isFaded(frame, box.item);
    const full = frameFill(frame, box.item);
    const fill = isOut ? theme.faded(full) : full;
    const fade = (colour: string) => (isOut ? theme.fadedWords(fill) : colour);
    const middle = bar.y + bar.height / 2;
    paintPlate(context, frame, frameTitle, words.right, fill);
    paintMarker(context, bar.x + SPACE.left, middle, fade(theme.muted));
    context.fillStyle = fade(theme.text);
    context.font = text.font(fontSize, true);
    context.fillText(words.title, words.left, middle + 0.5);
    if (words.kind === null) continue;
    context.fillStyle = fade(theme.muted);
    context.font = text.font(fontSize - 1, false);
    context.fillText(words.kind.text, words.kind.left, middle + 0.5);
  }
}

function fitWords(frame: Frame, frameTitle: FrameTitle): Words | null {
  const { box, bar, fontSize } = frameTitle;
  const left = bar.x + SPACE.left + MARKER.width + SPACE.gap;
  const end = bar.x + bar.width - SPACE.left;
  if (end - left < SPACE.least) return null;
  const title = frame.text.fit(box.title, fontSize, true, end - left);
  const right = left + frame.text.measure(title, fontSize, true);
  const width = frame.text.measure(box.subtitle, fontSize - 1, false);
  const kindLeft =
    box.subtitle === "" ? null : placeKind(frame, frameTitle, right, width);
  if (kindLeft === null) return { title, left, kind: null, right };
  const kind = { text: visibleText(box.subtitle), left: kindLeft };
  const isBeside = kindLeft === right + SPACE.gap;
  return { title, left, kind, right: isBeside ? kindLeft + width : right };
}

/** Beside the title, else at the right end of the bar: where no edge runs through. */
function placeKind(
  { scene, view }: Frame,
  { bar, isStuck }: FrameTitle,
  titleRight: number,
  width: number,
): number | null {
  const beside = titleRight + SPACE.gap;
  const end = bar.x + bar.width - SPACE.left - width;
  if (end < beside) return null;
  if (isStuck) return beside;
  const isFree = (x: number) => {
    const area = { ...bar, x: x - CLEARANCE, width: width + 2 * CLEARANCE };
    return !isCrossed(scene, rectToWorld(view, area));
  };
  return [beside, end].find(isFree) ?? null;
}

/** Behind the words, so that edges pass under them. */
function paintPlate(
  context: Pen,
  frame: Frame,
  { bar, fontSize, isStuck }: FrameTitle,
  right: number,
  fill: string,
): void {
  const height = (isStuck ? bar.height - 2 * PLATE_MARGIN : fontSize) + PLATE_MARGIN;
  const x = bar.x + SPACE.left - SPACE.plate;
  const y = bar.y + (bar.height - height) / 2;
  context.beginPath();
  context.roundRect(x, y, right + SPACE.plate - x, height, PLATE_RADIUS);
  context.fillStyle = fill;
  context.fill();
  if (!isStuck) return;
  context.strokeStyle = frame.theme.frameBorder;
  context.lineWidth = 1;
  context.stroke();
}

/** A triangle that points down: this is open. */
function paintMarker(context: Pen, x: number, y: number, colour: string): void {
  context.fillStyle = colour;
  context.beginPath();
  context.moveTo(x, y - MARKER.above);
  context.lineTo(x + MARKER.width, y - MARKER.above);
  context.lineTo(x + MARKER.width / 2, y + MARKER.below);
  context.closePath();
  context.fill();
}
