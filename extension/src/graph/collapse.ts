// What is visible when some scopes are closed: boxes inside boxes, and merged edges.
import { type Graph, groupBy, type Rows } from "./build.js";

/** The visible part of a graph.
 *
 * An item is a node, a closed scope (one box that stands for all it holds) or an open
 * scope (a box drawn around its children). Items are numbered so that every item comes
 * after the open scope around it. Scopes without nodes do not appear. */
export interface VisibleGraph {
  /** Per item: the node it shows, or -1. */
  readonly node: Int32Array;
  /** Per item: the scope it shows, or -1. */
  readonly scope: Int32Array;
  /** Per item: 1 for an open scope. */
  readonly open: Uint8Array;
  /** Per item: the item of the open scope around it, or -1. */
  readonly parent: Int32Array;
  /** Merged edges between nodes and closed scopes, as items. */
  readonly source: Int32Array;
  readonly target: Int32Array;
  /** Per merged edge: the edges of the snapshot that it stands for. */
  readonly members: Rows;
  /** Per node of the snapshot: the item that shows it; -1: it is not drawn. */
  readonly itemOfNode: Int32Array;
  /** Per scope: the item that shows it or hides it; -1 when it holds no nodes. */
  readonly itemOfScope: Int32Array;
}

/** Hide what is inside the closed scopes and merge the edges that then coincide. */
export function collapse(graph: Graph, collapsed: ReadonlySet<number>): VisibleGraph {
  const items = new ItemList();
  const itemOfScope = placeScopes(graph, collapsed, items);
  const itemOfNode = new Int32Array(graph.nodeCount);
  for (let node = 0; node < graph.nodeCount; node++) {
    if (graph.shown?.[node] === 0) {
      itemOfNode[node] = -1;
      continue;
    }
    const scope = graph.nodeScope[node] ?? -1;
    const around = scope < 0 ? -1 : (itemOfScope[scope] ?? -1);
    const hidden = around >= 0 && items.open[around] === 0;
    itemOfNode[node] = hidden ? around : items.add(node, -1, 0, around);
  }
  return {
    node: Int32Array.from(items.node),
    scope: Int32Array.from(items.scope),
    open: Uint8Array.from(items.open),
    parent: Int32Array.from(items.parent),
    ...mergeEdges(graph, itemOfNode, items.node.length),
    itemOfNode,
    itemOfScope,
  };
}

class ItemList {
  readonly node: number[] = [];
  readonly scope: number[] = [];
  readonly open: number[] = [];
  readonly parent: number[] = [];

  add(node: number, scope: number, open: 0 | 1, parent: number): number {
    this.node.push(node);
    this.scope.push(scope);
    this.open.push(open);
    return this.parent.push(parent) - 1;
  }
}

function placeScopes(
  graph: Graph,
  collapsed: ReadonlySet<number>,
  items: ItemList,
): Int32Array {
  const itemOfScope = new Int32Array(graph.scopeCount).fill(-1);
  for (const scope of graph.scopeOrder) {
    if (graph.scopeSize[scope] === 0) continue;
    const outer = graph.scopeParent[scope] ?? -1;
    const around = outer < 0 ? -1 : (itemOfScope[outer] ?? -1);
    const hidden = around >= 0 && items.open[around] === 0;
    itemOfScope[scope] = hidden
      ? around
      : items.add(-1, scope, collapsed.has(scope) ? 0 : 1, around);
  }
  return itemOfScope;
}

function mergeEdges(graph: Graph, itemOfNode: Int32Array, items: number) {
  const mergedBy = new Map<number, number>();
  const source: number[] = [];
  const target: number[] = [];
  const kept: number[] = [];
  const merged: number[] = [];
  for (let edge = 0; edge < graph.source.length; edge++) {
    const from = itemOfNode[graph.source[edge] ?? 0] ?? -1;
    const to = itemOfNode[graph.target[edge] ?? 0] ?? -1;
    if (from < 0 || to < 0) continue; // of what is not drawn
    if (from === to && !isLoop(graph, edge)) continue; // hidden inside a closed scope
    const key = from * items + to;
    let index = mergedBy.get(key);
    if (index === undefined) {
      index = source.push(from) - 1;
      target.push(to);
      mergedBy.set(key, index);
    }
    kept.push(edge);
    merged.push(index);
  }
  const rows = groupBy(Int32Array.from(merged), source.length);
  return {
    source: Int32Array.from(source),
    target: Int32Array.from(target),
    members: { starts: rows.starts, items: rows.items.map((row) => kept[row] ?? 0) },
  };
}

function isLoop(graph: Graph, edge: number): boolean {
  return graph.source[edge] === graph.target[edge];
}
