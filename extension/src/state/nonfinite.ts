// NaN and Inf as passages: born at a node, propagated by it, or healed there.
import type { OpNode, Snapshot, Statistics } from "../ir/types.js";
import { placeOf } from "./inspect.js";
import { opLabel } from "./ledger.js";
import { rowAt, type Tables } from "./tables.js";

export type Fate = "birth" | "propagated" | "healed";
type Kind = "NaN" | "Inf";

/** NaN or Inf at one node: in its value, or in the gradient that it sends back. */
export interface BadRow {
  readonly id: number;
  readonly node: number;
  readonly op: string;
  readonly where: "value" | "gradient";
  readonly kind: Kind;
  readonly fate: Fate;
  /** How many elements; before healing, where it healed. */
  readonly count: number;
  readonly first: readonly number[] | null;
  readonly cause: string;
  readonly place: string;
}

interface Passage {
  readonly node: number;
  readonly where: BadRow["where"];
  readonly into: readonly Statistics[];
  readonly out: readonly Statistics[];
  /** Who handed in what was bad. */
  readonly source: string;
  /** Why something may be born of clean inputs; "" where unknown. */
  readonly bornOf: string;
}

type Row = Statistics | null;
const isBad = (row: Row) => row !== null && row.nans + row.infs > 0;
const countOf = (row: Statistics, kind: Kind) => (kind === "NaN" ? row.nans : row.infs);
const known = (rows: readonly Row[]) => rows.filter((row): row is Statistics => !!row);

function ofTensor(snapshot: Snapshot, tensor: number): Row {
  const row = rowAt(snapshot.tensors, tensor)?.statistics;
  return rowAt(snapshot.statistics, row);
}

function fromText(names: readonly string[]): string {
  const different = [...new Set(names)];
  if (different.length === 0) return "";
  const more = different.length > 2 ? ` and ${different.length - 2} more` : "";
  return `from ${different.slice(0, 2).join(", ")}${more}`;
}

const isLeaf = ({ kind }: OpNode) => kind === "accumulate" || kind === "leaf";

function forward(tables: Tables, id: number, node: OpNode): Passage {
  const { snapshot } = tables;
  const producers = new Map<number, number>();
  const sources: number[] = [];
  for (const { edge } of tables.incoming.get(id) ?? []) {
    if (edge.kind !== "data") continue;
    sources.push(edge.source);
    if (edge.tensor !== null) producers.set(edge.tensor, edge.source);
  }
  const inputs = node.inputs.length > 0 ? node.inputs : [...producers.keys()];
  const names = inputs
    .filter((tensor) => isBad(ofTensor(snapshot, tensor)))
    .map((tensor) => {
      const producer = producers.get(tensor);
      if (producer !== undefined) return opLabel(snapshot, producer);
      return rowAt(snapshot.tensors, tensor)?.name ?? "an input";
    });
  const out = known(node.outputs.map((tensor) => ofTensor(snapshot, tensor)));
  // A view makes no values: its source turned bad after it was last looked at.
  const isLate = node.kind === "view" && names.length === 0;
  return {
    node: id,
    where: "value",
    into: isLate ? out : known(inputs.map((tensor) => ofTensor(snapshot, tensor))),
    out,
    source: fromText(
      isLate ? sources.map((source) => opLabel(snapshot, source)) : names,
    ),
    bornOf: isLeaf(node) ? "it came in as a leaf" : "",
  };
}

function backward(tables: Tables, id: number, node: OpNode): Passage {
  const { snapshot } = tables;
  const gradient = (row: number | null) => rowAt(snapshot.statistics, row);
  const data = (edges: Tables["incoming"]) =>
    (edges.get(id) ?? []).filter(({ edge }) => edge.kind === "data");
  const own = known(node.grad_outputs.map((row) => gradient(row)));
  const consumers = data(tables.outgoing);
  const received =
    own.length > 0 ? own : known(consumers.map(({ edge }) => gradient(edge.gradient)));
  const back = known(data(tables.incoming).map(({ edge }) => gradient(edge.gradient)));
  const names = consumers
    .filter(({ edge }) => isBad(gradient(edge.gradient)))
    .map(({ edge }) => opLabel(snapshot, edge.target));
  const values = [...node.inputs, ...node.outputs];
  return {
    node: id,
    where: "gradient",
    into: received,
    out: isLeaf(node) ? received : back, // what arrives at a leaf stays, in .grad
    source: fromText(names),
    bornOf: values.some((tensor) => isBad(ofTensor(snapshot, tensor)))
      ? "its value was bad before"
      : "",
  };
}

function fateOf({ out }: Passage, before: number, after: number): Fate | null {
  if (after > 0) return before > 0 ? "propagated" : "birth";
  // Nothing there, nothing known, or it turned into the other kind.
  if (before === 0 || out.length === 0 || out.some(isBad)) return null;
  return "healed";
}

function* fates(snapshot: Snapshot, passage: Passage): Generator<BadRow> {
  const { into, out, node } = passage;
  if (!into.some(isBad) && !out.some(isBad)) return;
  for (const kind of ["NaN", "Inf"] as const) {
    const sum = (rows: readonly Statistics[]) =>
      rows.reduce((total, row) => total + countOf(row, kind), 0);
    const [before, after] = [sum(into), sum(out)];
    const fate = fateOf(passage, before, after);
    if (fate === null) continue;
    const other = kind === "NaN" ? "Inf" : "NaN";
    const turned = fate === "birth" && into.some(isBad);
    const bad = (after > 0 ? out : into).find((row) => countOf(row, kind) > 0);
    yield {
      id: 0,
      node,
      op: opLabel(snapshot, node),
      where: passage.where,
      kind,
      fate,
      count: after || before,
      first: bad?.first_bad ?? null,
      cause: turned
        ? [`of ${other}`, passage.source].filter(Boolean).join(", ")
        : before > 0
          ? passage.source
          : passage.bornOf,
      place: placeOf(snapshot, rowAt(snapshot.nodes, node)?.site)?.label ?? "",
    };
  }
}

/** Values in the order of the forward pass, then gradients in that of backward. */
export function badRows(tables: Tables): BadRow[] {
  const { snapshot } = tables;
  const order = snapshot.nodes
    .map((node, id) => ({ node, id }))
    .sort((a, b) => (a.node.sequence ?? -1) - (b.node.sequence ?? -1) || a.id - b.id);
  const found: BadRow[] = [];
  for (const { node, id } of order) {
    found.push(...fates(snapshot, forward(tables, id, node)));
  }
  for (const { node, id } of order.reverse()) {
    found.push(...fates(snapshot, backward(tables, id, node)));
  }
  return found.map((row, id) => ({ ...row, id }));
}

export function countFates(rows: readonly BadRow[]): Record<Fate, number> {
  const counts = { birth: 0, propagated: 0, healed: 0 };
  for (const { fate } of rows) counts[fate] += 1;
  return counts;
}

/** The rows of one fate in which every word occurs. */
export function filterBad(
  rows: readonly BadRow[],
  fate: Fate | "all",
  text: string,
): BadRow[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  return rows.filter((row) => {
    if (fate !== "all" && row.fate !== fate) return false;
    const { op, where, kind, cause, place } = row;
    const hay = `${op} ${where} ${kind} ${row.fate} ${cause} ${place}`.toLowerCase();
    return words.every((word) => hay.includes(word));
  });
}
