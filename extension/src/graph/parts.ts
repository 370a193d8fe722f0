// The parts of each scope in the order in which the forward pass made them, as words that
// are equal where the parts are.
import type { OpNode, Snapshot } from "../ir/types.js";
import { groupBy, rowOf } from "./build.js";
import type { Shown } from "./shown.js";

/** The parts of one scope in order; an item is a node, or -1 - a scope. */
export interface Items {
  readonly items: Int32Array;
  /** Equal for parts of one structure. */
  readonly words: Int32Array;
  /** Equal for calls of one module; -1 for nodes. */
  readonly names: Int32Array;
  /** Nodes in each part, leaves included. */
  readonly sizes: Int32Array;
  /** Leaves in each part. */
  readonly leaves: Int32Array;
}

export interface Parts {
  /** Per node: when it was made; leaves come just before what first uses them. */
  readonly order: Float64Array;
  /** How many nodes lie in a scope, at all depths. */
  sizeOf(scope: number): number;
  /** The parts of a scope (-1: the graph) that take part in folding. */
  inside(scope: number): Items;
  /** Whether a backward pass began at it, or in it: what is made later is another pass. */
  endsPass(item: number): boolean;
  /** The turn of a loop that made a node, where others of its turns are one row. */
  turnOf(item: number): number | null;
  /** "cell" of "cell#17", the class of "layers.3"; for a node its call. */
  nameOf(item: number): string;
}

export function isLeaf({ kind }: OpNode): boolean {
  return kind === "accumulate" || kind === "leaf";
}

