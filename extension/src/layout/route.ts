// Stage 4: the paths of the edges of one level. They cross ranks vertically, so no edge
// runs through a box, and bend between the ranks.
import { groupBy, rowOf } from "../graph/build.js";
import type { Lanes } from "./lanes.js";
import { type Coordinates, type Layered, OVERLAY, SHORT } from "./local.js";
import type { PointList } from "./point-list.js";

const PORT_SPACING = 16;
const PORT_SHARE = 0.7; // of the box's width that arrow heads may use
const STRAIGHT = 0.5;

/** Append the path of every edge; return where each starts, and the end. */
export function routeEdges(
  layered: Layered,
  coordinates: Coordinates,
  lanes: Lanes,
  points: PointList,
): Int32Array {
  const { graph, ranking } = layered;
  const offset = spreadArrivals(layered, coordinates, lanes);
  const { x, y, top, bottom } = coordinates;
  const starts = new Int32Array(graph.source.length + 1);
  for (let edge = 0; edge < graph.source.length; edge++) {
    starts[edge] = points.begin();
    const source = graph.source[edge] ?? 0;
    const target = graph.target[edge] ?? 0;
    const leaveX = (x[source] ?? 0) + (graph.sourceOffset[edge] ?? 0);
    const leaveY = (y[source] ?? 0) + (graph.height[source] ?? 0) / 2;
    const arriveX = (x[target] ?? 0) + (offset[edge] ?? 0);
    const arriveY = (y[target] ?? 0) - (graph.height[target] ?? 0) / 2;
    const from = ranking.rank[source] ?? 0;
    const to = ranking.rank[target] ?? 0;
    const lane = laneOf(layered, lanes, edge);
    points.add(leaveX, leaveY);
    if (!Number.isNaN(lane)) {
      points.add(leaveX, Math.max(leaveY, bottom[from] ?? 0));
      points.add(lane, top[from + 1] ?? 0);
      points.add(lane, bottom[to - 1] ?? 0);
      points.add(arriveX, Math.min(arriveY, top[to] ?? 0));
    } else if (ranking.style[edge] === SHORT) {
      const first = layered.firstDummy[graph.bundle[edge] ?? 0] ?? -1;
      points.add(leaveX, Math.max(leaveY, bottom[from] ?? 0));
      for (let rank = from + 1; rank < to; rank++) {
        const dummyX = x[first + rank - from - 1] ?? 0;
        points.add(dummyX, top[rank] ?? 0);
        points.add(dummyX, bottom[rank] ?? 0);
      }
      points.add(arriveX, Math.min(arriveY, top[to] ?? 0));
    }
    points.add(arriveX, arriveY);
    if (points.length - (starts[edge] ?? 0) < 4) points.push(arriveX, arriveY);
  }
  starts[graph.source.length] = points.length;
  return starts;
}

/** The x of the lane of a long edge, NaN where it has none. */
function laneOf({ graph, ranking }: Layered, lanes: Lanes, edge: number): number {
  if (ranking.style[edge] !== OVERLAY) return Number.NaN;
  return lanes.x[graph.bundle[edge] ?? 0] ?? Number.NaN;
}

/** Where each edge meets its target: side by side, in the order in which they come.
 * The edge that comes straight from above keeps the middle. */
function spreadArrivals(
  layered: Layered,
  { x }: Coordinates,
  lanes: Lanes,
): Float64Array {
  const { graph } = layered;
  const offset = graph.targetOffset.slice();
  const incoming = groupBy(graph.target, graph.count);
  const comesFrom = (edge: number) => {
    const lane = laneOf(layered, lanes, edge);
    return Number.isNaN(lane) ? approach(layered, x, edge) : lane;
  };
  for (let vertex = 0; vertex < graph.count; vertex++) {
    const count = (incoming.starts[vertex + 1] ?? 0) - (incoming.starts[vertex] ?? 0);
    if (count < 2 || graph.fixed[vertex] === 1) continue;
    const edges = Array.from(rowOf(incoming, vertex));
    edges.sort((a, b) => comesFrom(a) - comesFrom(b));
    const here = x[vertex] ?? 0;
    const straight = edges.findIndex(
      (edge) => Math.abs(comesFrom(edge) - here) < STRAIGHT,
    );
    const middle = straight < 0 ? (count - 1) / 2 : straight;
    const width = graph.width[vertex] ?? 0;
    const spacing = Math.min(PORT_SPACING, (PORT_SHARE * width) / count);
    const limit = width / 2 - 8;
    edges.forEach((edge, index) => {
      const wanted = (index - middle) * spacing;
      offset[edge] = Math.max(-limit, Math.min(limit, wanted));
    });
  }
  return offset;
}

/** The x from which an edge makes its last step. */
function approach(layered: Layered, x: Float64Array, edge: number): number {
  const { graph, ranking } = layered;
  const source = graph.source[edge] ?? 0;
  const target = graph.target[edge] ?? 0;
  const between = (ranking.rank[target] ?? 0) - (ranking.rank[source] ?? 0) - 1;
  const first = layered.firstDummy[graph.bundle[edge] ?? 0] ?? -1;
  if (ranking.style[edge] === SHORT && between > 0 && first >= 0) {
    return x[first + between - 1] ?? 0;
  }
  return (x[source] ?? 0) + (graph.sourceOffset[edge] ?? 0);
}
