// Paints the boxes of nodes and closed scopes; less of them the further away they are.
import { intersects } from "../geometry/rect.js";
import { METRICS } from "../scene/boxes.js";
import type { Box } from "../scene/scene.js";
import { DETAIL, type Frame, isFaded, isSelected } from "./frame.js";
import { coloursOf, paintWords } from "./paint-words.js";
import type { Pen } from "./pen.js";

const RADIUS = 8;
const SHEETS = 2; // below a closed scope
const BORDER = { normal: 1.3, leaf: 0.8, bad: 2.4, root: 2.4, hovered: 2 };
const RING = { gap: 3, width: 2.4 };
/** Outside of the other rings: both are seen. */
const MARK = { gap: METRICS.rings - 1.5, width: 3 };
const HATCH = { full: 0.28, faded: 0.1 }; // opacity behind words
const FAR_BOX = 2; // CSS pixels that a box keeps in the far view
const FAR_MARK = 5; // CSS pixels of NaN, Inf and matches in the far view

export function paintBoxes(context: Pen, frame: Frame): void {
  if (frame.view.scale < DETAIL.shapes) {
    paintFarBoxes(context, frame);
    return;
  }
  const seen: Box[] = [];
  frame.scene.boxGrid.query(frame.world, (item) => {
    const box = frame.scene.boxes[item];
    if (box === undefined || box.shape === "frame") return;
    if (intersects(box, frame.world)) seen.push(box);
  });
  for (const box of seen) paintBox(context, frame, box);
  if (frame.view.scale < DETAIL.names) return;
  context.textAlign = "center";
  context.textBaseline = "alphabetic";
  for (const box of seen) paintWords(context, frame, box, fillOf(frame, box));
}

/** Plain rectangles, at most one per pixel: 100,000 boxes cost what the screen holds. */
function paintFarBoxes(context: Pen, frame: Frame): void {
  const { scene, view, size } = frame;
  const columns = Math.ceil(size.width);
  const rows = Math.ceil(size.height);
  const taken = new Uint8Array(columns * rows);
  const pixel = 1 / view.scale;
  let colour = "";
  scene.boxGrid.query(frame.world, (item) => {
    const box = scene.boxes[item];
    if (box === undefined || box.shape === "frame") return;
    const column = Math.floor((box.x + box.width / 2) * view.scale + view.x);
    const row = Math.floor((box.y + box.height / 2) * view.scale + view.y);
    const isInside = column >= 0 && row >= 0 && column < columns && row < rows;
    const isNotable =
      box.isBad ||
      frame.matches?.has(item % scene.half) === true ||
      frame.marks.has(item % scene.half);
    if (isInside && !isNotable) {
      const place = row * columns + column;
      if (taken[place] === 1) return;
      taken[place] = 1;
    }
    const wanted = farColour(frame, box);
    if (wanted !== colour) {
      colour = wanted;
      context.fillStyle = colour;
    }
    const smallest = (isNotable ? FAR_MARK : FAR_BOX) * pixel;
    const width = Math.max(box.width, smallest);
    const height = Math.max(box.height, smallest);
    context.fillRect(box.x, box.y, width, height);
  });
}

function farColour(frame: Frame, box: Box): string {
  const { theme, matches, marks } = frame;
  const mark = marks.get(box.item % frame.scene.half);
  if (mark !== undefined) return theme.marks[mark];
  if (box.isBad) return theme.bad;
  const forward = box.item % frame.scene.half;
  if (matches?.has(forward) || frame.lit.has(forward)) return theme.match;
  const { solid } = coloursOf(frame, box);
  return matches === null ? solid : theme.faded(solid);
}

function outline(context: Pen, box: Box, grow: number): void {
  const width = box.width + 2 * grow;
  const height = box.height + 2 * grow;
  const round = Math.min(height, METRICS.twoLines + 2 * grow) / 2;
  const radius = box.shape === "pill" ? round : Math.max(2, RADIUS + grow);
  context.beginPath();
  context.roundRect(box.x - grow, box.y - grow, width, height, radius);
}

