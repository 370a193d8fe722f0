// Finds a cycle of data edges, which no autograd graph has, and names it in a sentence.
import { type Graph, rowOf } from "./build.js";

/** The nodes of one cycle of data edges in order, or null. Cut edges may close cycles:
 * `p.data = f(p).detach()` feeds a leaf from its own graph. */
export function findCycle(graph: Graph): readonly number[] | null {
  const waiting = new Int32Array(graph.nodeCount);
  const isData = (edge: number) => graph.snapshot.edges[edge]?.kind !== "cut";
  for (let edge = 0; edge < graph.target.length; edge++) {
    const target = graph.target[edge] ?? 0;
    if (isData(edge)) waiting[target] = (waiting[target] ?? 0) + 1;
  }
  const ready: number[] = [];
  for (let node = 0; node < graph.nodeCount; node++) {
    if (waiting[node] === 0) ready.push(node);
  }
  for (let head = 0; head < ready.length; head++) {
    for (const edge of rowOf(graph.outgoing, ready[head] ?? 0)) {
      if (!isData(edge)) continue;
      const target = graph.target[edge] ?? 0;
      const left = (waiting[target] ?? 0) - 1;
      waiting[target] = left;
      if (left === 0) ready.push(target);
    }
  }
  return ready.length === graph.nodeCount ? null : walkBack(graph, waiting, isData);
}

/** Say which nodes form the cycle, or return null when there is none. */
export function cycleSentence(graph: Graph): string | null {
  const cycle = findCycle(graph);
  if (cycle === null) return null;
  const names = cycle.map((node) => graph.snapshot.nodes[node]?.name ?? "?");
  const shown = names.length > 6 ? [...names.slice(0, 5), "…"] : names;
  return (
    `The snapshot is damaged: its data edges run in a cycle of ${cycle.length} ` +
    `(${[...shown, names[0]].join(" → ")}), so it cannot be a graph of backward().`
  );
}

/** Every node that still waits has a predecessor that waits: walking back must repeat. */
function walkBack(
  graph: Graph,
  waiting: Int32Array,
  isData: (edge: number) => boolean,
): readonly number[] {
  const seenAt = new Map<number, number>();
  const path: number[] = [];
  let node = waiting.findIndex((left) => left > 0);
  while (!seenAt.has(node)) {
    seenAt.set(node, path.push(node) - 1);
    const edge = rowOf(graph.incoming, node).find(
      (entering) => isData(entering) && (waiting[graph.source[entering] ?? 0] ?? 0) > 0,
    );
    node = edge === undefined ? node : (graph.source[edge] ?? 0);
  }
  return path.slice(seenAt.get(node)).reverse();
}
