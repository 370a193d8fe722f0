// A spatial grid: finds what lies in a rectangle without looking at everything.
import type { Rect } from "../geometry/rect.js";
import { groupBy, type Rows } from "../graph/build.js";

/** World units; larger where that many cells would outnumber the things. */
const LEAST_CELL = 640;
/** Things that cover more cells than this are looked at every time. */
const LARGE = 48;

export interface Grid {
  /** Call `visit` once for each thing whose cells touch the rectangle, in order. */
  query(rect: Rect, visit: (id: number) => void): void;
}

interface Cells {
  readonly left: number;
  readonly top: number;
  readonly size: number;
  readonly columns: number;
  readonly rows: number;
}

interface Range {
  readonly left: number;
  readonly top: number;
  readonly right: number;
  readonly bottom: number;
}

/** Index `count` things by their bounds, four numbers each: left, top, right, bottom. */
export function buildGrid(count: number, bounds: Float32Array): Grid {
  const cells = layCells(count, bounds);
  const large: number[] = [];
  const things: number[] = [];
  const cellOf: number[] = [];
  for (let id = 0; id < count; id++) {
    const at = 4 * id;
    const { left, top, right, bottom } = rangeOf(
      cells,
      bounds[at] ?? 0,
      bounds[at + 1] ?? 0,
      bounds[at + 2] ?? 0,
      bounds[at + 3] ?? 0,
    );
    if ((right - left + 1) * (bottom - top + 1) > LARGE) {
      large.push(id);
      continue;
    }
    for (let row = top; row <= bottom; row++) {
      for (let column = left; column <= right; column++) {
        things.push(id);
        cellOf.push(row * cells.columns + column);
      }
    }
  }
  const index = groupBy(Int32Array.from(cellOf), cells.columns * cells.rows);
  const found = {
    starts: index.starts,
    items: index.items.map((entry) => things[entry] ?? 0),
  };
  return { query: (rect, visit) => query(cells, found, large, count, rect, visit) };
}

function layCells(count: number, bounds: Float32Array): Cells {
  let left = Number.POSITIVE_INFINITY;
  let top = Number.POSITIVE_INFINITY;
  let right = Number.NEGATIVE_INFINITY;
  let bottom = Number.NEGATIVE_INFINITY;
  for (let at = 0; at < 4 * count; at += 4) {
    left = Math.min(left, bounds[at] ?? 0);
    top = Math.min(top, bounds[at + 1] ?? 0);
    right = Math.max(right, bounds[at + 2] ?? 0);
    bottom = Math.max(bottom, bounds[at + 3] ?? 0);
  }
  if (count === 0) return { left: 0, top: 0, size: LEAST_CELL, columns: 1, rows: 1 };
  const area = (right - left) * (bottom - top);
  const size = Math.max(LEAST_CELL, Math.sqrt(area / (2 * count + 64)));
  return {
    left,
    top,
    size,
    columns: Math.floor((right - left) / size) + 1,
    rows: Math.floor((bottom - top) / size) + 1,
  };
}

function rangeOf(
  { left, top, size, columns, rows }: Cells,
  x0: number,
  y0: number,
  x1: number,
  y1: number,
): Range {
  const column = (x: number) =>
    Math.min(columns - 1, Math.max(0, Math.floor((x - left) / size)));
  const row = (y: number) =>
    Math.min(rows - 1, Math.max(0, Math.floor((y - top) / size)));
  return { left: column(x0), top: row(y0), right: column(x1), bottom: row(y1) };
}

function query(
  cells: Cells,
  found: Rows,
  large: readonly number[],
  count: number,
  { x, y, width, height }: Rect,
  visit: (id: number) => void,
): void {
  const { left, top, right, bottom } = rangeOf(cells, x, y, x + width, y + height);
  if (2 * (right - left + 1) * (bottom - top + 1) > cells.columns * cells.rows) {
    for (let id = 0; id < count; id++) visit(id); // most of the picture is in view
    return;
  }
  const ids = new Set(large);
  for (let row = top; row <= bottom; row++) {
    const first = row * cells.columns;
    const end = found.starts[first + right + 1] ?? 0;
    for (let i = found.starts[first + left] ?? 0; i < end; i++) {
      ids.add(found.items[i] ?? 0);
    }
  }
  // In order of their numbers: what is drawn last, lies on top, in every frame.
  for (const id of [...ids].sort((a, b) => a - b)) visit(id);
}
