// Lays out the levels from the inside out, then puts them into one another.
import { rowOf } from "../graph/build.js";
import { assignCoordinates } from "./coord.js";
import { assignLanes, type Lanes } from "./lanes.js";
import { addDummies } from "./layers.js";
import { groupLevels, type Levels, splitLevels } from "./levels.js";
import { type Coordinates, type LocalGraph, SHORT, UPWARD } from "./local.js";
import { orderVertices } from "./order.js";
import { PointList } from "./point-list.js";
import { rankVertices } from "./rank.js";
import { routeEdges } from "./route.js";
import type { LayoutGraph, LayoutOptions, Placement, Sizes } from "./types.js";
import { checkCoordinates, checkOrder, checkRanks, checkRoutes } from "./validate.js";

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

/** Run the stages on one level; set the positions in it and the size of its item. */
function layoutLevel(
  work: Work,
  level: number,
  vertices: Int32Array,
  pieces: Int32Array,
): { width: number; height: number } {
  const { options } = work;
  const local = localGraph(work, vertices, pieces);
  const ranking = rankVertices(local, options.maxSpan);
  checkRanks(local, ranking);
  const layered = addDummies(local, ranking);
  const ordering = orderVertices(layered, options.sweeps);
  checkOrder(layered, ordering);
  const coordinates = assignCoordinates(layered, ordering, options);
  checkCoordinates(layered, ordering, coordinates);
  const lanes = assignLanes(layered, coordinates);
  const frame = frameOf(work, level, local, layered.width, coordinates, lanes);
  for (let vertex = 0; vertex < local.count; vertex++) {
    if (local.pin[vertex] === -1) coordinates.y[vertex] = -frame.top;
  }
  const starts = routeEdges(layered, coordinates, lanes, work.points);
  pieces.forEach((piece, i) => {
    work.pieceStart[piece] = starts[i] ?? 0;
    work.pieceEnd[piece] = starts[i + 1] ?? 0;
    work.pieceStyle[piece] = ranking.style[i] ?? 0;
  });
  for (let i = 0; i < vertices.length; i++) {
    const vertex = vertices[i] ?? 0;
    work.x[vertex] = (coordinates.x[i] ?? 0) + frame.left;
    work.y[vertex] = (coordinates.y[i] ?? 0) + frame.top;
  }
  if (level > 0) {
    work.width[level - 1] = frame.width;
    work.height[level - 1] = frame.height;
  }
  work.frameLeft[level] = frame.left;
  work.frameTop[level] = frame.top;
  work.ranks += ranking.count;
  work.crossings += ordering.crossings;
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
  const fixed = new Uint8Array(count);
  const previousX = new Float64Array(count).fill(Number.NaN);
  for (let i = 0; i < count; i++) {
    const vertex = vertices[i] ?? 0;
    indexInLevel[vertex] = i;
    width[i] = work.width[vertex] ?? 0;
    height[i] = work.height[vertex] ?? 0;
    pin[i] = levels.pin[vertex] ?? 0;
    const isOpen = vertex < items && graph.open[vertex] === 1;
    fixed[i] = pin[i] !== 0 || isOpen ? 1 : 0;
    previousX[i] = options.previousX?.[vertex] ?? Number.NaN;
  }
  const ends = localEnds(work, pieces);
  return { count, width, height, pin, fixed, previousX, ...ends };
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

interface Frame {
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
}

/** The box around a level: what to add to its coordinates, and its size. */
function frameOf(
  work: Work,
  level: number,
  local: LocalGraph,
  widths: Float64Array,
  { x, top, bottom }: Coordinates,
  lanes: Lanes,
): Frame {
  let least = lanes.left;
  let most = lanes.right;
  for (let vertex = 0; vertex < x.length; vertex++) {
    const half = (widths[vertex] ?? 0) / 2;
    least = Math.min(least, (x[vertex] ?? 0) - half);
    most = Math.max(most, (x[vertex] ?? 0) + half);
  }
  if (x.length === 0) {
    const width = level === 0 ? 0 : (work.width[level - 1] ?? 0);
    const height = level === 0 ? 0 : (work.height[level - 1] ?? 0);
    return { left: 0, top: 0, width, height };
  }
  const content = most - least;
  const contentBottom = bottom[bottom.length - 1] ?? 0;
  if (level === 0) {
    return { left: -least, top: -(top[0] ?? 0), width: content, height: contentBottom };
  }
  const { padding, titleHeight, rankGap } = work.options;
  const hasTopPorts = local.pin.includes(-1);
  const hasBottomPorts = local.pin.includes(1);
  // The rank of the ports already brings half a rank's gap above the content.
  const above = titleHeight + (hasTopPorts ? padding / 2 - rankGap / 2 : padding / 2);
  const width = Math.max(content + 2 * padding, work.width[level - 1] ?? 0);
  return {
    left: (width - content) / 2 - least,
    top: above,
    width,
    height: above + contentBottom + (hasBottomPorts ? 0 : padding),
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
    if (pieces.some((piece) => pieceStyle[piece] !== SHORT)) overlay[edge] = 1;
    if (pieces.some((piece) => pieceStyle[piece] === UPWARD)) upward++;
  }
  starts[edges] = points.length;
  return { points: points.toArray(), starts, overlay, upward };
}
