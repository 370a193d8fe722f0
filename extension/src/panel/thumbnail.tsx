// A thumbnail on a canvas of its own, one canvas pixel a cell, with its words below.
import { useEffect, useRef } from "preact/hooks";
import type { Statistics } from "../ir/types.js";
import { parseColour } from "../render/colour.js";
import { createTheme } from "../render/theme.js";
import { thumbnailColours } from "../render/thumbnail-colours.js";
import { type Cells, cellsOf, thumbnailWords } from "../state/thumbnail.js";
import { visibleText } from "../state/visible-text.js";
import { useStore } from "./context.js";

const SIDE = 154; // CSS pixels along the longer side

function draw(canvas: HTMLCanvasElement, cells: Cells, theme: "light" | "dark"): void {
  const { width, height, codes, isSigned } = cells;
  canvas.width = width;
  canvas.height = height;
  const context = canvas.getContext("2d");
  if (context === null) return;
  const colours = thumbnailColours(createTheme(theme), isSigned).map(parseColour);
  const image = context.createImageData(width, height);
  codes.forEach((code, at) => {
    const colour = colours[code];
    if (colour) image.data.set([...colour, 255], 4 * at);
  });
  context.putImageData(image, 0, 0);
}

/** The cells as a picture; `label` says what it shows to those who do not see it. */
export function CellsPicture({
  cells,
  label,
  side = SIDE,
}: {
  cells: Cells;
  label: string;
  side?: number;
}) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const theme = useStore().derived.theme.value;
  useEffect(() => {
    if (canvas.current !== null) draw(canvas.current, cells, theme);
  }, [cells, theme]);
  const cell = side / Math.max(cells.width, cells.height);
  return (
    <canvas
      ref={canvas}
      class="cells"
      role="img"
      aria-label={label}
      style={{ width: `${cell * cells.width}px`, height: `${cell * cells.height}px` }}
    />
  );
}

/** The thumbnail behind some statistics; nothing where none was kept. */
export function ThumbnailView({
  statistics,
  title,
}: {
  statistics: Statistics | null;
  title: string;
}) {
  const snapshot = useStore().data.snapshot.value;
  if (snapshot === null || statistics === null) return null;
  const cells = cellsOf(snapshot, statistics);
  if (cells === null || cells.thumbnail === null) return null;
  const words = visibleText(thumbnailWords(cells.thumbnail, statistics));
  const name = visibleText(title);
  return (
    <figure class="thumbnail" data-testid="thumbnail" data-kind={cells.thumbnail.kind}>
      <CellsPicture cells={cells} label={`${name}: ${words}`} />
      <figcaption aria-hidden="true">
        <b>{name}</b> {words}
      </figcaption>
    </figure>
  );
}
