// What NaN and Inf spoilt: from the node of their birth to the loss, and back to weights.
import type { StopSide } from "../graph/mark.js";
import type { Statistics } from "../ir/types.js";
import { formatPlural } from "./format.js";
import { type BadRow, badRows } from "./nonfinite.js";
import type { Tables } from "./tables.js";

/** Nodes that were spoilt alike. */
export interface Spoilt {
  readonly side: StopSide;
  readonly sentence: string;
  readonly nodes: readonly number[];
  readonly isLoss?: boolean;
}

/** The births at some nodes that end in one loss and what they spoilt, in the order of
 * the passes; null where nothing was born there. */
export function spreadOf(tables: Tables, nodes: readonly number[]): Spoilt[] | null {
  if (!tables.snapshot.statistics.some(isBad)) return null;
  const rows = badRows(tables);
  const births = rows.filter(
    ({ fate, node }) => fate === "birth" && nodes.includes(node),
  );
  const bad = (side: StopSide) =>
    new Set(
      rows.flatMap((row) =>
        row.where === side && row.fate !== "healed" ? row.node : [],
      ),
    );
  const { incoming, outgoing } = tables;
  const after = (id: number) => (outgoing.get(id) ?? []).map(({ edge }) => edge.target);
  const before = (id: number) =>
    (incoming.get(id) ?? []).map(({ edge }) => edge.source);
  const spoilt = bad("value");
  const isLoss = (id: number) => after(id).length === 0;
  const endsOf = (row: BadRow) =>
    row.where === "value" ? reached([row.node], spoilt, after).filter(isLoss) : [];
  // What healed on the way is not what hurts: then it is the gradient of the first step.
  const birth = births.find((row) => endsOf(row).length > 0) ?? births.at(-1);
  if (birth === undefined) return null;
  const { kind, where } = birth;
  const isValue = where === "value";
  const ends = endsOf(birth);
  const step = new Set(reached(ends, null, before));
  const same = births.filter((row) => row.where === where && step.has(row.node));
  const begun = isValue ? same.map(({ node }) => node) : [];
  const starts = begun.length > 0 ? begun : [birth.node];
  const values = isValue ? reached(starts, spoilt, after) : [];
  const losses = values.filter(isLoss);
  const back = reached([...losses, ...starts], bad("gradient"), before);
  const isWeight = (id: number) => tables.snapshot.nodes[id]?.kind === "accumulate";
  const between = values.filter((id) => !starts.includes(id) && !isLoss(id));
  const passed = back.filter((id) => !starts.includes(id) && !losses.includes(id));
  const ways = passed.filter((id) => !isWeight(id));
  const weights = passed.filter(isWeight);
  const told: Spoilt[] = [
    { side: where, sentence: "", nodes: starts },
    {
      side: "value",
      sentence: `${kind} spreads to ${formatPlural(between.length, "value")}`,
      nodes: between,
    },
    {
      side: "value",
      sentence: `${kind} reaches the loss`,
      nodes: losses,
      isLoss: true,
    },
    {
      side: "gradient",
      sentence: `${kind} goes back in ${formatPlural(ways.length, "gradient")}`,
      nodes: ways,
    },
    {
      side: "gradient",
      sentence: `${kind} comes to ${formatPlural(weights.length, "parameter")}`,
      nodes: weights,
    },
  ];
  return told.filter((each) => each.nodes.length > 0);
}

const isBad = ({ nans, infs }: Statistics) => nans + infs > 0;

/** The nodes that a walk over bad ones, or over all, comes to. */
function reached(
  from: readonly number[],
  bad: ReadonlySet<number> | null,
  next: (id: number) => readonly number[],
): number[] {
  const found = new Set(from);
  for (const id of found) {
    for (const each of next(id)) if (bad?.has(each) ?? true) found.add(each);
  }
  return [...found];
}
