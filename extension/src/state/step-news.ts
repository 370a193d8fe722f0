// In what the drawn step differs from the one before, and which nodes correspond.
import { unfolded } from "../graph/fold.js";
import type { Mark } from "../graph/mark.js";
import type { Snapshot } from "../ir/types.js";
import { type CompareRow, comparePasses } from "./compare.js";
import { type Step, stepOfNode, stepsOf } from "./steps.js";
import { buildTables } from "./tables.js";

export interface StepNews {
  /** The step before, counted from 1. */
  readonly since: number;
  readonly added: number;
  readonly removed: number;
  readonly changed: number;
  /** Per node of the step that is new or differs. */
  readonly marks: ReadonlyMap<number, Mark>;
}

function rowsOf(snapshot: Snapshot, a: Step, b: Step): CompareRow[] {
  return comparePasses(buildTables(unfolded(snapshot)), a.pass(), b.pass());
}

/** What is new at a step; null where the one before is not here as a whole, was made of
 * other losses, as those of a critic and its generator in turn, or where of one of the two
 * only a part of the gradients was seen. */
export function stepNews(
  snapshot: Snapshot,
  steps: readonly Step[],
  at: number,
): StepNews | null {
  const [before, now] = [steps[at - 1], steps[at]];
  if (!before?.isWhole || now === undefined) return null;
  if (before.losses !== now.losses || before.isHeard !== now.isHeard) return null;
  const rows = rowsOf(snapshot, before, now);
  const count = (kind: CompareRow["kind"]) =>
    rows.filter((row) => row.kind === kind).length;
  const marks = new Map<number, Mark>();
  for (const { kind, after } of rows) {
    if (after !== null && kind !== "same") marks.set(after, kind);
  }
  return {
    since: before.number,
    added: count("added"),
    removed: count("removed"),
    changed: count("changed"),
    marks,
  };
}

/** "2 new, 1 gone, 3 changed", or "like step 1" */
export function newsWords({ since, added, removed, changed }: StepNews): string {
  const parts = [
    added > 0 ? `${added} new` : "",
    removed > 0 ? `${removed} gone` : "",
    changed > 0 ? `${changed} changed` : "",
  ];
  return parts.filter(Boolean).join(", ") || `like step ${since}`;
}

/** The node of a step that corresponds to one of another step. */
export function partnerOf(
  snapshot: Snapshot,
  node: number,
  step: number,
): number | null {
  const steps = stepsOf(unfolded(snapshot));
  const [from, to] = [steps[stepOfNode(steps, node)], steps[step]];
  if (from === undefined || to === undefined) return null;
  const rows = rowsOf(snapshot, from, to);
  return rows.find(({ before }) => before === node)?.after ?? null;
}
