// The main path of a level: drawn straight, and everything else hangs beside it.
import { groupBy, type Rows } from "../graph/build.js";
import {
  type Layered,
  type LocalGraph,
  type Ordering,
  SHORT,
  UPWARD,
} from "./local.js";

/** A path from a port counts for more than any path from a leaf inside the level, and one
 * from a port of something computed for more than one from a parameter: what a loop hands
 * on leaves each turn where it came in, and the turns stand below one another. */
const PORT_LEAD = 1e9;
const COMPUTED_LEAD = 2e9;

/** Per vertex: the length of the longest path to it; data that enters the level goes
 * before leaves. */
export function longestReach(
  graph: LocalGraph,
  outgoing: Rows,
  style: Uint8Array,
  order: Int32Array,
): Float64Array {
  const { pin, computed } = graph;
  const reach = Float64Array.from(pin, (side, vertex) => {
    if (side !== -1) return 0;
    return computed[vertex] === 1 ? COMPUTED_LEAD : PORT_LEAD;
  });
  for (const vertex of order) {
    const through = (reach[vertex] ?? 0) + 1;
    const end = outgoing.starts[vertex + 1] ?? 0;
    for (let i = outgoing.starts[vertex] ?? 0; i < end; i++) {
      const edge = outgoing.items[i] ?? 0;
      const target = graph.target[edge] ?? 0;
      if (style[edge] === UPWARD || (reach[target] ?? 0) >= through) continue;
      reach[target] = through;
    }
  }
  return reach;
}

/** Mark the segments of one longest path, from its end upwards. Where several paths are
 * equally long, it takes the middle one. */
export function markSpine(layered: Layered, ordering: Ordering): Uint8Array {
  const { graph, ranking } = layered;
  const incoming = groupBy(graph.target, graph.count);
  const spine = new Uint8Array(layered.segmentSource.length);
  let vertex = 0;
  for (let other = 1; other < graph.count; other++) {
    if ((ranking.reach[other] ?? 0) > (ranking.reach[vertex] ?? 0)) vertex = other;
  }
  for (;;) {
    const edge = middleEdge(layered, ordering, incoming, vertex);
    if (edge < 0) return spine;
    let segment = layered.lastSegment[edge] ?? -1;
    while (segment >= 0) {
      spine[segment] = 1;
      segment = layered.segmentInto[layered.segmentSource[segment] ?? 0] ?? -1;
    }
    vertex = graph.source[edge] ?? 0;
  }
}

/** Mark the segments of strands: what is left of the graph beside the spine falls apart
 * into paths, as long as can be, and each is drawn straight. A sum that grows over many
 * steps is such a strand: without it, every step would stand a little to the side. */
export function markStrands(
  layered: Layered,
  ordering: Ordering,
  spine: Uint8Array,
): Uint8Array {
  const { graph, ranking } = layered;
  const onSpine = new Uint8Array(layered.count);
  for (let segment = 0; segment < spine.length; segment++) {
    if (spine[segment] === 0) continue;
    onSpine[layered.segmentSource[segment] ?? 0] = 1;
    onSpine[layered.segmentTarget[segment] ?? 0] = 1;
  }
  const isFree = (edge: number) =>
    ranking.style[edge] === SHORT &&
    onSpine[graph.source[edge] ?? 0] === 0 &&
    onSpine[graph.target[edge] ?? 0] === 0;
  const { order } = ordering;
  const incoming = groupBy(graph.target, graph.count);
  const outgoing = groupBy(graph.source, graph.count);
  const bestIn = longestBy(order, incoming, graph.source, isFree);
  const bestOut = longestBy(order.slice().reverse(), outgoing, graph.target, isFree);
  const strands = new Uint8Array(spine.length);
  for (let vertex = 0; vertex < graph.count; vertex++) {
    const edge = bestIn[vertex] ?? -1;
    if (edge < 0 || bestOut[graph.source[edge] ?? 0] !== edge) continue;
    let segment = layered.lastSegment[edge] ?? -1;
    while (segment >= 0) {
      strands[segment] = 1;
      segment = layered.segmentInto[layered.segmentSource[segment] ?? 0] ?? -1;
    }
  }
  return strands;
}

/** Per vertex: the edge along which the longest path comes, or -1. */
function longestBy(
  order: Int32Array,
  edges: Rows,
  otherEnd: Int32Array,
  isFree: (edge: number) => boolean,
): Int32Array {
  const count = edges.starts.length - 1;
  const length = new Int32Array(count);
  const best = new Int32Array(count).fill(-1);
  for (const vertex of order) {
    if (vertex >= count) continue; // a dummy
    const end = edges.starts[vertex + 1] ?? 0;
    for (let i = edges.starts[vertex] ?? 0; i < end; i++) {
      const edge = edges.items[i] ?? 0;
      if (!isFree(edge)) continue;
      const through = (length[otherEnd[edge] ?? 0] ?? 0) + 1;
      if (through <= (length[vertex] ?? 0)) continue;
      length[vertex] = through;
      best[vertex] = edge;
    }
  }
  return best;
}

/** The middle one of the edges that lie on a longest path to a vertex, or -1. */
function middleEdge(
  { graph, ranking, lastSegment, segmentSource }: Layered,
  { position }: Ordering,
  incoming: Rows,
  vertex: number,
): number {
  const wanted = (ranking.reach[vertex] ?? 0) - 1;
  const edges: number[] = [];
  const end = incoming.starts[vertex + 1] ?? 0;
  for (let i = incoming.starts[vertex] ?? 0; i < end; i++) {
    const edge = incoming.items[i] ?? 0;
    if (ranking.style[edge] !== SHORT) continue;
    if (ranking.reach[graph.source[edge] ?? 0] === wanted) edges.push(edge);
  }
  const place = (edge: number) =>
    position[segmentSource[lastSegment[edge] ?? 0] ?? 0] ?? 0;
  edges.sort((a, b) => place(a) - place(b));
  return edges[(edges.length - 1) >> 1] ?? -1;
}
