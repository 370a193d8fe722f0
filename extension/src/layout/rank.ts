// Stage 1: gives every vertex a rank so that edges go down, in linear time.
import { groupBy, type Rows } from "../graph/build.js";
import { type LocalGraph, OVERLAY, type Ranking, SHORT, UPWARD } from "./local.js";
import { longestReach } from "./spine.js";

/** Longest path from the top, then vertices sink towards their consumers where that
 * shortens edges: leaves, subtrees of leaves only, and vertices with more ways out than
 * in. Edges that close a cycle among boxes are left out and marked. */
export function rankVertices(graph: LocalGraph, maxSpan: number): Ranking {
  const outgoing = groupBy(graph.source, graph.count);
  const style = new Uint8Array(graph.source.length);
  let order = topological(graph, outgoing, style);
  if (order.length < graph.count) {
    markCycles(graph, outgoing, style);
    order = topological(graph, outgoing, style);
  }
  const incoming = groupBy(graph.target, graph.count);
  const rank = longestPath(graph, outgoing, style, order);
  const rows = { outgoing, incoming };
  sink(graph, rows, style, order, rank);
  const count = rank.reduce((most, each) => Math.max(most, each + 1), 0);
  for (let edge = 0; edge < style.length; edge++) {
    const span =
      (rank[graph.target[edge] ?? 0] ?? 0) - (rank[graph.source[edge] ?? 0] ?? 0);
    if (style[edge] === SHORT && span > maxSpan) style[edge] = OVERLAY;
  }
  return { rank, count, style, reach: longestReach(graph, outgoing, style, order) };
}

function topological(graph: LocalGraph, outgoing: Rows, style: Uint8Array): Int32Array {
  const waiting = new Int32Array(graph.count);
  for (let edge = 0; edge < style.length; edge++) {
    const target = graph.target[edge] ?? 0;
    if (style[edge] !== UPWARD) waiting[target] = (waiting[target] ?? 0) + 1;
  }
  const order = new Int32Array(graph.count);
  let tail = 0;
  for (let vertex = 0; vertex < graph.count; vertex++) {
    if (waiting[vertex] === 0) order[tail++] = vertex;
  }
  for (let head = 0; head < tail; head++) {
    const vertex = order[head] ?? 0;
    const end = outgoing.starts[vertex + 1] ?? 0;
    for (let i = outgoing.starts[vertex] ?? 0; i < end; i++) {
      const edge = outgoing.items[i] ?? 0;
      if (style[edge] === UPWARD) continue;
      const target = graph.target[edge] ?? 0;
      const left = (waiting[target] ?? 0) - 1;
      waiting[target] = left;
      if (left === 0) order[tail++] = target;
    }
  }
  return order.subarray(0, tail);
}

/** Depth-first search from every vertex; edges back onto the path close cycles. */
function markCycles(graph: LocalGraph, outgoing: Rows, style: Uint8Array): void {
  const NEW = 0;
  const ON_PATH = 1;
  const DONE = 2;
  const state = new Uint8Array(graph.count);
  const next = outgoing.starts.slice(0, graph.count);
  const path: number[] = [];
  for (let start = 0; start < graph.count; start++) {
    if (state[start] !== NEW) continue;
    state[start] = ON_PATH;
    path.push(start);
    while (path.length > 0) {
      const vertex = path[path.length - 1] ?? 0;
      const i = next[vertex] ?? 0;
      if (i === outgoing.starts[vertex + 1]) {
        state[vertex] = DONE;
        path.pop();
        continue;
      }
      next[vertex] = i + 1;
      const edge = outgoing.items[i] ?? 0;
      const target = graph.target[edge] ?? 0;
      if (state[target] === ON_PATH) style[edge] = UPWARD;
      else if (state[target] === NEW) {
        state[target] = ON_PATH;
        path.push(target);
      }
    }
  }
}

