// Lays out the levels from the inside out, then puts them into one another.
import { rowOf } from "../graph/build.js";
import { type Arrangement, arrange } from "./arrange.js";
import { groupLevels, type Levels, splitLevels } from "./levels.js";
import { type LocalGraph, OVERLAY, SHORT, UPWARD, WRAPPED } from "./local.js";
import { PointList } from "./point-list.js";
import { Repeats } from "./repeats.js";
import type { LayoutGraph, LayoutOptions, Placement, Sizes } from "./types.js";
import { checkRoutes } from "./validate.js";
import { wrapColumns } from "./wrap.js";

const PORT_WIDTH = 6;

/** What the levels share; vertices are items and ports, positions relative to the top
 * left corner of their level's item. */
interface Work {
  readonly graph: LayoutGraph;
  readonly options: LayoutOptions;
  readonly levels: Levels;
  readonly x: Float64Array;
  readonly y: Float64Array;
  readonly width: Float64Array;
  readonly height: Float64Array;
  readonly points: PointList;
  readonly repeats: Repeats;
  readonly pieceStart: Int32Array;
  readonly pieceEnd: Int32Array;
  readonly pieceStyle: Uint8Array;
  /** Per level: what to add to a path's coordinates to be relative to its item. */
  readonly frameLeft: Float64Array;
  readonly frameTop: Float64Array;
  /** Scratch: the index of a vertex in its level. */
  readonly indexInLevel: Int32Array;
  /** Scratch: the bundle of a level that comes from an item, -1 between levels. */
  readonly bundleOf: Int32Array;
  ranks: number;
  crossings: number;
}

export function layoutNested(
  graph: LayoutGraph,
  sizes: Sizes,
  options: LayoutOptions,
): Placement {
  const items = graph.parent.length;
  const levels = splitLevels(graph);
  const pieces = levels.from.length;
  const work: Work = {
    graph,
    options,
    levels,
    x: new Float64Array(levels.vertexCount),
    y: new Float64Array(levels.vertexCount),
    width: new Float64Array(levels.vertexCount).fill(PORT_WIDTH),
    height: new Float64Array(levels.vertexCount),
    points: new PointList(),
    repeats: new Repeats(),
    pieceStart: new Int32Array(pieces),
    pieceEnd: new Int32Array(pieces),
    pieceStyle: new Uint8Array(pieces),
    frameLeft: new Float64Array(items + 1),
    frameTop: new Float64Array(items + 1),
    indexInLevel: new Int32Array(levels.vertexCount),
    bundleOf: new Int32Array(levels.vertexCount).fill(-1),
    ranks: 0,
    crossings: 0,
  };
  work.width.set(sizes.width);
  work.height.set(sizes.height);
  const { vertices, pieces: piecesOf } = groupLevels(levels, items + 1);
  for (let level = items; level > 0; level--) {
    if (graph.open[level - 1] !== 1) continue;
    layoutLevel(work, level, rowOf(vertices, level), rowOf(piecesOf, level));
  }
  const bounds = layoutLevel(work, 0, rowOf(vertices, 0), rowOf(piecesOf, 0));
  return assemble(work, bounds);
}

/** Arrange one level; set the positions in it and the size of its item. */
function layoutLevel(
  work: Work,
  level: number,
  vertices: Int32Array,
  pieces: Int32Array,
): { width: number; height: number } {
  const { options, points } = work;
  const local = localGraph(work, vertices, pieces);
  const above = level === 0 ? 0 : spaceAbove(local, options);
  const arrangement = work.repeats.find(local, () => {
    const ribbon = arrange(local, options, above, points);
    const { room } = options;
    return room === null ? ribbon : wrapColumns(local, ribbon, points, room);
  });
  const { x, y, starts, style } = arrangement;
  const frame = frameOf(work, level, local, arrangement, above);
  for (let i = 0; i < pieces.length; i++) {
    const piece = pieces[i] ?? 0;
    work.pieceStart[piece] = starts[i] ?? 0;
    work.pieceEnd[piece] = starts[i + 1] ?? 0;
    work.pieceStyle[piece] = style[i] ?? 0;
  }
  for (let i = 0; i < vertices.length; i++) {
    const vertex = vertices[i] ?? 0;
    work.x[vertex] = (x[i] ?? 0) + frame.left;
    work.y[vertex] = (y[i] ?? 0) + above;
  }
  if (level > 0) {
    work.width[level - 1] = frame.width;
    work.height[level - 1] = frame.height;
  }
  work.frameLeft[level] = frame.left;
  work.frameTop[level] = above;
  work.ranks += arrangement.ranks;
  work.crossings += arrangement.crossings;
  return frame;
}

