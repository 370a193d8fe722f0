// In what two corresponding nodes differ, in words.
import type { Statistics } from "../ir/types.js";
import { formatCount, formatNumber, formatTuple } from "./format.js";
import { rowAt, type Tables } from "./tables.js";

/** Gradient norms that differ by less than this factor are no change of their own. */
const FACTOR = 10;

/** In what two nodes of one snapshot differ, apart from their gradients. */
export function* changesOf(tables: Tables, old: number, now: number) {
  const { snapshot } = tables;
  const [a, b] = [rowAt(snapshot.nodes, old), rowAt(snapshot.nodes, now)];
  if (a === null || b === null || a === b) return;
  for (const [output, row] of a.outputs.entries()) {
    const one = rowAt(snapshot.tensors, row);
    const two = rowAt(snapshot.tensors, b.outputs[output]);
    if (one === null || two === null) continue;
    const of = output > 0 ? ` of output ${output}` : "";
    const [from, to] = [formatTuple(one.shape), formatTuple(two.shape)];
    if (from !== to) yield `shape${of} ${from} → ${to}`;
    if (one.dtype !== two.dtype) yield `dtype${of} ${one.dtype} → ${two.dtype}`;
    if (one.device !== two.device) yield `device${of} ${one.device} → ${two.device}`;
  }
  const gone = a.arguments.filter((text) => !b.arguments.includes(text));
  const come = b.arguments.filter((text) => !a.arguments.includes(text));
  // Sizes of a view repeat its shape; they are told once.
  const isResized = a.kind === "view" && gone.length === come.length;
  if (gone.length + come.length > 0 && !isResized) {
    yield `arguments ${gone.join(", ") || "none"} → ${come.join(", ") || "none"}`;
  }
  yield* sets("hooks", a.hooks, b.hooks);
  const slots = (id: number) => (tables.savedBy.get(id) ?? []).map(({ slot }) => slot);
  yield* sets("saved tensors", slots(old), slots(now));
  const modified = b.flags.includes("modified");
  if (a.flags.includes("modified") !== modified) {
    yield `saved tensor overwritten${modified ? "" : " no more"}`;
  }
}

function* sets(word: string, old: readonly string[], now: readonly string[]) {
  const gone = [...new Set(old)].filter((name) => !now.includes(name)).sort();
  const come = [...new Set(now)].filter((name) => !old.includes(name)).sort();
  if (gone.length > 0) yield `${word} without ${gone.join(", ")}`;
  if (come.length > 0) yield `${word} with ${come.join(", ")}`;
}

/** How a gradient changed, where it did so by more than a factor. */
export function* gradientChanges(before: Statistics | null, after: Statistics | null) {
  if (before === null && after === null) return;
  if (before === null) yield "gradient where none was";
  else if (after === null) yield "no gradient any more";
  else {
    for (const [word, one, two] of [
      ["NaN", before.nans, after.nans],
      ["Inf", before.infs, after.infs],
    ] as const) {
      if (one > 0 === two > 0) continue;
      yield two > 0
        ? `gradient with ${formatCount(two)} ${word}`
        : `gradient without ${word}`;
    }
    const ratio = ratioOf(before, after);
    if (ratio !== null && distance(ratio) >= Math.log(FACTOR)) {
      yield `gradient norm ${formatNumber(before.norm)} → ${formatNumber(after.norm)}`;
    }
  }
}

/** How many times as large the gradient's norm has become. */
export function ratioOf(
  before: Statistics | null,
  after: Statistics | null,
): number | null {
  const [old, now] = [before?.norm ?? null, after?.norm ?? null];
  if (old === null || now === null) return null;
  if (old === 0) return now === 0 ? 1 : Infinity;
  return now / old;
}

/** How far a ratio is from 1, whichever way. */
export function distance(ratio: number): number {
  return ratio > 0 ? Math.abs(Math.log(ratio)) : Infinity;
}
