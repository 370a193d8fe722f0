// Paints the words of a box: its name, then shapes, then statistics, the closer the more.
import { METRICS } from "../scene/boxes.js";
import { expressionLabel, statisticsLabel } from "../scene/labels.js";
import { regionPicture } from "../scene/region.js";
import type { Box } from "../scene/scene.js";
import { PLAIN } from "../scene/tones.js";
import { DETAIL, type Frame, isFaded, shownBadges } from "./frame.js";
import { cellsOfBox, paintThumbnail, thumbnailWidth } from "./paint-thumbnails.js";
import type { Pen } from "./pen.js";
import type { BoxColours } from "./theme.js";

interface Line {
  readonly text: string;
  readonly size: number;
  readonly bold: boolean;
  readonly colour: string;
}

const FAR_TITLE_SIZE = 17; // larger, while there is room that shapes do not take yet
const LINE_GAP = 3;
/** Up to four lines in the room of two: on the screen they are as large as two were. */
const CLOSE = { title: 10.5, subtitle: 8, small: 7.5, gap: 1.6 };
const LEAF_MARGIN = 8;
const LEAF_GAP = 7;
const ASCENT = 0.86; // of the font size
const REGION = { width: 24, height: 18, left: 11 };

export function coloursOf(frame: Frame, box: Box): BoxColours {
  return frame.theme.colours(frame.tones[box.item] ?? PLAIN);
}

/** `fill` is what is behind the words. */
export function paintWords(context: Pen, frame: Frame, box: Box, fill: string): void {
  const { theme, text, view } = frame;
  const isOut = isFaded(frame, box.item);
  const colours = coloursOf(frame, box);
  const muted = box.shape === "ghost" ? theme.muted : null;
  // On the hatch of NaN and Inf the words are not on the colour of the tone.
  const strong = isOut
    ? theme.fadedWords(fill)
    : (muted ?? (box.isBad ? theme.text : colours.title));
  const cells = cellsOfBox(frame, box);
  if (cells !== null) paintThumbnail(context, frame, box, cells);
  const picture = cells === null ? 0 : thumbnailWidth(cells, box);
  const marker = Math.max(markerWidth(frame, box), picture);
  const room = box.width - 16 - marker;
  if (box.shape === "pill") {
    const soft = isOut ? strong : theme.muted;
    paintLeafWords(context, frame, box, { strong, soft, picture });
    return;
  }
  const lines = linesOf(frame, box, room, strong);
  const gap = lines.length > 2 ? CLOSE.gap : LINE_GAP;
  const height = lines.reduce((sum, { size }) => sum + size + gap, -gap);
  const badgeLine = shownBadges(frame, box).length > 0 ? METRICS.badgeLine : 0;
  const middle = box.x + (box.width + marker) / 2;
  // The first line stands a little higher than its size: capitals have no descent.
  let baseline = box.y + (box.height - badgeLine - height) / 2;
  for (const [index, { text: words, size, bold, colour }] of lines.entries()) {
    baseline += index === 0 ? size * ASCENT : gap + size;
    context.fillStyle = colour;
    context.font = text.font(size, bold);
    context.fillText(text.fit(words, size, bold, room), middle, baseline);
  }
  if (box.shape === "stack") paintMarker(context, box, strong);
  if (box.region !== null && picture === 0 && view.scale >= DETAIL.subtitles) {
    paintRegion(context, frame, box, strong);
  }
}