/** Plain loops: `from` with a function takes three times as long. */
function localGraph(work: Work, vertices: Int32Array, pieces: Int32Array): LocalGraph {
  const { graph, levels, options, indexInLevel } = work;
  const items = graph.parent.length;
  const count = vertices.length;
  const width = new Float64Array(count);
  const height = new Float64Array(count);
  const pin = new Int8Array(count);
  const computed = new Uint8Array(count);
  const fixed = new Uint8Array(count);
  const previousX = new Float64Array(count).fill(Number.NaN);
  for (let i = 0; i < count; i++) {
    const vertex = vertices[i] ?? 0;
    indexInLevel[vertex] = i;
    width[i] = work.width[vertex] ?? 0;
    height[i] = work.height[vertex] ?? 0;
    pin[i] = levels.pin[vertex] ?? 0;
    computed[i] = levels.computed[vertex] ?? 0;
    const isOpen = vertex < items && graph.open[vertex] === 1;
    fixed[i] = pin[i] !== 0 || isOpen ? 1 : 0;
    previousX[i] = options.previousX?.[vertex] ?? Number.NaN;
  }
  if (options.previousX !== undefined) alignAtFirst(previousX);
  const ends = localEnds(work, pieces);
  return { count, width, height, pin, computed, fixed, previousX, ...ends };
}

/** Count from the first known place, in half pixels: only the order matters, and levels
 * that are alike stay so wherever they stand. */
function alignAtFirst(x: Float64Array): void {
  const first = x.find((each) => !Number.isNaN(each)) ?? 0;
  for (let i = 0; i < x.length; i++) x[i] = Math.round(2 * ((x[i] ?? 0) - first));
}

/** The pieces of a level: where they end there, and which share a chain of dummies. */
function localEnds(work: Work, pieces: Int32Array) {
  const { levels, indexInLevel, bundleOf } = work;
  const count = pieces.length;
  const source = new Int32Array(count);
  const target = new Int32Array(count);
  const sourceOffset = new Float64Array(count);
  const targetOffset = new Float64Array(count);
  const bundle = new Int32Array(count);
  let bundleCount = 0;
  for (let i = 0; i < count; i++) {
    const piece = pieces[i] ?? 0;
    const from = levels.from[piece] ?? 0;
    const to = levels.to[piece] ?? 0;
    source[i] = indexInLevel[from] ?? 0;
    target[i] = indexInLevel[to] ?? 0;
    sourceOffset[i] = offsetAt(work, from, levels.fromPort[piece] ?? -1);
    targetOffset[i] = offsetAt(work, to, levels.toPort[piece] ?? -1);
    const origin = levels.origin[piece] ?? 0;
    if ((bundleOf[origin] ?? -1) < 0) bundleOf[origin] = bundleCount++;
    bundle[i] = bundleOf[origin] ?? 0;
  }
  for (let i = 0; i < count; i++) bundleOf[levels.origin[pieces[i] ?? 0] ?? 0] = -1;
  return { source, target, sourceOffset, targetOffset, bundle, bundleCount };
}

/** From the middle of a vertex to one of its ports. */
function offsetAt(work: Work, vertex: number, port: number): number {
  return port < 0 ? 0 : (work.x[port] ?? 0) - (work.width[vertex] ?? 0) / 2;
}

