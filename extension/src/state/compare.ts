// Two passes compared, node by node: what corresponds, and in what it differs.
//
// The same rules as gradviz/analysis/compare.py, so that the view says what the text says.

import { unfolded } from "../graph/fold.js";
import type { Change } from "../graph/mark.js";
import type { OpNode, Snapshot } from "../ir/types.js";
import { align } from "./align.js";
import { changesOf, gradientChanges, ratioOf } from "./compare-changes.js";
import { formatTuple } from "./format.js";
import { placeOf } from "./inspect.js";
import { opLabel } from "./ledger.js";
import type { Pass } from "./passes.js";
import { rowAt, type Tables } from "./tables.js";

export interface CompareRow {
  readonly id: number;
  readonly kind: Change | "same";
  readonly before: number | null;
  readonly after: number | null;
  readonly label: string;
  readonly scope: string;
  readonly place: string;
  readonly changes: readonly string[];
  /** Of the gradient's norm, after over before. */
  readonly ratio: number | null;
}

const isLeaf = (node: OpNode | null) =>
  node?.kind === "accumulate" || node?.kind === "leaf";

/** One of the two graphs, with what comparing looks up again and again. */
class Side {
  readonly leaves: readonly number[];
  readonly ops: readonly number[];
  readonly #tops = new Map<string, readonly [name: string, number: number]>();
  readonly #skipped: string; // the scope that only says which part this is

