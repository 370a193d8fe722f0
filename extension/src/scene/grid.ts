// A spatial grid: finds what lies in a rectangle without looking at everything.
import type { Rect } from "../geometry/rect.js";

const CELL = 640;
/** Things that cover more cells than this are looked at every time. */
const LARGE = 48;

export interface Grid {
  /** Call `visit` once for each thing whose cells touch the rectangle, in order. */
  query(rect: Rect, visit: (id: number) => void): void;
}

/** Index `count` things by their bounds, four numbers each: left, top, right, bottom. */
export function buildGrid(count: number, bounds: Float32Array): Grid {
  const cells = new Map<string, number[]>();
  const large: number[] = [];
  for (let id = 0; id < count; id++) {
    const range = cellsOf(bounds.subarray(4 * id, 4 * id + 4));
    const { left, top, right, bottom } = range;
    if ((right - left + 1) * (bottom - top + 1) > LARGE) {
      large.push(id);
      continue;
    }
    for (let column = left; column <= right; column++) {
      for (let row = top; row <= bottom; row++) {
        const key = `${column},${row}`;
        const cell = cells.get(key);
        if (cell === undefined) cells.set(key, [id]);
        else cell.push(id);
      }
    }
  }
  return { query: (rect, visit) => queryGrid(cells, large, count, rect, visit) };
}

function queryGrid(
  cells: ReadonlyMap<string, readonly number[]>,
  large: readonly number[],
  count: number,
  rect: Rect,
  visit: (id: number) => void,
): void {
  const { left, top, right, bottom } = cellsOf([
    rect.x,
    rect.y,
    rect.x + rect.width,
    rect.y + rect.height,
  ]);
  if ((right - left + 1) * (bottom - top + 1) > cells.size) {
    for (let id = 0; id < count; id++) visit(id);
    return;
  }
  const found = new Set(large);
  for (let column = left; column <= right; column++) {
    for (let row = top; row <= bottom; row++) {
      for (const id of cells.get(`${column},${row}`) ?? []) found.add(id);
    }
  }
  // In order of their numbers: what is drawn last, lies on top, in every frame.
  for (const id of [...found].sort((a, b) => a - b)) visit(id);
}

function cellsOf(bounds: ArrayLike<number>) {
  return {
    left: Math.floor((bounds[0] ?? 0) / CELL),
    top: Math.floor((bounds[1] ?? 0) / CELL),
    right: Math.floor((bounds[2] ?? 0) / CELL),
    bottom: Math.floor((bounds[3] ?? 0) / CELL),
  };
}
