// The tree of modules with one number each: what colour shows of the graph, else the norm
// of the gradient that the parameters in it got.

import type { Graph } from "../graph/build.js";
import { groupBy, rowOf } from "../graph/build.js";
import { layersOf } from "../graph/calls.js";
import type { ColorBy } from "../graph/color-by.js";
import { isSilentModule } from "../graph/cuts.js";
import { gradientNorm, incomingGradients } from "../graph/gradients.js";
import { scopeNames } from "../graph/names.js";
import { isLeaf } from "../graph/parts.js";
import type { OpNode, Severity, Snapshot } from "../ir/types.js";
import { NORM_DECADES, shareOf } from "./decades.js";
import {
  formatBytes,
  formatNanoseconds,
  formatNumber,
  formatPercent,
} from "./format.js";

export type Measure = "gradient" | "time" | "memory";

export const MEASURE_WORDS: Readonly<Record<Measure, string>> = {
  gradient: "gradient norm",
  time: "time in backward",
  memory: "memory kept",
};

export interface OutlineRow {
  /** A scope, or a node that stands for a module beside the graph. */
  readonly scope: number | null;
  readonly node: number | null;
  readonly depth: number;
  readonly name: string;
  readonly kind: string;
  /** null: there is nothing in it to open. */
  readonly isOpen: boolean | null;
  /** From 0 to 1; null: nothing is known. */
  readonly share: number | null;
  readonly words: string;
  /** NaN or Inf among what is measured. */
  readonly isBad: boolean;
  /** The worst finding in it, where no row below says it. */
  readonly severity: Severity | null;
  /** How many modules in it get no gradient, where no row below says it. */
  readonly dead: number;
}

export interface Outline {
  readonly rows: readonly OutlineRow[];
  /** Rows beyond the most that are listed. */
  readonly more: number;
}

const MOST_ROWS = 300;

export function measureFor(colorBy: ColorBy): Measure {
  return colorBy === "time" || colorBy === "memory" ? colorBy : "gradient";
}

export interface Wanted {
  readonly measure: Measure;
  /** What came to leaves, by their nodes, where the graph itself does not say. */
  readonly norms: ReadonlyMap<number, number>;
}

/** The whole tree with its numbers, whatever of it is open. */
export interface Modules {
  readonly snapshot: Snapshot;
  readonly measure: Measure;
  readonly numbers: readonly Measured[];
  readonly tree: ReturnType<typeof treeOf>;
  readonly worst: ReturnType<typeof severities>;
  readonly dead: ReadonlyMap<number, number>;
}

export function modulesOf(graph: Graph, { measure, norms }: Wanted): Modules {
  return {
    snapshot: graph.snapshot,
    measure,
    numbers: measured(graph, measure, norms),
    tree: treeOf(graph),
    worst: severities(graph),
    dead: deadIn(graph),
  };
}

/** The open part of the tree, in the order in which the modules ran. */
export function outlineOf(modules: Modules, collapsed: ReadonlySet<number>): Outline {
  const { snapshot, measure, numbers, tree, worst, dead } = modules;
  const layers = layersOf(snapshot);
  const names = scopeNames(snapshot);
  const whole = tree.tops.reduce(
    (sum, scope) => plus(sum, at(numbers, scope).value),
    Number.NaN,
  );
  const rows: OutlineRow[] = [];
  let more = 0;
  const describe = (scope: number) => {
    const { value, tensors, isBad } = at(numbers, scope);
    if (isBad) return { share: 1, words: "NaN or Inf", isBad };
    if (!Number.isNaN(value))
      return { ...describeNumber(measure, value, whole), isBad };
    const isBare = measure === "gradient" && tensors > 0 && !Number.isNaN(whole);
    return { share: null, words: isBare ? "no gradient" : "", isBad };
  };
  const add = (scope: number, depth: number) => {
    const { name = "", kind = "" } = snapshot.scopes[scope] ?? {};
    const inside = layers.has(scope) ? [] : tree.inside(scope);
    const isOpen = inside.length === 0 ? null : !collapsed.has(scope);
    const own = (names.get(scope) ?? name) || kind;
    const severity =
      isOpen === true && !worst.own.has(scope) ? null : worst.all.get(scope);
    if (rows.length >= MOST_ROWS) more += 1;
    else
      rows.push({
        scope,
        node: null,
        depth,
        name: own,
        kind: kind === own ? "" : kind,
        isOpen,
        ...describe(scope),
        severity: severity ?? null,
        dead: isOpen === true ? 0 : (dead.get(scope) ?? 0),
      });
    for (const item of isOpen === true ? inside : []) {
      if (item < 0) addSilent(-1 - item, depth + 1);
      else add(item, depth + 1);
    }
  };
  const addSilent = (node: number, depth: number) => {
    const { call = "", name = "", flags = [] } = snapshot.nodes[node] ?? {};
    const severity = worst.ofNode.get(node) ?? null;
    const words = flags.join(", ");
    rows.push({
      ...{ scope: null, node, depth, name: call, kind: name, isOpen: null },
      ...{ share: null, words, isBad: false, severity, dead: 0 },
    });
  };
  for (const item of tree.tops) {
    if (item < 0) addSilent(-1 - item, 0);
    else add(item, 0);
  }
  return { rows, more };
}

