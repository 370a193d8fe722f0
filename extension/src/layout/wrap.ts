// A level that is a long chain becomes columns, as in a newspaper: a ribbon could not be
// read as a whole. Edges from one column to another run below the one, up between both
// and down into the other.
//
//     a          a  ┌─┐
//     b    ->    b  │ c
//     c          └──┘ d
//     d
//
// The last column leaves below the first one: what follows stands where it would have.
import type { Arrangement } from "./arrange.js";
import { type LocalGraph, SHORT, UPWARD, WRAPPED } from "./local.js";
import { PointList } from "./point-list.js";
import type { Room } from "./types.js";

/** Only a level that is so many times as high as wide is a ribbon. */
const RIBBON = 2.2;
const MOST_COLUMNS = 12;
/** Between two columns, and between the edges that run there. */
const GUTTER = 100;
const LANE = 5;
const LEAD = 14;
/** A column may be so much higher than the mean to end where few edges cross. */
const SLACK = 0.25;
/** Columns that are hardly lower than the ribbon make it no easier to read. */
const LEAST_GAIN = 0.3;
/** Sources whose edges a cut crosses; more of them would be a knot. */
const MOST_CROSSED = 14;

/** The arrangement in columns, its paths in `points`; itself where it is no ribbon. */
export function wrapColumns(
  graph: LocalGraph,
  arrangement: Arrangement,
  points: PointList,
  room: Room,
): Arrangement {
  const { left, right, bottom, style, starts } = arrangement;
  const stride = right - left + GUTTER;
  if (bottom < room.height || bottom < RIBBON * stride) return arrangement;
  if (style.some((each) => each === UPWARD)) return arrangement;
  const even = Math.round(Math.sqrt(bottom / stride)); // as high as wide
  const low = Math.ceil(bottom / room.height);
  const beside = Math.floor((room.width + GUTTER) / stride);
  const count = Math.min(MOST_COLUMNS, Math.max(even, Math.min(low, beside)));
  const cuts = cutsOf(graph, arrangement, points, count);
  if (cuts === null || highest(cuts, bottom) > (1 - LEAST_GAIN) * bottom)
    return arrangement;
  const columns = new Columns(cuts, stride, left, bottom);
  const wrapped = new Uint8Array(style);
  const paths = new PointList();
  const ends: number[] = [];
  const isLeaving = (edge: number) => graph.pin[graph.target[edge] ?? 0] === 1;
  for (let edge = 0; edge + 1 < starts.length; edge++) {
    ends.push(paths.begin());
    const ribbon = { points, start: starts[edge] ?? 0, end: starts[edge + 1] ?? 0 };
    const isCut = columns.add(paths, ribbon, graph.source[edge] ?? 0);
    if (isLeaving(edge)) columns.leave(paths, ribbon);
    if (isCut && wrapped[edge] === SHORT) wrapped[edge] = WRAPPED;
  }
  const end = columns.bottom() + LEAD;
  const offset = points.length;
  for (let i = 0; i < paths.length; i += 2) points.push(paths.at(i), paths.at(i + 1));
  const isPort = (vertex: number) => graph.pin[vertex] === 1;
  const x = arrangement.x.map((each, v) =>
    isPort(v) ? each : each + columns.dx(arrangement.y[v] ?? 0),
  );
  const y = arrangement.y.map((each, v) => (isPort(v) ? end : columns.down(each)));
  for (let edge = 0; edge < wrapped.length; edge++) {
    if (!isLeaving(edge)) continue;
    const last = offset + (ends[edge + 1] ?? paths.length) - 1;
    points.lower(last, end);
    points.lower(last - 2, end - LEAD);
    points.lower(last - 4, end - LEAD);
  }
  return {
    ...arrangement,
    x,
    y,
    style: wrapped,
    starts: Int32Array.from([...ends, paths.length], (each) => each + offset),
    right: left + cuts.length * stride + (right - left),
    bottom: end,
  };
}

/** The height of the highest column. */
function highest(cuts: readonly number[], bottom: number): number {
  return Math.max(...[...cuts, bottom].map((end, at) => end - (cuts[at - 1] ?? 0)));
}

/** Heights between boxes at which to cut, so that the columns are nearly as high and few
 * edges cross; null where the edges would be a knot. */
function cutsOf(
  { count: vertices, height, pin, source }: LocalGraph,
  { y, starts, bottom }: Arrangement,
  points: PointList,
  columns: number,
): number[] | null {
  const boxes = Array.from({ length: vertices }, (_, v) => v)
    .filter((v) => pin[v] === 0)
    .map((v) => {
      const half = (height[v] ?? 0) / 2;
      return { top: (y[v] ?? 0) - half, end: (y[v] ?? 0) + half };
    })
    .sort((a, b) => a.top - b.top);
  const gaps: number[] = [];
  let deepest = boxes[0]?.end ?? 0;
  for (const { top, end } of boxes) {
    if (top > deepest + 2) gaps.push((deepest + top) / 2);
    deepest = Math.max(deepest, end);
  }
  const crossed = crossingsOf(source, starts, points);
  const each = bottom / columns;
  const cuts: number[] = [];
  let from = 0;
  let best: { readonly gap: number; readonly edges: number } | null = null;
  for (const gap of [...gaps, Number.POSITIVE_INFINITY]) {
    // The last gap that the column has room for, or of several the least crossed one.
    if (best !== null && gap > from + (1 + SLACK) * each) {
      cuts.push(best.gap);
      from = best.gap;
      best = null;
    }
    if (gap === Number.POSITIVE_INFINITY || bottom - gap < SLACK * each) break;
    if (gap < from + (1 - SLACK) * each) continue;
    const edges = crossed(gap);
    if (edges > MOST_CROSSED) continue;
    if (best === null || edges <= best.edges) best = { gap, edges };
  }
  return cuts.length === 0 ? null : cuts;
}

