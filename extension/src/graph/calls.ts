// Modules that one expression of the user's code called, and that call no module: the
// layers of a library. `self.conv1(x)` is one thing there, whatever runs inside.
import type { Snapshot } from "../ir/types.js";
import { isLeaf } from "./parts.js";
import { drawnNodes } from "./shown.js";

const known = new WeakMap<Snapshot, ReadonlyMap<number, number>>();

/** Per scope of one expression: the drawn node that gives its result. */
export function callResults(snapshot: Snapshot): ReadonlyMap<number, number> {
  const found = known.get(snapshot);
  if (found !== undefined) return found;
  const results = findResults(snapshot);
  known.set(snapshot, results);
  return results;
}

function findResults(snapshot: Snapshot): Map<number, number> {
  const { nodes, scopes } = snapshot;
  const results = new Map<number, number>();
  const others = new Set<number>(); // of several expressions, or around other modules
  for (const [node, id] of drawnNodes(snapshot)) {
    if (node.scope === null) continue;
    markAround(scopes, node.scope, others);
    if (isLeaf(node)) continue;
    const before = nodes[results.get(node.scope) ?? id];
    const isOne = node.site !== null && before?.site === node.site;
    if (!isOne || node.kind === "cut") others.add(node.scope);
    results.set(node.scope, id);
  }
  for (const scope of results.keys()) if (others.has(scope)) results.delete(scope);
  return results;
}

function markAround(scopes: Snapshot["scopes"], scope: number, marked: Set<number>) {
  let at = scopes[scope]?.parent ?? null;
  while (at !== null && !marked.has(at)) {
    marked.add(at);
    at = scopes[at]?.parent ?? null;
  }
}
