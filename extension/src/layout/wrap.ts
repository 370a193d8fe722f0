// A level that is a long chain becomes columns, as in a newspaper: a ribbon could not be
// read as a whole. Edges from one column to another run below the one, up between both
// and down into the other.
//
//     a          a  ┌─┐
//     b    ->    b  │ c
//     c          └──┘ d
//     d
import type { Arrangement } from "./arrange.js";
import { type LocalGraph, SHORT, UPWARD, WRAPPED } from "./local.js";
import { PointList } from "./point-list.js";

/** Levels lower than this can be read as they are. */
const LEAST_HEIGHT = 2200;
/** Only a level that is so many times as high as wide is a ribbon. */
const RIBBON = 4;
const MOST_COLUMNS = 12;
/** Between two columns, and between the edges that run there. */
const GUTTER = 64;
const LANE = 7;
const LEAD = 14;
/** Columns may differ so much from one another, in parts of their height. */
const SLACK = 0.2;
/** An edge that a cut crosses counts as so many units of difference; more of them than
 * this would be a knot. */
const COST = 60;
const MOST_CROSSED = 8;

/** The arrangement in columns, its paths in `points`; itself where it is no ribbon. */
export function wrapColumns(
  graph: LocalGraph,
  arrangement: Arrangement,
  points: PointList,
): Arrangement {
  const { left, right, bottom, style, starts } = arrangement;
  const stride = right - left + GUTTER;
  if (bottom < LEAST_HEIGHT || bottom < RIBBON * stride) return arrangement;
  if (style.some((each) => each === UPWARD)) return arrangement;
  const count = Math.min(MOST_COLUMNS, Math.round(Math.sqrt(bottom / stride)));
  const cuts = cutsOf(graph, arrangement, points, count);
  if (cuts === null) return arrangement;
  const columns = new Columns(cuts, stride, left, bottom);
  const wrapped = new Uint8Array(style);
  const paths = new PointList();
  const ends: number[] = [];
  for (let edge = 0; edge + 1 < starts.length; edge++) {
    ends.push(paths.begin());
    const isCut = columns.add(paths, points, starts[edge] ?? 0, starts[edge + 1] ?? 0);
    if (isCut && wrapped[edge] === SHORT) wrapped[edge] = WRAPPED;
  }
  const end = columns.bottom();
  const offset = points.length;
  for (let i = 0; i < paths.length; i += 2) points.push(paths.at(i), paths.at(i + 1));
  const isDeep = (y: number) => y >= bottom - 0.5; // on the lower border
  const x = arrangement.x.map((each, v) => each + columns.dx(arrangement.y[v] ?? 0));
  const y = arrangement.y.map((each) => (isDeep(each) ? end : columns.down(each)));
  for (let edge = 0; edge < wrapped.length; edge++) {
    if (graph.pin[graph.target[edge] ?? 0] !== 1) continue;
    points.lower(offset + (ends[edge + 1] ?? paths.length) - 1, end);
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

/** Heights between boxes at which to cut, so that the columns are nearly as high and few
 * edges cross; null where the edges would be a knot. */
function cutsOf(
  { count: vertices, height, pin }: LocalGraph,
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
  const spans = Array.from({ length: starts.length - 1 }, (_, edge) => {
    const [first, last] = [starts[edge] ?? 0, (starts[edge + 1] ?? 0) - 2];
    return [points.at(first + 1), points.at(last + 1)] as const;
  });
  const crossed = (at: number) =>
    spans.reduce((sum, [from, to]) => sum + (from < at && at < to ? 1 : 0), 0);
  const each = bottom / columns;
  const cuts: number[] = [];
  for (let column = 1; column < columns; column++) {
    let best = Number.POSITIVE_INFINITY;
    let found = 0;
    for (const gap of gaps) {
      const off = Math.abs(gap - column * each);
      if (off > SLACK * each || off >= best) continue;
      const edges = crossed(gap);
      const cost = off + COST * edges;
      if (edges > MOST_CROSSED || cost >= best) continue;
      [best, found] = [cost, gap];
    }
    if (found > (cuts.at(-1) ?? 0)) cuts.push(found);
  }
  return cuts.length === 0 ? null : cuts;
}

/** Where heights of the ribbon are in the columns. */
class Columns {
  private readonly used: number[];
  /** Above the columns after the first, for the edges that come into them. */
  private readonly head: number;
  private deepest = 0;

  constructor(
    private readonly cuts: readonly number[],
    private readonly stride: number,
    private readonly left: number,
    private readonly end: number,
  ) {
    this.used = cuts.map(() => 0);
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
  add(paths: PointList, points: PointList, start: number, end: number): boolean {
    let isCut = false;
    for (let i = start; i < end; i += 2) {
      const [x, y] = [points.at(i), points.at(i + 1)];
      const column = this.columnOf(y);
      const before = i === start ? column : this.columnOf(points.at(i - 1));
      if (column > before) {
        const from = points.at(i - 2) + before * this.stride;
        this.cross(paths, { from, to: x + column * this.stride }, before, column);
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
    column: number,
  ): void {
    const lane = Math.min(MOST_CROSSED, this.used[before] ?? 0);
    this.used[before] = lane + 1;
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
    if (column > 0) paths.push(x.to, this.head);
  }

  private columnOf(y: number): number {
    let column = 0;
    while (y > (this.cuts[column] ?? Number.POSITIVE_INFINITY)) column += 1;
    return column;
  }
}
