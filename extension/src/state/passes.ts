// The passes of a recording: which nodes each backward pass walked, with what gradients.
import type { Event, Snapshot, Statistics } from "../ir/types.js";
import { rowAt, type Tables } from "./tables.js";

/** One graph of a snapshot: what one backward() walked, or would walk. */
export interface Pass {
  readonly label: string;
  /** In the order of the forward pass, leaves first. */
  readonly nodes: readonly number[];
  /** The gradient that reached a node in this pass. */
  readonly gradients: ReadonlyMap<number, Statistics>;
}

export interface Run {
  readonly root: number;
  readonly gradients: Map<number, Statistics>;
}

/** The roots of the backward passes, with the gradients of their nodes. */
export function runsOf(snapshot: Snapshot): Run[] {
  const runs: Run[] = [];
  let run: Run | null = null;
  for (const event of snapshot.events) {
    if (event.kind === "backward_begin") {
      run = event.node === null ? null : { root: event.node, gradients: new Map() };
      if (run !== null) runs.push(run);
    } else if (event.kind === "backward_end") run = null;
    else if (run !== null) arrive(snapshot, run, event);
  }
  return runs;
}

function arrive(snapshot: Snapshot, run: Run, { kind, node, statistics }: Event): void {
  if (kind !== "node_enter" && kind !== "accumulate") return;
  const found = rowAt(snapshot.statistics, statistics);
  if (node !== null && found !== null) run.gradients.set(node, found);
}

/** The gradients that nodes, or else the edges that leave them, remember. */
function received({ snapshot }: Tables): Map<number, Statistics> {
  const found = new Map<number, Statistics>();
  for (const { source, gradient } of snapshot.edges) {
    const row = rowAt(snapshot.statistics, gradient);
    if (row !== null && !found.has(source)) found.set(source, row);
  }
  snapshot.nodes.forEach((node, id) => {
    const row = rowAt(
      snapshot.statistics,
      node.grad_outputs.find((index) => index >= 0),
    );
    if (row !== null) found.set(id, row);
  });
  return found;
}

/** What a backward pass from the roots walks. */
export function throughEdges(
  { incoming }: Tables,
  roots: Iterable<number>,
): Set<number> {
  const found = new Set(roots);
  const waiting = [...found];
  for (let node = waiting.pop(); node !== undefined; node = waiting.pop()) {
    for (const { edge } of incoming.get(node) ?? []) {
      if (found.has(edge.source)) continue;
      found.add(edge.source);
      waiting.push(edge.source);
    }
  }
  return found;
}

function ordered({ nodes }: Snapshot, ids: Iterable<number>): number[] {
  const place = (id: number) => nodes[id]?.sequence ?? -1;
  return [...ids].sort((a, b) => place(a) - place(b) || a - b);
}

/** The passes, oldest first; a graph that never ran is one too. */
export function passesOf(tables: Tables): Pass[] {
  const { snapshot } = tables;
  if (snapshot.parts.length > 0) {
    const gradients = received(tables);
    return snapshot.parts.map(({ label, nodes }) => {
      return { label, nodes: ordered(snapshot, nodes), gradients };
    });
  }
  const runs = runsOf(snapshot);
  const walked = new Set<number>();
  const found = runs.map(({ root, gradients }, at): Pass => {
    const nodes = throughEdges(tables, [root]);
    for (const node of nodes) walked.add(node);
    return { label: `pass ${at + 1}`, nodes: ordered(snapshot, nodes), gradients };
  });
  const left = snapshot.roots.filter((root) => !walked.has(root));
  if (left.length > 0 && found.length > 0) {
    const nodes = ordered(snapshot, throughEdges(tables, left));
    found.push({ label: "not run", nodes, gradients: received(tables) });
  }
  if (found.length > 1) return found;
  const nodes = ordered(snapshot, snapshot.nodes.keys());
  const [only] = found;
  return [
    only === undefined
      ? { label: "the graph", nodes, gradients: received(tables) }
      : { ...only, nodes },
  ];
}
