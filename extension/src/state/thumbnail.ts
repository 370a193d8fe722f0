// Small pictures of arrays: which one some statistics have, and what each of its cells is.
import type { Snapshot, Statistics, Thumbnail } from "../ir/types.js";
import { formatCount, formatNumber } from "./format.js";

/** Values of pixels, as gradviz/ir has them. */
export const LEVELS = 30;
export const INF_PIXEL = 31;
export const NAN_PIXEL = 32;

/** No pixel: between tiles, or above the bars of a histogram. */
export const CLEAR = -1;
const BAR_ROWS = 16;

/** Something to draw cell by cell. */
export interface Cells {
  readonly width: number;
  readonly height: number;
  /** Row by row: values of pixels, or CLEAR. */
  readonly codes: Int8Array;
  /** Zero is in the middle of the scale. */
  readonly isSigned: boolean;
  readonly thumbnail: Thumbnail | null;
}

type Known = WeakMap<Statistics, Cells | null>;
const known = new WeakMap<readonly Thumbnail[], Known>();

/** The thumbnail behind some statistics, or their histogram; null where neither was kept.
 *
 * Statistics that a delta has replaced are others: their thumbnail is of values before. */
export function cellsOf(
  snapshot: Snapshot,
  statistics: Statistics | null,
): Cells | null {
  if (statistics === null) return null;
  let cells = known.get(snapshot.thumbnails);
  if (cells === undefined) {
    cells = new WeakMap();
    for (const each of snapshot.thumbnails) {
      const row = snapshot.statistics[each.statistics];
      if (row !== undefined) cells.set(row, tiled(each));
    }
    known.set(snapshot.thumbnails, cells);
  }
  let found = cells.get(statistics);
  if (found === undefined) {
    found = barsOf(statistics);
    cells.set(statistics, found);
  }
  return found;
}

/** Tiles side by side, as square as they get, with a cell between them. */
function tiled(thumbnail: Thumbnail): Cells {
  const { tiles, rows, columns, pixels, low, high } = thumbnail;
  const along = Math.ceil(Math.sqrt(tiles));
  const width = along * (columns + 1) - 1;
  const height = Math.ceil(tiles / along) * (rows + 1) - 1;
  const codes = new Int8Array(width * height).fill(CLEAR);
  pixels.forEach((code, at) => {
    const column = at % columns;
    const row = Math.floor(at / columns) % rows;
    const tile = Math.floor(at / (columns * rows));
    const x = (tile % along) * (columns + 1) + column;
    const y = Math.floor(tile / along) * (rows + 1) + row;
    codes[y * width + x] = code;
  });
  const isSigned = low !== null && high !== null && low < 0 && high > 0;
  return { width, height, codes, isSigned, thumbnail };
}

function barsOf({ histogram, count }: Statistics): Cells | null {
  const width = histogram.length;
  if (width === 0 || count < 2) return null;
  const most = Math.max(...histogram);
  const codes = Int8Array.from({ length: width * BAR_ROWS }, (_, at) => {
    const share = (histogram[at % width] ?? 0) / most;
    const bottom = BAR_ROWS - 1 - Math.floor(at / width);
    return share * BAR_ROWS > bottom ? LEVELS >> 1 : CLEAR;
  });
  return { width, height: BAR_ROWS, codes, isSigned: false, thumbnail: null };
}

/** What a thumbnail says, in words. */
export function thumbnailWords(thumbnail: Thumbnail, statistics: Statistics): string {
  const { minimum, maximum, nans, infs } = statistics;
  const bad = [
    nans > 0 ? `${formatCount(nans)} NaN` : "",
    infs > 0 ? `${formatCount(infs)} Inf` : "",
  ].filter(Boolean);
  const ends = `${formatNumber(minimum)} to ${formatNumber(maximum)}`;
  return [ends, ...bad, thumbnail.how].filter(Boolean).join("; ");
}
