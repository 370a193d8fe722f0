// Puts each leaf where all of its uses are: a weight that several turns of a loop or
// several calls of a module share stands beside them, not in the first one.
//
//   loop: [t = 0: (w) [op]] [t = 1: [op]]  ->  loop: (w) [t = 0: [op]] [t = 1: [op]]
import { groupBy, rowOf } from "./build.js";
import type { Folds } from "./fold.js";
import { isLeaf } from "./parts.js";

/** More shared leaves than this beside the turns of a loop are one box. */
const MOST_BESIDE_TURNS = 3;
/** More than this anywhere else. */
const MOST_ELSEWHERE = 12;

/** Move the shared leaves out; where there are many, into a box of their own. */
export function placeLeaves(folds: Folds): void {
  const { nodes, edges, scopes: recorded } = folds.snapshot;
  const users = groupBy(
    Int32Array.from(edges, ({ source }) => source),
    nodes.length,
  );
  const shared = new Map<number, number[]>();
  nodes.forEach((node, id) => {
    if (!isLeaf(node)) return;
    const uses = [...rowOf(users, id)].map(
      (edge) => folds.nodeScope[edges[edge]?.target ?? -1] ?? -1,
    );
    const [first, ...others] = uses;
    if (first === undefined || others.every((scope) => scope === first)) return;
    const common = others.reduce((a, b) => commonScope(folds, a, b), first);
    folds.move(id, common);
    shared.set(common, [...(shared.get(common) ?? []), id]);
  });
  for (const [scope, leaves] of shared) {
    const isTurns = scope >= recorded.length;
    if (leaves.length <= (isTurns ? MOST_BESIDE_TURNS : MOST_ELSEWHERE)) continue;
    const box = folds.add("parameters", scope, "parameters");
    for (const leaf of leaves) folds.move(leaf, box);
  }
}

/** The innermost scope around both; -1: the graph. */
function commonScope({ scopes }: Folds, a: number, b: number): number {
  const around = new Set<number>();
  for (let at = a; at >= 0 && !around.has(at); at = scopes[at]?.parent ?? -1) {
    around.add(at);
  }
  let at = b;
  for (let depth = 0; at >= 0 && !around.has(at); depth++) {
    if (depth > scopes.length) return -1; // damaged: the scopes run in a circle
    at = scopes[at]?.parent ?? -1;
  }
  return at;
}
