// Named test graphs, drawn; and random ones from a seed.
import type { LocalGraph } from "./local.js";
import type { LayoutGraph, Sizes } from "./types.js";

/** Edges as text: "a>b b>c". Letters in brackets are inside an open item: "A[b>c] b>d". */
export interface TestGraph {
  readonly names: readonly string[];
  readonly graph: LayoutGraph;
}

/**
 *   a
 *   b
 *   c
 */
export const CHAIN = "a>b b>c";

/**
 *     a
 *    / \
 *   b   c
 *    \ /
 *     d
 */
export const DIAMOND = "a>b a>c b>d c>d";

/** A residual block: the long edge a>e runs beside the chain.
 *
 *   a--.
 *   b  |
 *   c  |
 *   d  |
 *   e--'
 */
export const RESIDUAL = "a>b b>c c>d d>e a>e";

/** Two layers with their parameters.
 *
 *      w  b
 *   x  | /
 *    \ |/
 *      l  v  c
 *       \ | /
 *         m
 */
export const LAYERS = "x>l w>l b>l l>m v>m c>m";

/** Open scopes inside each other; edges go in, across and out.
 *
 *   a -> P[ b -> Q[ c -> d ] -> e ] -> f,  and a -> Q's d
 */
export const NESTED = "P[] P.Q[] a P.b P.Q.c P.Q.d P.e f a>b b>c c>d d>e e>f a>d";

/** Two closed boxes that feed each other: only boxes can do that, nodes cannot. */
export const CYCLE = "a>b b>c c>a a>d";

/** Read the notation above. "P[]" makes an open item, "P.b" puts b into it; a node that
 * is first named in an edge lies outside. */
export function parseGraph(text: string): TestGraph {
  const names: string[] = [];
  const parent: number[] = [];
  const open: number[] = [];
  const source: number[] = [];
  const target: number[] = [];
  const add = (path: string, isOpen: boolean) => {
    const dot = path.lastIndexOf(".");
    const outer = dot < 0 ? "" : path.slice(0, dot);
    const name = path.slice(dot + 1);
    if (names.includes(name)) return;
    parent.push(
      outer === "" ? -1 : names.indexOf(outer.slice(outer.lastIndexOf(".") + 1)),
    );
    names.push(name);
    open.push(isOpen ? 1 : 0);
  };
  for (const word of text.split(" ")) {
    if (word.endsWith("[]")) add(word.slice(0, -2), true);
    else if (!word.includes(">")) add(word, false);
    else {
      const [from = "", to = ""] = word.split(">");
      add(from, false);
      add(to, false);
      source.push(names.indexOf(from));
      target.push(names.indexOf(to));
    }
  }
  return { names, graph: typed(parent, open, source, target) };
}

export function typed(
  parent: readonly number[],
  open: readonly number[],
  source: readonly number[],
  target: readonly number[],
): LayoutGraph {
  return {
    parent: Int32Array.from(parent),
    open: Uint8Array.from(open),
    source: Int32Array.from(source),
    target: Int32Array.from(target),
  };
}

export function uniformSizes(graph: LayoutGraph, width = 80, height = 40): Sizes {
  const items = graph.parent.length;
  return {
    width: new Float32Array(items).fill(width),
    height: new Float32Array(items).fill(height),
  };
}

/** `count` nodes in a row. */
export function chain(count: number): LayoutGraph {
  const rest = Array.from({ length: count - 1 }, (_, i) => i);
  return typed(
    new Array<number>(count).fill(-1),
    new Array<number>(count).fill(0),
    rest,
    rest.map((i) => i + 1),
  );
}

/** A source, `width` nodes side by side, and a sink. */
export function wide(width: number): LayoutGraph {
  const middle = Array.from({ length: width }, (_, i) => i + 1);
  return typed(
    new Array<number>(width + 2).fill(-1),
    new Array<number>(width + 2).fill(0),
    [...middle.map(() => 0), ...middle],
    [...middle, ...middle.map(() => width + 1)],
  );
}

/** Edges from smaller to larger items, and open items in front: never a cycle of nodes,
 * but often one of boxes. Pairs are reduced to the items that exist. */
export function fromPairs(
  scopes: readonly number[],
  nodes: readonly number[],
  pairs: readonly (readonly [number, number])[],
): LayoutGraph {
  const parent = scopes.map((each, i) => (each % (i + 1)) - 1);
  const first = parent.length;
  for (const each of nodes) parent.push((each % (first + 1)) - 1);
  const source: number[] = [];
  const target: number[] = [];
  const seen = new Set<string>();
  for (const [a, b] of pairs) {
    const low = first + (Math.min(a, b) % nodes.length);
    const high = first + (Math.max(a, b) % nodes.length);
    const [from, to] = low < high ? [low, high] : [high, low];
    if (from === to || seen.has(`${from} ${to}`)) continue;
    seen.add(`${from} ${to}`);
    source.push(from);
    target.push(to);
  }
  return typed(
    parent,
    parent.map((_, i) => (i < first ? 1 : 0)),
    source,
    target,
  );
}

/** One level without ports, all its boxes of one size. */
export function localGraph(text: string): LocalGraph {
  const { graph } = parseGraph(text);
  const count = graph.parent.length;
  const edges = graph.source.length;
  return {
    count,
    width: new Float64Array(count).fill(80),
    height: new Float64Array(count).fill(40),
    source: graph.source,
    target: graph.target,
    sourceOffset: new Float64Array(edges),
    targetOffset: new Float64Array(edges),
    bundle: graph.source,
    bundleCount: count,
    pin: new Int8Array(count),
    computed: new Uint8Array(count),
    fixed: new Uint8Array(count),
    previousX: new Float64Array(count).fill(Number.NaN),
  };
}