/** A leaf is one thin line: its name, and close enough its shape. */
function paintLeafWords(
  context: Pen,
  { text, view, ...frame }: Frame,
  box: Box,
  {
    strong,
    soft,
    picture,
  }: { readonly strong: string; readonly soft: string; readonly picture: number },
): void {
  const isFull = view.scale >= DETAIL.subtitles && box.subtitle !== "";
  const hasBadges = shownBadges({ text, view, ...frame }, box).length > 0;
  const size = picture > 0 ? CLOSE.subtitle : METRICS.subtitleSize;
  const height = box.height - (hasBadges ? METRICS.badgeLine : 0);
  const baseline = box.y + height / 2 + size * (ASCENT - 0.5);
  const room = box.width - 2 * LEAF_MARGIN - picture;
  const middle = box.x + (box.width + picture) / 2;
  const shape = isFull ? text.measure(box.subtitle, size, false) + LEAF_GAP : 0;
  const name = text.fit(box.title, size, false, room - shape);
  const width = text.measure(name, size, false);
  context.font = text.font(size, false);
  context.fillStyle = strong;
  context.fillText(name, middle - shape / 2, baseline);
  if (!isFull) return;
  context.fillStyle = soft;
  context.fillText(box.subtitle, middle + (width + LEAF_GAP) / 2, baseline);
}

function markerWidth({ view }: Frame, box: Box): number {
  if (box.shape === "stack") return METRICS.markerWidth;
  return box.region !== null && view.scale >= DETAIL.subtitles
    ? METRICS.regionWidth
    : 0;
}

function linesOf(frame: Frame, box: Box, room: number, strong: string): Line[] {
  const { theme, view, scene } = frame;
  const isFull = view.scale >= DETAIL.subtitles;
  const title = { text: box.title, bold: true, colour: strong };
  if (!isFull) return [{ ...title, size: farTitleSize(frame, box, room) }];
  const isOut = isFaded(frame, box.item);
  const soft = box.isBad ? theme.text : coloursOf(frame, box).subtitle;
  const colour = isOut ? strong : box.shape === "ghost" ? theme.muted : soft;
  const node = scene.graph.snapshot.nodes[box.id];
  const isClose = view.scale >= DETAIL.statistics && box.shape !== "stack";
  const { snapshot } = scene.graph;
  const small =
    isClose && node !== undefined
      ? [expressionLabel(snapshot, node), statisticsLabel(snapshot, node)]
      : [];
  const sizes = small.some((text) => text !== "") ? CLOSE : NORMAL;
  const lines: Line[] = [{ ...title, size: sizes.title }];
  const add = (text: string, size: number) => {
    if (text !== "") lines.push({ text, size, bold: false, colour });
  };
  add(box.subtitle, sizes.subtitle);
  for (const text of small) add(text, CLOSE.small);
  return lines;
}

const NORMAL = { title: METRICS.titleSize, subtitle: METRICS.subtitleSize };

/** As large as fits, in the room that the second line does not take. */
function farTitleSize({ text }: Frame, box: Box, room: number): number {
  const width = text.measure(box.title, METRICS.titleSize, true);
  const size = Math.floor((METRICS.titleSize * room) / Math.max(width, 1));
  return Math.min(FAR_TITLE_SIZE, Math.max(METRICS.titleSize, size));
}

/** A triangle that points right: there is something to open. */
function paintMarker(context: Pen, box: Box, colour: string): void {
  const x = box.x + METRICS.markerLeft;
  const y = box.y + box.height / 2;
  context.fillStyle = colour;
  context.beginPath();
  context.moveTo(x, y - 4.5);
  context.lineTo(x + 6.5, y);
  context.lineTo(x, y + 4.5);
  context.closePath();
  context.fill();
}

/** The tensor as a rectangle, with the part that was written filled in. */
function paintRegion(context: Pen, frame: Frame, box: Box, colour: string): void {
  if (box.region === null) return;
  const badgeLine = shownBadges(frame, box).length > 0 ? METRICS.badgeLine : 0;
  const x = box.x + REGION.left;
  const y = box.y + (box.height - badgeLine - REGION.height) / 2;
  const part = regionPicture(box.region);
  context.fillStyle = frame.theme.edgeOut;
  context.fillRect(
    x + part.left * REGION.width,
    y + part.top * REGION.height,
    Math.max(2, (part.right - part.left) * REGION.width),
    Math.max(2, (part.bottom - part.top) * REGION.height),
  );
  context.strokeStyle = colour;
  context.lineWidth = 1;
  context.strokeRect(x, y, REGION.width, REGION.height);
}