export function baseName(name: string): string {
  return name.replace(/#\d+$/, "");
}

/** Of a snapshot, or of those of its nodes that are drawn. */
export function partsOf(snapshot: Snapshot, shown: Shown | null = null): Parts {
  const { nodes, scopes } = snapshot;
  const order = orderOf(snapshot);
  const parent = Int32Array.from(scopes, (scope) => (scope.parent ?? -1) + 1);
  const ownScope = Int32Array.from(nodes, (node) => (node.scope ?? -1) + 1);
  const children = groupBy(parent, scopes.length + 1);
  const direct = groupBy(ownScope, scopes.length + 1);
  const numbers = new Numbers();
  const facts = factsOf(snapshot, order, numbers, shown);
  const roots = rootItems(snapshot);
  const isPart = nodes.some(({ count }) => count > 1); // of a graph too large to draw
  const wordOf = (item: number): number => {
    if (item < 0) return facts.word[-1 - item] ?? 0;
    const node = nodes[item];
    return numbers.of(`node ${node?.name} ${node?.site} ${node?.count}`);
  };
  return {
    order,
    sizeOf: (scope) => facts.size[scope] ?? nodes.length,
    inside(scope) {
      const own = rowOf(direct, scope + 1).filter((id) => {
        const node = nodes[id];
        if (node === undefined || shown?.[id] === 0) return false;
        return !isLeaf(node) && node.kind !== "cut";
      });
      const inner = rowOf(children, scope + 1).filter((id) => facts.size[id] !== 0);
      const items = Int32Array.from([...own, ...inner.map((id) => -1 - id)]);
      const when = (item: number) =>
        (item < 0 ? facts.first[-1 - item] : order[item]) ?? 0;
      items.sort((a, b) => when(a) - when(b));
      return {
        items,
        words: items.map(wordOf),
        names: items.map((item) =>
          item < 0 ? numbers.of(`name ${this.nameOf(item)}`) : -1,
        ),
        sizes: items.map((item) => (item < 0 ? (facts.size[-1 - item] ?? 0) : 1)),
        leaves: items.map((item) => (item < 0 ? (facts.leaves[-1 - item] ?? 0) : 0)),
      };
    },
    endsPass: (item) => roots.has(item),
    turnOf: (item) => (isPart ? (nodes[item]?.iteration ?? null) : null),
    nameOf(item) {
      if (item < 0) {
        const { name = "", kind = "" } = scopes[-1 - item] ?? {};
        const own = baseName(name);
        return /(^|\.)\d+$/.test(own) ? kind || own : own || kind;
      }
      return nodes[item]?.call || nodes[item]?.name || "";
    },
  };
}

/** Where backward passes began, and every scope that holds such a node. */
function rootItems({ nodes, scopes, roots, events }: Snapshot): Set<number> {
  const items = new Set<number>();
  const began = events.filter(({ kind }) => kind === "backward_begin");
  for (const root of [...roots, ...began.map(({ node }) => node ?? -1)]) {
    items.add(root);
    let at = nodes[root]?.scope ?? -1;
    while (at >= 0 && !items.has(-1 - at)) {
      items.add(-1 - at);
      at = scopes[at]?.parent ?? -1;
    }
  }
  return items;
}

/** Numbers for texts: equal for equal ones. */
class Numbers {
  private readonly known = new Map<string, number>();

  of(text: string): number {
    const known = this.known.get(text);
    if (known !== undefined) return known;
    this.known.set(text, this.known.size);
    return this.known.size - 1;
  }
}

interface Facts {
  /** Per scope, all depths: nodes, leaves, when the earliest node was made. */
  readonly size: Int32Array;
  readonly leaves: Int32Array;
  readonly first: Float64Array;
  readonly word: Int32Array;
}

function factsOf(
  snapshot: Snapshot,
  order: Float64Array,
  numbers: Numbers,
  shown: Shown | null,
): Facts {
  const { nodes, scopes } = snapshot;
  const size = new Int32Array(scopes.length);
  const leaves = new Int32Array(scopes.length);
  const first = new Float64Array(scopes.length).fill(Number.POSITIVE_INFINITY);
  const word = new Int32Array(scopes.length);
  const texts: number[][] = scopes.map(() => []);
  nodes.forEach((node, id) => {
    if (node.scope === null || shown?.[id] === 0) return;
    const own = node.scope;
    size[own] = (size[own] ?? 0) + 1;
    if (isLeaf(node)) leaves[own] = (leaves[own] ?? 0) + 1;
    else first[own] = Math.min(first[own] ?? 0, order[id] ?? 0);
    texts[own]?.push(numbers.of(node.name));
  });
  for (const scope of innerFirst(scopes)) {
    const own = (texts[scope] ?? []).sort((a, b) => a - b).join(" ");
    const { kind = "", name = "" } = scopes[scope] ?? {};
    const isCall = leaves[scope] === 0; // of a module whose parameters are elsewhere
    const text = isCall ? `call ${baseName(name)} ${kind}` : `block ${kind} ${own}`;
    word[scope] = numbers.of(text);
    const around = scopes[scope]?.parent ?? -1;
    if (around < 0) continue;
    size[around] = (size[around] ?? 0) + (size[scope] ?? 0);
    leaves[around] = (leaves[around] ?? 0) + (leaves[scope] ?? 0);
    texts[around]?.push(word[scope] ?? 0);
    first[around] = Math.min(first[around] ?? 0, first[scope] ?? 0);
  }
  return { size, leaves, first, word };
}

/** Scopes in an order in which each comes before the one around it. */
function innerFirst(scopes: Snapshot["scopes"]): number[] {
  const depth = new Int32Array(scopes.length).fill(-1);
  const depthOf = (scope: number): number => {
    const path: number[] = [];
    let at = scope;
    while (at >= 0 && depth[at] === -1 && path.length <= scopes.length) {
      path.push(at);
      at = scopes[at]?.parent ?? -1;
    }
    let below = at < 0 ? 0 : (depth[at] ?? 0) + 1;
    for (const each of path.reverse()) depth[each] = below++;
    return depth[scope] ?? 0;
  };
  return scopes.map((_, id) => id).sort((a, b) => depthOf(b) - depthOf(a));
}

/** When each node was made: by its sequence number, else by the direction of the edges. */
function orderOf({ nodes, edges }: Snapshot): Float64Array {
  const isNumbered = nodes.some(({ sequence }) => sequence !== null);
  const order = isNumbered
    ? Float64Array.from(nodes, ({ sequence }) => sequence ?? Number.NaN)
    : Float64Array.from(nodes, () => Number.NaN);
  if (!isNumbered) topological(nodes.length, edges, order);
  for (const { source, target } of edges) {
    const node = nodes[source];
    const isPlaced = node !== undefined && !isLeaf(node) && node.sequence !== null;
    if (isPlaced || (!isNumbered && node !== undefined && !isLeaf(node))) continue;
    const wanted = (order[target] ?? Number.NaN) - 0.5;
    const own = order[source] ?? Number.NaN;
    if (Number.isNaN(own) || wanted < own) order[source] = wanted;
  }
  return order.map((when) => (Number.isNaN(when) ? -1 : when));
}

function topological(count: number, edges: Snapshot["edges"], order: Float64Array) {
  const outgoing = groupBy(
    Int32Array.from(edges, ({ source }) => source),
    count,
  );
  const waiting = new Int32Array(count);
  for (const { target } of edges) waiting[target] = (waiting[target] ?? 0) + 1;
  const ready: number[] = [];
  for (let node = 0; node < count; node++) if (waiting[node] === 0) ready.push(node);
  for (let head = 0; head < ready.length; head++) {
    const node = ready[head] ?? 0;
    order[node] = head;
    for (const edge of rowOf(outgoing, node)) {
      const target = edges[edge]?.target ?? 0;
      waiting[target] = (waiting[target] ?? 0) - 1;
      if (waiting[target] === 0) ready.push(target);
    }
  }
}
