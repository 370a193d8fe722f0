// What NaN and Inf spoilt: from the node of their birth to the loss, and back to weights.
import type { StopSide } from "../graph/mark.js";
import { formatPlural } from "./format.js";
import { badRows } from "./nonfinite.js";
import type { Tables } from "./tables.js";

/** Nodes that were spoilt alike. */
export interface Spoilt {
  readonly side: StopSide;
  readonly sentence: string;
  readonly nodes: readonly number[];
}

/** The birth at one of these nodes and what it spoilt, in the order of the passes; null
 * where nothing was born there. */
export function spreadOf(tables: Tables, nodes: readonly number[]): Spoilt[] | null {
  const rows = badRows(tables);
  const birth = rows.find(({ fate, node }) => fate === "birth" && nodes.includes(node));
  if (birth === undefined) return null;
  const { kind, where, node } = birth;
  const bad = (side: StopSide) =>
    new Set(
      rows.flatMap((row) =>
        row.where === side && row.fate !== "healed" ? row.node : [],
      ),
    );
  const { roots, nodes: all } = tables.snapshot;
  const { incoming, outgoing } = tables;
  const values =
    where === "value"
      ? reached([node], bad("value"), (id) =>
          (outgoing.get(id) ?? []).map(({ edge }) => edge.target),
        )
      : [];
  const losses = values.filter((id) => roots.includes(id));
  const back = reached(where === "value" ? losses : [node], bad("gradient"), (id) =>
    (incoming.get(id) ?? []).map(({ edge }) => edge.source),
  );
  const isWeight = (id: number) => all[id]?.kind === "accumulate";
  const between = values.filter((id) => id !== node && !roots.includes(id));
  const passed = back.filter((id) => id !== node && !losses.includes(id));
  const ways = passed.filter((id) => !isWeight(id));
  const weights = passed.filter(isWeight);
  const told: Spoilt[] = [
    { side: where, sentence: "", nodes: [node] },
    {
      side: "value",
      sentence: `${kind} spreads to ${formatPlural(between.length, "value")}`,
      nodes: between,
    },
    { side: "value", sentence: `${kind} reaches the loss`, nodes: losses },
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

/** The nodes that a walk over bad ones comes to, nearest first. */
function reached(
  from: readonly number[],
  bad: ReadonlySet<number>,
  next: (id: number) => readonly number[],
): number[] {
  const found = new Set(from);
  for (const id of found) {
    for (const each of next(id)) if (bad.has(each)) found.add(each);
  }
  return [...found];
}
