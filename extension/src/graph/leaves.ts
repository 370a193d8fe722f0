// Puts each leaf where it is used: into the room of its module. A weight that several
// turns of a loop share stands beside them, not in the first one; one that several calls
// or modules share stands in the first of them.
//
//   loop: [t = 0: (w) [op]] [t = 1: [op]]  ->  loop: (w) [t = 0: [op]] [t = 1: [op]]
import type { Snapshot } from "../ir/types.js";
import type { Folds } from "./fold.js";
import { isLeaf } from "./parts.js";
import type { Shown } from "./shown.js";

/** More shared leaves than this beside the turns of a loop are one box. */
const MOST_BESIDE_TURNS = 3;
/** More than this beside steps that are compared. */
const MOST_BESIDE_STEPS = 12;

/** Each drawn leaf with the scopes (-1: the graph) of those that use it, in their order. */
function usedLeaves(
  { nodes, edges }: Snapshot,
  shown: Shown | null,
  scopeOf: (node: number) => number,
): ReadonlyMap<number, readonly number[]> {
  const uses = new Map<number, number[]>();
  for (const { source, target } of edges) {
    const node = nodes[source];
    if (node === undefined || !isLeaf(node)) continue;
    if (shown?.[source] === 0 || shown?.[target] === 0) continue;
    const known = uses.get(source);
    if (known === undefined) uses.set(source, [scopeOf(target)]);
    else known.push(scopeOf(target));
  }
  return uses;
}

/** Where a recording of the drawn nodes alone would have put the leaves: the row of the
 * scope of each one that stands in no module that uses it. */
export function leavesAtHome(
  snapshot: Snapshot,
  shown: Shown,
): ReadonlyMap<number, number> {
  const { nodes } = snapshot;
  const homes = new Map<number, number>();
  const scopeOf = (node: number) => nodes[node]?.scope ?? -1;
  for (const [leaf, uses] of usedLeaves(snapshot, shown, scopeOf)) {
    const [first = -1] = uses;
    if (!uses.includes(scopeOf(leaf))) homes.set(leaf, first);
  }
  return homes;
}

/** Move the leaves to their users; beside turns and steps, many of them into one box. */
export function placeLeaves(folds: Folds): void {
  const { snapshot, shown } = folds;
  const recorded = snapshot.scopes.length;
  const beside = new Map<number, number[]>();
  const scopeOf = (node: number) => folds.nodeScope[node] ?? -1;
  for (const [leaf, uses] of usedLeaves(snapshot, shown, scopeOf)) {
    const [first = -1, ...others] = uses;
    if (others.every((scope) => scope === first)) continue;
    const common = others.reduce((a, b) => commonScope(folds, a, b), first);
    if (common < recorded && !folds.isBeside) {
      if (!uses.includes(scopeOf(leaf))) folds.move(leaf, first);
      continue;
    }
    folds.move(leaf, common);
    beside.set(common, [...(beside.get(common) ?? []), leaf]);
  }
  for (const [scope, leaves] of beside) {
    const most = scope < recorded ? MOST_BESIDE_STEPS : MOST_BESIDE_TURNS;
    if (leaves.length <= most) continue;
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
