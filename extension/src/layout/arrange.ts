// One level from ranks to paths: all stages, each checked. Positions are the level's own.
import { assignCoordinates } from "./coord.js";
import { assignLanes, type Lanes } from "./lanes.js";
import { addDummies } from "./layers.js";
import type { Coordinates, LocalGraph } from "./local.js";
import { orderVertices } from "./order.js";
import type { PointList } from "./point-list.js";
import { rankVertices } from "./rank.js";
import { routeEdges } from "./route.js";
import type { LayoutOptions } from "./types.js";
import { checkCoordinates, checkOrder, checkRanks } from "./validate.js";

export interface Arrangement {
  /** Per vertex: centre. */
  readonly x: Float64Array;
  readonly y: Float64Array;
  /** Per edge: SHORT, OVERLAY or UPWARD. */
  readonly style: Uint8Array;
  /** Path of edge e: starts[e] .. starts[e + 1] in the list of points. */
  readonly starts: Int32Array;
  /** The content: from left to right, and from 0 to its bottom. */
  readonly left: number;
  readonly right: number;
  readonly bottom: number;
  readonly ranks: number;
  readonly crossings: number;
}

/** Arrange a level; its paths go to `points`. Ports of its top border lie `above` its
 * content. */
export function arrange(
  graph: LocalGraph,
  options: LayoutOptions,
  above: number,
  points: PointList,
): Arrangement {
  const ranking = rankVertices(graph, options.maxSpan);
  checkRanks(graph, ranking);
  const layered = addDummies(graph, ranking);
  const ordering = orderVertices(layered, options.sweeps);
  checkOrder(layered, ordering);
  const coordinates = assignCoordinates(layered, ordering, options);
  checkCoordinates(layered, ordering, coordinates);
  const lanes = assignLanes(layered, ordering, coordinates);
  const { x, y, bottom } = coordinates;
  for (let vertex = 0; vertex < graph.count; vertex++) {
    if (graph.pin[vertex] === -1) y[vertex] = -above;
  }
  return {
    x: x.slice(0, graph.count),
    y,
    style: ranking.style,
    starts: routeEdges(layered, coordinates, lanes, points),
    ...extent(layered.width, coordinates, lanes),
    bottom: bottom[bottom.length - 1] ?? 0,
    ranks: ranking.count,
    crossings: ordering.crossings,
  };
}

function extent(width: Float64Array, { x }: Coordinates, lanes: Lanes) {
  let { left, right } = lanes;
  for (let vertex = 0; vertex < x.length; vertex++) {
    const half = (width[vertex] ?? 0) / 2;
    left = Math.min(left, (x[vertex] ?? 0) - half);
    right = Math.max(right, (x[vertex] ?? 0) + half);
  }
  return { left, right };
}