function longestPath(
  graph: LocalGraph,
  outgoing: Rows,
  style: Uint8Array,
  order: Int32Array,
): Int32Array {
  const hasTopPorts = graph.pin.includes(-1);
  const rank = new Int32Array(graph.count);
  for (let vertex = 0; vertex < graph.count; vertex++) {
    rank[vertex] = hasTopPorts && graph.pin[vertex] !== -1 ? 1 : 0;
  }
  for (const vertex of order) {
    const below = (rank[vertex] ?? 0) + 1;
    const end = outgoing.starts[vertex + 1] ?? 0;
    for (let i = outgoing.starts[vertex] ?? 0; i < end; i++) {
      const edge = outgoing.items[i] ?? 0;
      const target = graph.target[edge] ?? 0;
      if (style[edge] !== UPWARD && (rank[target] ?? 0) < below) rank[target] = below;
    }
  }
  let last = 0;
  for (let vertex = 0; vertex < graph.count; vertex++) {
    if (graph.pin[vertex] !== 1) last = Math.max(last, rank[vertex] ?? 0);
  }
  for (let vertex = 0; vertex < graph.count; vertex++) {
    if (graph.pin[vertex] === 1) rank[vertex] = last + 1;
  }
  return rank;
}

function sink(
  graph: LocalGraph,
  rows: { readonly outgoing: Rows; readonly incoming: Rows },
  style: Uint8Array,
  order: Int32Array,
  rank: Int32Array,
): void {
  const floating = findFloating(graph, rows, style, order, rank);
  for (let index = order.length - 1; index >= 0; index--) {
    const vertex = order[index] ?? 0;
    if (graph.pin[vertex] !== 0) continue;
    const start = rows.outgoing.starts[vertex] ?? 0;
    const end = rows.outgoing.starts[vertex + 1] ?? 0;
    const entering =
      (rows.incoming.starts[vertex + 1] ?? 0) - (rows.incoming.starts[vertex] ?? 0);
    if (floating[vertex] === 0 && end - start <= entering) continue;
    let highest = Number.POSITIVE_INFINITY;
    for (let i = start; i < end; i++) {
      const edge = rows.outgoing.items[i] ?? 0;
      if (style[edge] === UPWARD) continue;
      highest = Math.min(highest, rank[graph.target[edge] ?? 0] ?? 0);
    }
    if (highest < Number.POSITIVE_INFINITY) rank[vertex] = highest - 1;
  }
}

/** Leaves, and vertices fed by floating ones only; never those on a longest path. */
function findFloating(
  graph: LocalGraph,
  rows: { readonly outgoing: Rows; readonly incoming: Rows },
  style: Uint8Array,
  order: Int32Array,
  rank: Int32Array,
): Uint8Array {
  const latest = latestRanks(graph, rows.outgoing, style, order, rank);
  const floating = new Uint8Array(graph.count);
  for (const vertex of order) {
    if (graph.pin[vertex] !== 0) continue;
    const start = rows.incoming.starts[vertex] ?? 0;
    const end = rows.incoming.starts[vertex + 1] ?? 0;
    if (start < end && latest[vertex] === rank[vertex]) continue;
    let free = 1;
    for (let i = start; i < end && free === 1; i++) {
      free = floating[graph.source[rows.incoming.items[i] ?? 0] ?? 0] ?? 0;
    }
    floating[vertex] = free;
  }
  return floating;
}

/** The rank each vertex could sink to without moving the last rank. */
function latestRanks(
  graph: LocalGraph,
  outgoing: Rows,
  style: Uint8Array,
  order: Int32Array,
  rank: Int32Array,
): Int32Array {
  const last = rank.reduce((most, each) => Math.max(most, each), 0);
  const latest = new Int32Array(graph.count).fill(last);
  for (let index = order.length - 1; index >= 0; index--) {
    const vertex = order[index] ?? 0;
    let lowest = last + 1;
    const end = outgoing.starts[vertex + 1] ?? 0;
    for (let i = outgoing.starts[vertex] ?? 0; i < end; i++) {
      const edge = outgoing.items[i] ?? 0;
      if (style[edge] === UPWARD) continue;
      lowest = Math.min(lowest, latest[graph.target[edge] ?? 0] ?? 0);
    }
    latest[vertex] = lowest - 1;
  }
  return latest;
}
