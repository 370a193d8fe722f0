// Which module scopes are closed: at the start, by hand, and when a graph is replaced.
import { isFold } from "../graph/fold.js";
import { unwantedValues } from "../graph/gradients.js";
import type { OpNode, Scope, Snapshot } from "../ir/types.js";

/** The scopes around a scope, outermost first, itself last. Broken parents end it. */
export function scopeChain(scopes: readonly Scope[], scope: number | null): number[] {
  const chain: number[] = [];
  const seen = new Set<number>();
  let at = scope;
  while (at !== null && at >= 0 && at < scopes.length && !seen.has(at)) {
    seen.add(at);
    chain.unshift(at);
    at = scopes[at]?.parent ?? null;
  }
  return chain;
}

/** The outermost closed scope around a scope: the box that hides what is inside. */
export function hidingScope(
  scopes: readonly Scope[],
  collapsed: ReadonlySet<number>,
  scope: number | null,
): number | null {
  return scopeChain(scopes, scope).find((id) => collapsed.has(id)) ?? null;
}

export function allScopes(scopes: readonly Scope[]): Set<number> {
  return new Set(scopes.keys());
}

/** Where reading begins: at the most likely cause, the first NaN or Inf, the roots. */
export function startingNodes(snapshot: Snapshot): number[] {
  const [first] = snapshot.findings;
  const cause = first === undefined || first.severity === "info" ? [] : first.nodes;
  const bad = snapshot.nodes.findIndex((node) => {
    const { nans, infs } = unwantedValues(snapshot, node);
    return nans + infs > 0;
  });
  return [...cause, ...(bad < 0 ? [] : [bad]), ...snapshot.roots];
}

// More boxes than this at first sight read as noise; closed scopes keep it below.
const FIRST_BOXES = 40;

/** The scopes that are closed when a snapshot is first shown. */
export function firstCollapsed(snapshot: Snapshot): Set<number> {
  const { nodes, scopes } = snapshot;
  const start = startingNodes(snapshot);
  const isFolded = (scope: number) => isFold(snapshot, scope);
  return initiallyCollapsed(nodes, scopes, FIRST_BOXES, start, isFolded);
}

/** A picture of fewer boxes says nothing: it opens further, up to the second number. */
const FEW = 3;
const MOST = 400;

/** Open scopes for as long as at most `budget` boxes are visible: first those around the
 * nodes to start with, then level by level, siblings together so that like looks like.
 * A model that is one scope of many parts is opened all the same; what is folded stays
 * folded unless reading begins in there.
 *
 * The answer is the set of closed scopes. A graph that fits the budget opens fully. */
export function initiallyCollapsed(
  nodes: readonly OpNode[],
  scopes: readonly Scope[],
  budget: number,
  start: readonly number[] = [],
  isFolded: (scope: number) => boolean = () => false,
): Set<number> {
  if (nodes.length <= budget) return new Set();
  const children = childrenOf(scopes);
  const direct = new Map<number | null, number>();
  for (const node of nodes) direct.set(node.scope, (direct.get(node.scope) ?? 0) + 1);
  const inside = (scope: number | null): number =>
    (direct.get(scope) ?? 0) + (children.get(scope)?.length ?? 0);
  const collapsed = allScopes(scopes);
  let boxes = inside(null);
  const open = (group: readonly number[]): boolean => {
    const closed = group.filter((scope) => collapsed.has(scope));
    const opened = closed.reduce((sum, scope) => sum - 1 + inside(scope), boxes);
    if (opened > (boxes < FEW ? MOST : budget)) return false;
    for (const scope of closed) collapsed.delete(scope);
    boxes = opened;
    return true;
  };
  // `every` stops at the first scope that has to stay closed: what it holds is hidden.
  for (const node of start) {
    scopeChain(scopes, nodes[node]?.scope ?? null).every((scope) => open([scope]));
  }
  let level = [children.get(null) ?? []];
  while (level.length > 0) {
    level = level
      .map((group) => (boxes < FEW ? group : group.filter((scope) => !isFolded(scope))))
      .filter(open)
      .flatMap((group) => grandchildren(children, group));
  }
  return collapsed;
}

/** The next level, by parent. */
function grandchildren(
  children: ReadonlyMap<number | null, readonly number[]>,
  group: readonly number[],
): number[][] {
  return group.flatMap((scope) => {
    const inside = children.get(scope);
    return inside === undefined ? [] : [[...inside]];
  });
}

/** The scopes directly inside each scope; null stands for the graph itself. */
function childrenOf(scopes: readonly Scope[]): Map<number | null, number[]> {
  const children = new Map<number | null, number[]>();
  for (const [id, { parent }] of scopes.entries()) {
    const siblings = children.get(parent);
    if (siblings === undefined) children.set(parent, [id]);
    else siblings.push(id);
  }
  return children;
}

/** Carry closed scopes over to a new snapshot by path. New scopes start open, but for the
 * turns that a loop has made since. */
export function carryCollapsed(
  before: Snapshot,
  collapsed: ReadonlySet<number>,
  after: Snapshot,
): Set<number> {
  const known = new Set(before.scopes.map(({ path }) => path));
  const closed = new Set([...collapsed].map((id) => before.scopes[id]?.path));
  const isNewTurn = (id: number, path: string) => {
    const around = after.scopes[id]?.parent ?? -1;
    return !known.has(path) && (isFold(after, id) || isFold(after, around));
  };
  return new Set(
    after.scopes.flatMap(({ path }, id) =>
      closed.has(path) || isNewTurn(id, path) ? [id] : [],
    ),
  );
}
