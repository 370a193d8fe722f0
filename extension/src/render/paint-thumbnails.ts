// Paints what a node gave, or the gradient that came to it, as a small picture in its box.
import type { Box } from "../scene/scene.js";
import { type Cells, CLEAR, cellsOf } from "../state/thumbnail.js";
import { DETAIL, type Frame, isFaded } from "./frame.js";
import type { Pen } from "./pen.js";
import { thumbnailColours } from "./thumbnail-colours.js";

const SIDE = { pill: 18, other: 34 };
const LEFT = 5;
const OVERLAP = 0.4; // screen pixels, so that no seams show

/** The small picture of a box, where it is near enough. */
export function cellsOfBox({ scene, view }: Frame, box: Box): Cells | null {
  if (view.scale < DETAIL.thumbnails || box.shape === "stack") return null;
  if (box.shape === "frame") return null;
  const { snapshot } = scene.graph;
  const node = snapshot.nodes[box.id];
  const row =
    box.item < scene.half
      ? snapshot.tensors[node?.outputs[0] ?? -1]?.statistics
      : node?.grad_outputs[0];
  return cellsOf(snapshot, snapshot.statistics[row ?? -1] ?? null);
}

/** How wide the picture is, with what keeps words away from it. */
export function thumbnailWidth(cells: Cells, box: Box): number {
  return sizeOf(cells, box).width + LEFT;
}

function sizeOf({ width, height }: Cells, { shape }: Box) {
  const side = shape === "pill" ? SIDE.pill : SIDE.other;
  const cell = side / Math.max(width, height);
  return { width: width * cell, height: height * cell, cell };
}

export function paintThumbnail(
  context: Pen,
  frame: Frame,
  box: Box,
  cells: Cells,
): void {
  const { height, cell } = sizeOf(cells, box);
  const { theme } = frame;
  const strong = thumbnailColours(theme, cells.isSigned);
  const colours = isFaded(frame, box.item) ? strong.map(theme.faded) : strong;
  const y = box.y + (box.height - height) / 2;
  const overlap = OVERLAP / frame.view.scale;
  for (const { at, length, code } of runsOf(cells)) {
    context.fillStyle = colours[code] ?? "";
    context.fillRect(
      box.x + LEFT + (at % cells.width) * cell,
      y + Math.floor(at / cells.width) * cell,
      length * cell + overlap,
      cell + overlap,
    );
  }
}

/** Neighbours of one colour in a row are one rectangle. */
function* runsOf({ codes, width }: Cells) {
  for (let at = 0; at < codes.length; ) {
    const code = codes[at] ?? CLEAR;
    const end = at - (at % width) + width;
    let next = at + 1;
    while (next < end && codes[next] === code) next++;
    if (code !== CLEAR) yield { at, length: next - at, code };
    at = next;
  }
}
