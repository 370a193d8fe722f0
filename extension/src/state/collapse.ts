// Which module scopes are closed: at the start, by hand, and when a graph is replaced.
import type { OpNode, Scope } from "../ir/types.js";

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

/** Open scopes level by level for as long as at most `budget` boxes are visible.
 *
 * The answer is the set of closed scopes. A graph that fits the budget opens fully. */
export function initiallyCollapsed(
  nodes: readonly OpNode[],
  scopes: readonly Scope[],
  budget: number,
): Set<number> {
  if (nodes.length <= budget) return new Set();
  const children = new Map<number | null, number[]>();
  for (const [id, scope] of scopes.entries()) {
    const siblings = children.get(scope.parent) ?? [];
    siblings.push(id);
    children.set(scope.parent, siblings);
  }
  const direct = new Map<number | null, number>();
  for (const node of nodes) direct.set(node.scope, (direct.get(node.scope) ?? 0) + 1);
  const inside = (scope: number | null): number =>
    (direct.get(scope) ?? 0) + (children.get(scope)?.length ?? 0);

  const collapsed = allScopes(scopes);
  let boxes = inside(null);
  let level = children.get(null) ?? [];
  while (level.length > 0) {
    const next: number[] = [];
    for (const scope of level) {
      const opened = boxes - 1 + inside(scope);
      if (opened > budget) continue;
      collapsed.delete(scope);
      boxes = opened;
      next.push(...(children.get(scope) ?? []));
    }
    level = next;
  }
  return collapsed;
}

/** Carry closed scopes over to a new snapshot by path; new scopes start open. */
export function carryCollapsed(
  before: readonly Scope[],
  collapsed: ReadonlySet<number>,
  after: readonly Scope[],
): Set<number> {
  const paths = new Set([...collapsed].map((id) => before[id]?.path));
  return new Set([...after.keys()].filter((id) => paths.has(after[id]?.path)));
}
