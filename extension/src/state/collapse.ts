// Which module scopes are closed: at the start, by hand, and when a graph is replaced.
import { layersOf } from "../graph/calls.js";
import { isFold } from "../graph/fold.js";
import { unwantedValues } from "../graph/gradients.js";
import { shownNodes } from "../graph/shown.js";
import type { OpNode, Scope, Snapshot } from "../ir/types.js";
import { groupBy } from "./tables.js";

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
  const shown = shownNodes(snapshot);
  const bad = snapshot.nodes.findIndex((node, id) => {
    if (shown?.[id] === 0) return false;
    const { nans, infs } = unwantedValues(snapshot, node);
    return nans + infs > 0;
  });
  const all = [...cause, ...(bad < 0 ? [] : [bad]), ...snapshot.roots];
  return all.filter((id) => shown?.[id] !== 0);
}

// More boxes than this at first sight read as noise; closed scopes keep it below.
const FIRST_BOXES = 40;

/** The scopes that are closed when a snapshot is first shown. */
export function firstCollapsed(snapshot: Snapshot): Set<number> {
  const { scopes } = snapshot;
  const shown = shownNodes(snapshot);
  const nodes = snapshot.nodes.filter((_, id) => shown?.[id] !== 0);
  const start = startingNodes(snapshot).flatMap((id) => snapshot.nodes[id] ?? []);
  const isFolded = (scope: number) => isFold(snapshot, scope);
  const closed = initiallyCollapsed(nodes, scopes, FIRST_BOXES, start, isFolded);
  if (nodes.length <= FIT) return closed;
  for (const scope of layersOf(snapshot).keys()) closed.add(scope);
  return closed;
}

/** So many boxes fit into a window as they are. Of more, a module that the code calls in
 * one expression is one box. */
const FIT = 12;

/** A picture of fewer boxes says nothing: it opens further, up to the second number; but
 * of what repeats, no more than the budget says more. */
const FEW = 3;
const MOST = 400;

/** Open scopes for as long as at most `budget` boxes are visible: first those around the
 * nodes to start with, then level by level, siblings together, and the calls of one
 * module ("net", "net#2") together, so that like looks like. A model that is one scope of
 * many parts is opened all the same; what is folded stays folded unless reading begins in
 * there. A scope around a single node says no more when it is open.
 *
 * The answer is the set of closed scopes. A graph that fits the budget opens fully. */
export function initiallyCollapsed(
  nodes: readonly OpNode[],
  scopes: readonly Scope[],
  budget: number,
  start: readonly OpNode[] = [],
  isFolded: (scope: number) => boolean = () => false,
): Set<number> {
  if (nodes.length <= budget) return new Set();
  const direct = new Map<number | null, number>();
  for (const node of nodes) direct.set(node.scope, (direct.get(node.scope) ?? 0) + 1);
  const children = childrenOf(scopes, direct);
  const inside = (scope: number | null): number =>
    (direct.get(scope) ?? 0) + (children.get(scope)?.length ?? 0);
  const isSingle = (scope: number) => inside(scope) === 1 && !children.has(scope);
  const collapsed = allScopes(scopes);
  let boxes = inside(null);
  const open = (group: readonly number[]): boolean => {
    const closed = group.filter((scope) => collapsed.has(scope) && !isSingle(scope));
    const opened = closed.reduce((sum, scope) => sum - 1 + inside(scope), boxes);
    const most = boxes < FEW && !group.some(isFolded) ? MOST : budget;
    if (opened > most) return false;
    for (const scope of closed) collapsed.delete(scope);
    boxes = opened;
    return true;
  };
  const isSeen = (scope: number) => !collapsed.has(scopes[scope]?.parent ?? -1);
  const calls = groupBy(scopes.keys(), (scope) => ownPath(scopes, scope));
  const openAlike = (scope: number): boolean => {
    const alike = calls.get(ownPath(scopes, scope)) ?? [];
    return open(alike.filter(isSeen)) || open([scope]);
  };
  // `every` stops at the first scope that has to stay closed: what it holds is hidden.
  for (const node of start) {
    scopeChain(scopes, node.scope).every(openAlike);
  }
  let level = [children.get(null) ?? []];
  while (level.length > 0) {
    level = level
      .map((group) => (boxes < FEW ? group : group.filter((scope) => !isFolded(scope))))
      .filter(open)
      .flatMap((group) => nextLevel(scopes, children, group));
  }
  return collapsed;
}

/** The path without the numbers of the calls: the same for all calls of a module. */
function ownPath(scopes: readonly Scope[], scope: number): string {
  return (scopes[scope]?.path ?? "").replace(/#\d+/g, "");
}

/** The scopes inside those of a group; what calls of one module hold, together. */
function nextLevel(
  scopes: readonly Scope[],
  children: ReadonlyMap<number | null, readonly number[]>,
  group: readonly number[],
): number[][] {
  const calls = groupBy(group, (scope) => ownPath(scopes, scope));
  return [...calls.values()]
    .map((alike) => alike.flatMap((scope) => children.get(scope) ?? []))
    .filter((inside) => inside.length > 0);
}

/** The scopes directly inside each scope that hold nodes, at any depth; null stands for
 * the graph itself. */
function childrenOf(
  scopes: readonly Scope[],
  direct: ReadonlyMap<number | null, number>,
): Map<number | null, number[]> {
  const holds = new Set<number>();
  for (const scope of direct.keys()) {
    for (const around of scopeChain(scopes, scope)) holds.add(around);
  }
  const inOrder = [...scopes.keys()].filter((scope) => holds.has(scope));
  return groupBy(inOrder, (scope) => scopes[scope]?.parent ?? null);
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