function paintBox(context: Pen, frame: Frame, box: Box): void {
  const { theme, view } = frame;
  const colours = coloursOf(frame, box);
  const fade = (colour: string) =>
    isFaded(frame, box.item) ? theme.faded(colour) : colour;
  const border = fade(box.isBad ? theme.bad : colours.border);
  const fill = fillOf(frame, box);
  if (box.shape === "stack" && !box.isLayer) paintSheets(context, box, fill, border);
  else if (hasShadow(box) && view.scale >= DETAIL.names) {
    context.fillStyle = theme.shadow;
    outline(context, { ...box, y: box.y + 1.5 }, 0);
    context.fill();
  }
  outline(context, box, 0);
  const isGhost = box.shape === "ghost" && !box.isBad;
  context.fillStyle = fill;
  context.fill();
  if (box.isBad) paintHatch(context, frame, box);
  context.strokeStyle = isGhost ? fade(theme.ghostBorder) : border;
  context.lineWidth = Math.max(borderWidth(frame, box), 0.6 / view.scale);
  context.setLineDash(isGhost ? [5, 4] : []);
  outline(context, box, 0);
  context.stroke();
  context.setLineDash([]);
  const forward = box.item % frame.scene.half;
  const isFound = frame.matches?.has(forward) || frame.lit.has(forward);
  if (isFound) paintRing(context, frame, box, theme.match);
  if (isSelected(frame, box.item)) paintRing(context, frame, box, theme.accent);
  const mark = frame.marks.get(forward);
  if (mark !== undefined) paintRing(context, frame, box, theme.marks[mark], MARK);
}

/** Leaves and what is cut off lie flat: what computes stands out. */
function hasShadow({ shape }: Box): boolean {
  return shape !== "ghost" && shape !== "pill";
}

/** What is behind the words of a box. */
function fillOf(frame: Frame, box: Box): string {
  const { theme } = frame;
  if (box.shape === "ghost" && !box.isBad) return theme.background;
  const fill = box.isBad ? theme.badFill : coloursOf(frame, box).fill;
  return isFaded(frame, box.item) ? theme.faded(fill) : fill;
}

function borderWidth(frame: Frame, box: Box): number {
  if (box.isBad) return BORDER.bad;
  if (box.isRoot) return BORDER.root;
  if (box.item === frame.hovered) return BORDER.hovered;
  return box.shape === "pill" ? BORDER.leaf : BORDER.normal;
}

function paintRing(
  context: Pen,
  frame: Frame,
  box: Box,
  colour: string,
  ring = RING,
): void {
  const least = 1.4 / frame.view.scale;
  context.strokeStyle = colour;
  context.lineWidth = Math.max(ring.width, least);
  outline(context, box, Math.max(ring.gap, least));
  context.stroke();
}

/** Two more sheets look out below a closed scope: there is more inside. */
function paintSheets(context: Pen, box: Box, fill: string, border: string): void {
  context.lineWidth = 1;
  for (let sheet = SHEETS; sheet > 0; sheet--) {
    const inset = (sheet * METRICS.sheets) / SHEETS;
    const { x, y, width, height } = box;
    context.beginPath();
    context.roundRect(x + inset, y + inset, width - 2 * inset, height, RADIUS);
    context.fillStyle = fill;
    context.fill();
    context.strokeStyle = border;
    context.stroke();
  }
}

/** Diagonal lines: NaN and Inf show without any colour vision. */
function paintHatch(context: Pen, frame: Frame, box: Box): void {
  context.save();
  outline(context, box, 0);
  context.clip();
  context.strokeStyle = frame.theme.bad;
  context.globalAlpha = isFaded(frame, box.item) ? HATCH.faded : HATCH.full;
  context.lineWidth = 2;
  context.beginPath();
  for (let x = box.x - box.height; x < box.x + box.width; x += 8) {
    context.moveTo(x, box.y + box.height);
    context.lineTo(x + box.height, box.y);
  }
  context.stroke();
  context.restore();
}