  constructor(
    readonly tables: Tables,
    readonly pass: Pass,
  ) {
    const { snapshot } = tables;
    const { parts } = snapshot;
    this.#skipped = parts.length > 0 ? `${pass.label}.` : "";
    this.leaves = pass.nodes.filter((id) => isLeaf(rowAt(snapshot.nodes, id)));
    this.ops = pass.nodes.filter((id) => !isLeaf(rowAt(snapshot.nodes, id)));
    const counts = new Map<string, number>();
    for (const id of this.ops) {
      const [top = ""] = this.path(id).split(".");
      if (top === "" || this.#tops.has(top)) continue;
      const [name = ""] = top.split("#");
      this.#tops.set(top, [name, counts.get(name) ?? 0]);
      counts.set(name, (counts.get(name) ?? 0) + 1);
    }
  }

  get snapshot(): Snapshot {
    return this.tables.snapshot;
  }

  node(id: number): OpNode | null {
    return rowAt(this.snapshot.nodes, id);
  }

  /** The path of the node's module, as the program knows it. */
  path(id: number): string {
    const { nodes, scopes } = unfolded(this.snapshot);
    const path = rowAt(scopes, rowAt(nodes, id)?.scope)?.path ?? "";
    if (this.#skipped === "") return path;
    return path.startsWith(this.#skipped) ? path.slice(this.#skipped.length) : "";
  }

  /** Whether all modules are parts of one, whose class then tells nothing. */
  onlyModel(): boolean {
    return new Set([...this.#tops.values()].map(([name]) => name)).size <= 1;
  }

  keys(id: number, named: boolean): string[] {
    const path = this.path(id);
    const [top = "", ...rest] = path.split(".");
    const [name, number] = this.#tops.get(top) ?? [top, 0];
    const model = named ? name : String(top !== "");
    const what = `${opLabel(this.snapshot, id)}|${this.node(id)?.kind === "cut"}`;
    const place = `${model}|${number}.${rest.join(".")}`;
    const site = rowAt(this.snapshot.sites, this.node(id)?.site);
    const line = site?.text.trim().split("\n")[0] ?? "";
    const call = [shapeText(this.snapshot, id), this.node(id)?.arguments, line].join(
      "|",
    );
    // Parts of a list go by numbers, which move when one is put in between.
    const wild = `.${number}.${rest.join(".")}`.replace(/(?<=\.)\d+(?=[.#]|$)/g, "N");
    return [`${place}|${what}|${call}`, `${place}|${what}`, `${model}|${wild}|${what}`];
  }

  /** The producer of each input, by its position. */
  inputs(id: number): Map<number, number> {
    const edges = this.tables.incoming.get(id) ?? [];
    return new Map(edges.map(({ edge }) => [edge.input, edge.source]));
  }
}

function shapeText(snapshot: Snapshot, id: number): string {
  const outputs = rowAt(snapshot.nodes, id)?.outputs ?? [];
  return outputs
    .map((tensor) => formatTuple(rowAt(snapshot.tensors, tensor)?.shape ?? []))
    .join(", ");
}

/** What corresponds: operations by place and order, leaves by name or by who uses them. */
function pairsOf(first: Side, second: Side): Map<number, number> {
  const named = !(first.onlyModel() && second.onlyModel());
  const keys = [first, second].map((side) =>
    side.ops.map((id) => side.keys(id, named)),
  );
  const pairs = new Map<number, number>();
  for (const [a, b] of align(keys[0] ?? [], keys[1] ?? [])) {
    pairs.set(first.ops[a] ?? -1, second.ops[b] ?? -1);
  }
  const users = [...pairs];
  const byName = new Map<string, number>();
  const nameOf = (side: Side, id: number, rank: number) =>
    side.node(id)?.call || `#${rank}`;
  second.leaves.forEach((id, rank) => {
    const name = nameOf(second, id, rank);
    if (!byName.has(name)) byName.set(name, id);
  });
  first.leaves.forEach((id, rank) => {
    const other = byName.get(nameOf(first, id, rank));
    if (other !== undefined) pairs.set(id, other);
  });
  const taken = new Set(pairs.values());
  for (const [old, now] of users) {
    const inputs = second.inputs(now);
    for (const [number, leaf] of first.inputs(old)) {
      const other = inputs.get(number);
      if (other === undefined || pairs.has(leaf) || taken.has(other)) continue;
      if (!isLeaf(first.node(leaf)) || !isLeaf(second.node(other))) continue;
      pairs.set(leaf, other);
      taken.add(other);
    }
  }
  return pairs;
}

type Place = readonly [before: number | null, after: number | null];

/** Both orders as one: between pairs what is removed, then what is added. */
function interleaved(
  first: readonly number[],
  second: readonly number[],
  pairs: ReadonlyMap<number, number>,
): Place[] {
  const partners = new Map([...pairs].map(([old, now]) => [now, old]));
  const ranks = new Map(first.map((id, rank) => [id, rank]));
  const found: Place[] = [];
  let begun = 0; // leaves pair by name: they may stand in another order
  let added: Place[] = [];
  const close = (end: number) => {
    const gone = first.slice(begun, end).filter((id) => !pairs.has(id));
    found.push(...gone.map((id): Place => [id, null]), ...added);
    begun = Math.max(begun, end);
    added = [];
  };
  for (const id of second) {
    const old = partners.get(id);
    if (old === undefined) added.push([null, id]);
    else {
      close(ranks.get(old) ?? 0);
      found.push([old, id]);
    }
  }
  close(first.length);
  return found;
}

/** Inputs that come from another node; not those that are new or gone. */
function* rewired(
  first: Side,
  second: Side,
  [old, now]: readonly [number, number],
  pairs: ReadonlyMap<number, number>,
  partners: ReadonlyMap<number, number>,
) {
  const inputs = second.inputs(now);
  for (const [number, source] of first.inputs(old)) {
    const other = inputs.get(number);
    if (other === undefined || !pairs.has(source)) continue;
    const was = partners.get(other);
    if (was === undefined || was === source) continue;
    const names = [opLabel(first.snapshot, source), opLabel(second.snapshot, other)];
    yield `input ${number} from ${names[0]} → ${names[1]}`;
  }
}

/** A row for every node of either pass, in the order of the forward pass. */
export function comparePasses(tables: Tables, a: Pass, b: Pass): CompareRow[] {
  const { snapshot } = tables;
  const [first, second] = [new Side(tables, a), new Side(tables, b)];
  const pairs = pairsOf(first, second);
  const partners = new Map([...pairs].map(([old, now]) => [now, old]));
  const order = [
    ...interleaved(first.leaves, second.leaves, pairs),
    ...interleaved(first.ops, second.ops, pairs),
  ];
  return order.map(([before, after], id): CompareRow => {
    const node = after ?? before ?? 0;
    const side = after === null ? first : second;
    const facts = {
      id,
      before,
      after,
      label: opLabel(snapshot, node),
      scope: side.path(node),
      place: placeOf(snapshot, rowAt(snapshot.nodes, node)?.site)?.label ?? "",
    };
    if (before === null || after === null) {
      const kind = before === null ? "added" : "removed";
      return { ...facts, kind, changes: [shapeText(snapshot, node)], ratio: null };
    }
    const one = a.gradients.get(before) ?? null;
    const two = b.gradients.get(after) ?? null;
    const changes = [
      ...changesOf(tables, before, after),
      ...rewired(first, second, [before, after], pairs, partners),
      ...gradientChanges(one, two),
    ];
    const kind = changes.length > 0 ? "changed" : "same";
    return { ...facts, kind, changes, ratio: ratioOf(one, two) };
  });
}
