// The snapshot as a graph: adjacency in typed arrays, and the tree of module scopes.
import type { Snapshot } from "../ir/types.js";
import { type Shown, shownNodes } from "./shown.js";

/** Rows of numbers of different lengths: row i is items[starts[i] .. starts[i + 1]]. */
export interface Rows {
  readonly starts: Int32Array;
  readonly items: Int32Array;
}

export interface Graph {
  readonly snapshot: Snapshot;
  readonly nodeCount: number;
  /** The nodes that are drawn; null: all. */
  readonly shown: Shown | null;
  readonly scopeCount: number;
  /** Per edge of the snapshot. */
  readonly source: Int32Array;
  readonly target: Int32Array;
  /** Per node: the edges that leave and that enter it. */
  readonly outgoing: Rows;
  readonly incoming: Rows;
  /** Per node: its scope, or -1. */
  readonly nodeScope: Int32Array;
  /** Per scope: the scope around it, or -1. */
  readonly scopeParent: Int32Array;
  /** Scopes ordered so that each comes after the scope around it. */
  readonly scopeOrder: Int32Array;
  /** Per scope: how many drawn nodes lie in it, at any depth. */
  readonly scopeSize: Int32Array;
}

export function buildGraph(snapshot: Snapshot): Graph {
  const { nodes, edges, scopes } = snapshot;
  const source = Int32Array.from(edges, (edge) => edge.source);
  const target = Int32Array.from(edges, (edge) => edge.target);
  const scopeParent = Int32Array.from(scopes, (scope) => scope.parent ?? -1);
  const nodeScope = Int32Array.from(nodes, (node) => node.scope ?? -1);
  const scopeOrder = parentsFirst(scopeParent);
  const shown = shownNodes(snapshot);
  return {
    snapshot,
    shown,
    nodeCount: nodes.length,
    scopeCount: scopes.length,
    source,
    target,
    outgoing: groupBy(source, nodes.length),
    incoming: groupBy(target, nodes.length),
    nodeScope,
    scopeParent,
    scopeOrder,
    scopeSize: countInside({ nodeScope, scopeParent, scopeOrder, shown }),
  };
}

/** Whether two snapshots differ in numbers alone: their graphs are the same. */
export function hasSameTables(a: Snapshot, b: Snapshot): boolean {
  return a.nodes === b.nodes && a.edges === b.edges && a.scopes === b.scopes;
}

/** The graph of a snapshot; that of an earlier one serves where the tables are the same. */
export function graphOf(snapshot: Snapshot, before: Graph | null): Graph {
  const serves = before !== null && hasSameTables(before.snapshot, snapshot);
  return serves ? { ...before, snapshot } : buildGraph(snapshot);
}

/** Group the indexes of `keys` by their value; row k lists the indexes that hold k. */
export function groupBy(keys: Int32Array, count: number): Rows {
  const starts = new Int32Array(count + 1);
  for (let index = 0; index < keys.length; index++) {
    const row = (keys[index] ?? 0) + 1;
    starts[row] = (starts[row] ?? 0) + 1;
  }
  for (let row = 0; row < count; row++) {
    starts[row + 1] = (starts[row + 1] ?? 0) + (starts[row] ?? 0);
  }
  const next = starts.slice();
  const items = new Int32Array(keys.length);
  for (let index = 0; index < keys.length; index++) {
    const key = keys[index] ?? 0;
    const place = next[key] ?? 0;
    items[place] = index;
    next[key] = place + 1;
  }
  return { starts, items };
}

/** One row, without copying. */
export function rowOf(rows: Rows, row: number): Int32Array {
  return rows.items.subarray(rows.starts[row], rows.starts[row + 1]);
}

function parentsFirst(parent: Int32Array): Int32Array {
  const order: number[] = [];
  const placed = new Uint8Array(parent.length);
  for (let start = 0; start < parent.length; start++) {
    const path: number[] = [];
    let scope = start;
    while (scope >= 0 && placed[scope] === 0) {
      placed[scope] = 1;
      path.push(scope);
      scope = parent[scope] ?? -1;
    }
    order.push(...path.reverse());
  }
  return Int32Array.from(order);
}

function countInside({
  nodeScope,
  scopeParent,
  scopeOrder,
  shown,
}: Pick<Graph, "nodeScope" | "scopeParent" | "scopeOrder" | "shown">): Int32Array {
  const size = new Int32Array(scopeParent.length);
  nodeScope.forEach((scope, node) => {
    if (scope >= 0 && shown?.[node] !== 0) size[scope] = (size[scope] ?? 0) + 1;
  });
  for (let index = scopeOrder.length - 1; index >= 0; index--) {
    const scope = scopeOrder[index] ?? 0;
    const parent = scopeParent[scope] ?? -1;
    if (parent >= 0) size[parent] = (size[parent] ?? 0) + (size[scope] ?? 0);
  }
  return size;
}
