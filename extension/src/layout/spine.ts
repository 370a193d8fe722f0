// The main path of a level: drawn straight, and everything else hangs beside it.
import type { Rows } from "../graph/build.js";
import { type LocalGraph, UPWARD } from "./local.js";

/** A path from a port counts for more than any path from a leaf inside the level. */
const PORT_LEAD = 1e9;

/** Mark the edges of one longest path; data that enters the level goes before leaves. */
export function findSpine(
  graph: LocalGraph,
  rows: { readonly outgoing: Rows; readonly incoming: Rows },
  style: Uint8Array,
  order: Int32Array,
): Uint8Array {
  const reach = Float64Array.from(graph.pin, (pin) => (pin === -1 ? PORT_LEAD : 0));
  const { incoming } = rows;
  const best = new Int32Array(graph.count).fill(-1);
  let last = -1;
  for (const vertex of order) {
    const end = incoming.starts[vertex + 1] ?? 0;
    for (let i = incoming.starts[vertex] ?? 0; i < end; i++) {
      const edge = incoming.items[i] ?? 0;
      if (style[edge] === UPWARD) continue;
      const through = (reach[graph.source[edge] ?? 0] ?? 0) + 1;
      if (through <= (reach[vertex] ?? 0)) continue;
      reach[vertex] = through;
      best[vertex] = edge;
    }
    if (last < 0 || (reach[vertex] ?? 0) > (reach[last] ?? 0)) last = vertex;
  }
  const spine = new Uint8Array(graph.source.length);
  for (let edge = last < 0 ? -1 : (best[last] ?? -1); edge >= 0; ) {
    spine[edge] = 1;
    edge = best[graph.source[edge] ?? 0] ?? -1;
  }
  return spine;
}