function describeNumber(measure: Measure, value: number, whole: number) {
  if (measure === "gradient")
    return { share: shareOf(NORM_DECADES, value), words: formatNumber(value) };
  const share = whole > 0 ? value / whole : 0;
  const amount = measure === "time" ? formatNanoseconds(value) : formatBytes(value);
  return { share, words: `${amount}, ${formatPercent(value, whole)}` };
}

interface Measured {
  /** The sum over what is drawn in a scope, or the norm; NaN: nothing is known. */
  value: number;
  /** Parameters in it. */
  tensors: number;
  isBad: boolean;
}

const NOTHING: Readonly<Measured> = { value: Number.NaN, tensors: 0, isBad: false };

function at(numbers: readonly Measured[], scope: number): Readonly<Measured> {
  return numbers[scope] ?? NOTHING;
}

/** The sum of two numbers of which NaN is not known. */
function plus(a: number, b: number): number {
  return Number.isNaN(b) ? a : (a || 0) + b;
}

/** The measure of every scope. */
function measured(
  graph: Graph,
  measure: Measure,
  norms: ReadonlyMap<number, number>,
): readonly Measured[] {
  const { snapshot, shown, nodeScope, scopeOrder, scopeParent } = graph;
  const numbers = snapshot.scopes.map((): Measured => ({ ...NOTHING }));
  const bytes = measure === "memory" ? keptFirst(graph) : null;
  const add = (scope: number, { value, tensors, isBad }: Readonly<Measured>) => {
    const own = numbers[scope];
    if (own === undefined) return;
    own.value = plus(own.value, value);
    own.tensors += tensors;
    own.isBad ||= isBad;
  };
  snapshot.nodes.forEach((node, id) => {
    const scope = nodeScope[id] ?? -1;
    if (shown?.[id] === 0 || scope < 0) return;
    if (bytes !== null) add(scope, { ...NOTHING, value: bytes.get(id) ?? Number.NaN });
    else if (measure === "time")
      add(scope, { ...NOTHING, value: node.elapsed_ns ?? Number.NaN });
    else if (isLeaf(node)) add(scope, gradientOf(snapshot, node, norms.get(id)));
  });
  for (let index = scopeOrder.length - 1; index >= 0; index--) {
    const scope = scopeOrder[index] ?? 0;
    add(scopeParent[scope] ?? -1, at(numbers, scope));
  }
  if (measure === "gradient") for (const each of numbers) each.value **= 0.5;
  return numbers;
}

/** What came to a parameter; as a square, so that it can be added. */
function gradientOf(snapshot: Snapshot, node: OpNode, came = Number.NaN): Measured {
  const norm = gradientNorm(snapshot, node) ?? came;
  const isBad = incomingGradients(snapshot, node).some(
    (each) => each.nans + each.infs > 0,
  );
  return { value: norm ** 2, tensors: 1, isBad };
}

/** Per node: the bytes that it is the first to keep for backward. */
function keptFirst({ snapshot, shown }: Graph): Map<number, number> {
  const bytes = new Map<number, number>();
  const seen = new Set<number>();
  for (const { node, tensor } of snapshot.saved) {
    const storage = snapshot.tensors[tensor]?.storage ?? null;
    if (storage === null || seen.has(storage) || shown?.[node] === 0) continue;
    seen.add(storage);
    const size = snapshot.storages[storage]?.nbytes ?? 0;
    bytes.set(node, (bytes.get(node) ?? 0) + size);
  }
  return bytes;
}

