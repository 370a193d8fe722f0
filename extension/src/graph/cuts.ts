// Puts what was cut off the graph beside the place where it was cut: a detach() in a loop
// belongs to its turn, not below the whole loop.
//
//   loop: [t = 0: [op]] [t = 1: [op]] (cut) (cut)  ->  loop: [t = 0: [op] (cut)] [...]
import type { OpNode } from "../ir/types.js";
import type { Folds } from "./fold.js";

/** Of a line that made no node, and that a finding is about. */
const GHOST = "no node";

/** Whether a node stands beside the graph, with its reason: no call cut it off. */
export function isBeside({ kind, flags }: OpNode): boolean {
  return kind === "cut" && flags.length > 0;
}

/** Whether a node is a module that ran beside the graph: frozen, without grad, unused. */
export function isSilentModule(node: OpNode): boolean {
  return isBeside(node) && !node.flags.includes(GHOST);
}

/** Move each cut into the turns and blocks that folding has put around what it cut. */
export function placeCuts(folds: Folds): void {
  const { nodes, edges } = folds.snapshot;
  const moved = new Set<number>();
  for (const { source, target } of edges) {
    if (nodes[target]?.kind !== "cut" || moved.has(target)) continue;
    if (nodes[source]?.kind === "cut") continue;
    moved.add(target);
    const own = folds.nodeScope[target] ?? -1;
    const around = foldsAround(folds, folds.nodeScope[source] ?? -1, own);
    if (around !== null) folds.move(target, around);
  }
}

/** The innermost fold around a scope that stands in `own` with no module between. */
function foldsAround({ scopes, snapshot }: Folds, scope: number, own: number) {
  let found: number | null = null;
  let at = scope;
  for (let depth = 0; at >= 0 && at !== own && depth <= scopes.length; depth++) {
    if (at < snapshot.scopes.length) found = null;
    else found ??= at;
    at = scopes[at]?.parent ?? -1;
  }
  return at === own ? found : null;
}