/** How many sources have an edge that crosses a height: their edges run together. */
function crossingsOf(source: Int32Array, starts: Int32Array, points: PointList) {
  const reach = new Map<number, { from: number; to: number }>();
  source.forEach((own, edge) => {
    const from = points.at((starts[edge] ?? 0) + 1);
    const to = points.at((starts[edge + 1] ?? 0) - 1);
    const known = reach.get(own);
    if (known === undefined) reach.set(own, { from, to });
    else known.to = Math.max(known.to, to);
  });
  const spans = [...reach.values()];
  const begins = Float64Array.from(spans, ({ from }) => from).sort();
  const ends = Float64Array.from(spans, ({ to }) => to).sort();
  return (at: number) => countBelow(begins, at) - countBelow(ends, at);
}

function countBelow(sorted: Float64Array, value: number): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((sorted[middle] ?? 0) < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The path of one edge before it is wrapped. */
interface Ribbon {
  readonly points: PointList;
  readonly start: number;
  readonly end: number;
}

/** Where heights of the ribbon are in the columns. */
class Columns {
  /** Per cut: the lane of each source whose edges cross it. */
  private readonly lanes: readonly Map<number, number>[];
  /** Above the columns after the first, for the edges that come into them. */
  private readonly head: number;
  private deepest = 0;

  constructor(
    private readonly cuts: readonly number[],
    private readonly stride: number,
    private readonly left: number,
    private readonly end: number,
  ) {
    this.lanes = cuts.map(() => new Map());
    this.head = LEAD + LANE * (MOST_CROSSED + 1);
  }

  dx(y: number): number {
    return this.columnOf(y) * this.stride;
  }

  down(y: number): number {
    const column = this.columnOf(y);
    return column === 0 ? y : y - (this.cuts[column - 1] ?? 0) + this.head;
  }

  /** The lower end of all columns and of the lanes below them. */
  bottom(): number {
    const ends = [...this.cuts, this.end].map((cut, column) =>
      column === 0 ? cut : cut - (this.cuts[column - 1] ?? 0) + this.head,
    );
    return Math.max(this.deepest + LEAD, ...ends);
  }

  /** Add a path; true if it goes from one column to another. */
  add(paths: PointList, { points, start, end }: Ribbon, source: number): boolean {
    let isCut = false;
    for (let i = start; i < end; i += 2) {
      const [x, y] = [points.at(i), points.at(i + 1)];
      const column = this.columnOf(y);
      const before = i === start ? column : this.columnOf(points.at(i - 1));
      if (column > before) {
        const from = points.at(i - 2) + before * this.stride;
        const to = x + column * this.stride;
        this.cross(paths, { from, to }, before, this.laneOf(before, source));
        isCut = true;
      }
      paths.add(x + column * this.stride, this.down(y));
    }
    return isCut;
  }

  private cross(
    paths: PointList,
    x: { readonly from: number; readonly to: number },
    before: number,
    lane: number,
  ): void {
    const cut = this.down(this.cuts[before] ?? 0);
    const below = cut + LEAD + LANE * lane;
    const above = this.head - LEAD - LANE * lane;
    const gutter =
      this.left + (before + 1) * this.stride - GUTTER + LEAD / 2 + LANE * lane;
    this.deepest = Math.max(this.deepest, below);
    paths.push(x.from, below);
    paths.push(gutter, below);
    paths.push(gutter, above);
    paths.push(x.to, above);
    paths.push(x.to, this.head);
  }

  /** End a path at the lower border below where it would have been without columns, so
   * that what follows stands below what came before. The heights come later. */
  leave(paths: PointList, { points, end }: Ribbon): void {
    const x = points.at(end - 2);
    const y = this.down(points.at(end - 1));
    paths.push(x + this.dx(points.at(end - 1)), y);
    paths.push(x, y);
    paths.push(x, y);
  }

  private laneOf(cut: number, source: number): number {
    const lanes = this.lanes[cut];
    const lane = lanes?.get(source) ?? Math.min(MOST_CROSSED, lanes?.size ?? 0);
    lanes?.set(source, lane);
    return lane;
  }

  private columnOf(y: number): number {
    let column = 0;
    while (y > (this.cuts[column] ?? Number.POSITIVE_INFINITY)) column += 1;
    return column;
  }
}