/** The modules in each module, and (-1 - a node) those beside the graph, as they ran. */
function treeOf(graph: Graph) {
  const { snapshot, scopeParent, scopeSize, nodeScope, shown } = graph;
  const children = groupBy(
    scopeParent.map((parent) => parent + 1),
    graph.scopeCount + 1,
  );
  const silent = new Map<number, number[]>();
  const first = new Float64Array(graph.scopeCount).fill(Number.POSITIVE_INFINITY);
  snapshot.nodes.forEach((node, id) => {
    if (shown?.[id] === 0) return;
    let scope = nodeScope[id] ?? -1;
    if (isSilentModule(node))
      silent.set(scope, [...(silent.get(scope) ?? []), -1 - id]);
    if (node.sequence === null) return;
    while (scope >= 0 && (first[scope] ?? 0) > node.sequence) {
      first[scope] = node.sequence;
      scope = scopeParent[scope] ?? -1;
    }
  });
  const inside = (scope: number) => {
    const drawn = rowOf(children, scope + 1).filter((each) => scopeSize[each] !== 0);
    const when = (item: number) =>
      item < 0 ? ranAt(graph, -1 - item) : (first[item] ?? 0);
    return [...drawn, ...(silent.get(scope) ?? [])].sort((a, b) => when(a) - when(b));
  };
  return { tops: inside(-1), inside };
}

/** How many modules there are to list, open or not. */
export function countModules({ snapshot, scopeSize, shown }: Graph): number {
  const isBeside = (node: OpNode, id: number) =>
    isSilentModule(node) && shown?.[id] !== 0;
  const beside = snapshot.nodes.filter(isBeside).length;
  return scopeSize.filter((size) => size > 0).length + beside;
}

/** When a module beside the graph ran: after what it took; without that, first of all. */
function ranAt({ snapshot, incoming, source }: Graph, node: number): number {
  const taken = Array.from(rowOf(incoming, node), (edge) => source[edge] ?? -1);
  return Math.max(-1, ...taken.map((id) => snapshot.nodes[id]?.sequence ?? -1)) + 0.5;
}

/** Of each scope: how many modules in it ran and no pass came to them. */
function deadIn({ snapshot, nodeScope, scopeParent, shown }: Graph) {
  const found = new Map<number, number>();
  for (const [id, node] of snapshot.nodes.entries()) {
    const isDead = isSilentModule(node) && node.flags.includes("no gradient");
    if (!isDead || shown?.[id] === 0) continue;
    let scope = nodeScope[id] ?? -1;
    for (let depth = 0; scope >= 0 && depth <= scopeParent.length; depth++) {
      found.set(scope, (found.get(scope) ?? 0) + 1);
      scope = scopeParent[scope] ?? -1;
    }
  }
  return found;
}

const RANK: readonly Severity[] = ["info", "warning", "error"];

/** The worst finding of each scope: of all in it, and of what lies directly in it. */
function severities({ snapshot, nodeScope, scopeParent, shown }: Graph) {
  const all = new Map<number, Severity>();
  const own = new Map<number, Severity>();
  const ofNode = new Map<number, Severity>();
  const raise = (map: Map<number, Severity>, key: number, severity: Severity) => {
    const known = map.get(key);
    const isWorse = known === undefined || RANK.indexOf(severity) > RANK.indexOf(known);
    if (isWorse) map.set(key, severity);
  };
  for (const { nodes, severity } of snapshot.findings) {
    for (const id of nodes) {
      const node = snapshot.nodes[id];
      if (node === undefined || shown?.[id] === 0) continue;
      raise(ofNode, id, severity);
      let scope = nodeScope[id] ?? -1;
      if (scope >= 0 && !isSilentModule(node)) raise(own, scope, severity);
      for (let depth = 0; scope >= 0 && depth <= scopeParent.length; depth++) {
        raise(all, scope, severity);
        scope = scopeParent[scope] ?? -1;
      }
    }
  }
  return { all, own, ofNode };
}
