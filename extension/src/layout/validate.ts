// Checks after each stage, so that a wrong picture names the stage that made it.
import {
  type Coordinates,
  type Layered,
  type LocalGraph,
  type Ordering,
  type Ranking,
  UPWARD,
} from "./local.js";
import { LayoutError, type LayoutGraph, type Sizes } from "./types.js";

const TOLERANCE = 0.05;

export function checkInput(graph: LayoutGraph, sizes: Sizes): void {
  const items = graph.parent.length;
  for (const [name, length] of [
    ["open", graph.open.length],
    ["width", sizes.width.length],
    ["height", sizes.height.length],
  ] as const) {
    if (length !== items) {
      throw new LayoutError(
        "input",
        `${name} has ${length} entries for ${items} items`,
      );
    }
  }
  for (let item = 0; item < items; item++) {
    const parent = graph.parent[item] ?? -1;
    if (parent >= item || (parent >= 0 && graph.open[parent] !== 1)) {
      throw new LayoutError(
        "input",
        `item ${item} is in ${parent}, which cannot hold it`,
      );
    }
    if (!((sizes.width[item] ?? 0) >= 0 && (sizes.height[item] ?? 0) >= 0)) {
      throw new LayoutError("input", `the size of item ${item} is not a number`);
    }
  }
  for (const ends of [graph.source, graph.target]) {
    for (const item of ends) {
      if (!(item >= 0 && item < items) || graph.open[item] === 1) {
        throw new LayoutError(
          "input",
          `an edge ends at ${item}, which is no closed item`,
        );
      }
    }
  }
}

export function checkRanks(graph: LocalGraph, ranking: Ranking): void {
  for (let edge = 0; edge < graph.source.length; edge++) {
    if (ranking.style[edge] === UPWARD) continue;
    const source = graph.source[edge] ?? 0;
    const target = graph.target[edge] ?? 0;
    const span = (ranking.rank[target] ?? 0) - (ranking.rank[source] ?? 0);
    if (span < 1) {
      throw new LayoutError(
        "rank",
        `the edge ${source} -> ${target} spans ${span} ranks`,
      );
    }
  }
}

export function checkOrder(layered: Layered, ordering: Ordering): void {
  for (let segment = 0; segment < layered.segmentSource.length; segment++) {
    const source = layered.rank[layered.segmentSource[segment] ?? 0] ?? 0;
    const target = layered.rank[layered.segmentTarget[segment] ?? 0] ?? 0;
    if (target !== source + 1) {
      throw new LayoutError("order", `a segment goes from rank ${source} to ${target}`);
    }
  }
  const { starts, order, position } = ordering;
  for (let vertex = 0; vertex < layered.count; vertex++) {
    const place = (starts[layered.rank[vertex] ?? 0] ?? 0) + (position[vertex] ?? 0);
    if (order[place] !== vertex) {
      throw new LayoutError(
        "order",
        `vertex ${vertex} is not at its place in its rank`,
      );
    }
  }
}

export function checkCoordinates(
  layered: Layered,
  ordering: Ordering,
  { x, top, bottom }: Coordinates,
): void {
  const { starts, order } = ordering;
  for (let rank = 0; rank + 1 < starts.length; rank++) {
    if (rank > 0 && !((top[rank] ?? 0) >= (bottom[rank - 1] ?? 0))) {
      throw new LayoutError("coord", `rank ${rank} lies on the one above`);
    }
    for (let i = (starts[rank] ?? 0) + 1; i < (starts[rank + 1] ?? 0); i++) {
      const left = order[i - 1] ?? 0;
      const right = order[i] ?? 0;
      const half = ((layered.width[left] ?? 0) + (layered.width[right] ?? 0)) / 2;
      if (!((x[right] ?? 0) - (x[left] ?? 0) >= half - TOLERANCE)) {
        throw new LayoutError("coord", `vertices ${left} and ${right} overlap`);
      }
    }
  }
}

export function checkRoutes(
  points: Float32Array,
  starts: Int32Array,
  isFree: Uint8Array,
): void {
  for (let edge = 0; edge + 1 < starts.length; edge++) {
    const start = starts[edge] ?? 0;
    const end = starts[edge + 1] ?? 0;
    if (end - start < 4) {
      throw new LayoutError("route", `edge ${edge} has no two points`);
    }
    for (let i = start; i < end; i += 2) {
      const y = points[i + 1] ?? Number.NaN;
      const rises = i > start && y < (points[i - 1] ?? 0) - TOLERANCE;
      if (!Number.isFinite(y) || (rises && isFree[edge] === 0)) {
        throw new LayoutError("route", `edge ${edge} does not run downwards`);
      }
    }
  }
}
