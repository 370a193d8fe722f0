// Modules that one expression of the user's code called, and that call no module: the
// layers of a library. `self.conv1(x)` is one thing there, whatever runs inside.
import type { Snapshot } from "../ir/types.js";
import { isLeaf } from "./parts.js";
import { eachDrawn } from "./shown.js";

export interface Layer {
  /** The drawn node that gives its result. */
  readonly result: number;
  /** The last one that computes, and does not only look at memory otherwise. */
  readonly core: number;
}

const known = new WeakMap<Snapshot, ReadonlyMap<number, Layer>>();

/** The layers, by their scope. */
export function layersOf(snapshot: Snapshot): ReadonlyMap<number, Layer> {
  const found = known.get(snapshot);
  if (found !== undefined) return found;
  const layers = findLayers(snapshot);
  known.set(snapshot, layers);
  return layers;
}

function findLayers(snapshot: Snapshot): Map<number, Layer> {
  const { nodes, scopes } = snapshot;
  const layers = new Map<number, Layer>();
  const others = new Set<number>(); // of several expressions, or around other modules
  eachDrawn(snapshot, (node, id) => {
    if (node.scope === null) return;
    markAround(scopes, node.scope, others);
    if (isLeaf(node)) return;
    const known = layers.get(node.scope);
    const before = nodes[known?.result ?? id];
    const isOne = node.site !== null && before?.site === node.site;
    if (!isOne || node.kind === "cut") others.add(node.scope);
    const core = node.kind === "view" && known !== undefined ? known.core : id;
    layers.set(node.scope, { result: id, core });
  });
  for (const scope of layers.keys()) if (others.has(scope)) layers.delete(scope);
  return layers;
}

function markAround(scopes: Snapshot["scopes"], scope: number, marked: Set<number>) {
  let at = scopes[scope]?.parent ?? null;
  while (at !== null && !marked.has(at)) {
    marked.add(at);
    at = scopes[at]?.parent ?? null;
  }
}