/** From the top of an open item to its content. */
function spaceAbove({ pin }: LocalGraph, options: LayoutOptions): number {
  const { padding, titleHeight, rankGap } = options;
  // The rank of the ports already brings half a rank's gap above the content.
  return titleHeight + padding / 2 - (pin.includes(-1) ? rankGap / 2 : 0);
}

/** The box around a level: what to add to its x, and its size. */
function frameOf(
  work: Work,
  level: number,
  { count, pin }: LocalGraph,
  { left, right, bottom }: Arrangement,
  above: number,
): { readonly left: number; readonly width: number; readonly height: number } {
  const least = level === 0 ? 0 : (work.width[level - 1] ?? 0);
  if (count === 0) {
    const height = level === 0 ? 0 : (work.height[level - 1] ?? 0);
    return { left: 0, width: least, height };
  }
  const content = right - left;
  if (level === 0) return { left: -left, width: content, height: bottom };
  const { padding } = work.options;
  const width = Math.max(content + 2 * padding, least);
  return {
    left: (width - content) / 2 - left,
    width,
    height: above + bottom + (pin.includes(1) ? 0 : padding),
  };
}

/** Put the levels into one another. */
function assemble(
  work: Work,
  bounds: { readonly width: number; readonly height: number },
): Placement {
  const items = work.graph.parent.length;
  const corners = findCorners(work);
  const { points, starts, overlay, upward } = joinPieces(work, corners);
  checkRoutes(points, starts, overlay);
  const width = Float32Array.from(work.width.subarray(0, items));
  const height = Float32Array.from(work.height.subarray(0, items));
  return {
    x: width.map((each, item) => (corners.left[item + 1] ?? 0) + each / 2),
    y: height.map((each, item) => (corners.top[item + 1] ?? 0) + each / 2),
    width,
    height,
    points,
    starts,
    overlay,
    bounds: { width: bounds.width, height: bounds.height },
    stats: { ranks: work.ranks, crossings: work.crossings, upward },
  };
}

/** Per level: the top left corner of its item in the whole picture. */
interface Corners {
  readonly left: Float64Array;
  readonly top: Float64Array;
}

function findCorners({ graph, x, y, width, height }: Work): Corners {
  const items = graph.parent.length;
  const left = new Float64Array(items + 1);
  const top = new Float64Array(items + 1);
  for (let item = 0; item < items; item++) {
    const around = (graph.parent[item] ?? -1) + 1;
    left[item + 1] = (left[around] ?? 0) + (x[item] ?? 0) - (width[item] ?? 0) / 2;
    top[item + 1] = (top[around] ?? 0) + (y[item] ?? 0) - (height[item] ?? 0) / 2;
  }
  return { left, top };
}

function joinPieces(work: Work, corners: Corners) {
  const { levels, pieceStart, pieceEnd, pieceStyle } = work;
  const edges = work.graph.source.length;
  const points = new PointList();
  const starts = new Int32Array(edges + 1);
  const overlay = new Uint8Array(edges);
  let upward = 0;
  for (let edge = 0; edge < edges; edge++) {
    starts[edge] = points.begin();
    const pieces = rowOf(levels.pieces, edge);
    for (const piece of pieces) {
      const level = levels.level[levels.from[piece] ?? 0] ?? 0;
      const dx = (corners.left[level] ?? 0) + (work.frameLeft[level] ?? 0);
      const dy = (corners.top[level] ?? 0) + (work.frameTop[level] ?? 0);
      const end = pieceEnd[piece] ?? 0;
      for (let i = pieceStart[piece] ?? 0; i < end; i += 2) {
        points.add(work.points.at(i) + dx, work.points.at(i + 1) + dy);
      }
    }
    const styles = Array.from(pieces, (piece) => pieceStyle[piece] ?? SHORT);
    if (styles.some((style) => style === OVERLAY || style === UPWARD))
      overlay[edge] = 1;
    else if (styles.includes(WRAPPED)) overlay[edge] = 2;
    if (pieces.some((piece) => pieceStyle[piece] === UPWARD)) upward++;
  }
  starts[edges] = points.length;
  return { points: points.toArray(), starts, overlay, upward };
}
