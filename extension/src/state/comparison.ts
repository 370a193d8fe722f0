// The comparison that the view shows: its passes, its rows, and the marks in the graph.
import { unfolded } from "../graph/fold.js";
import type { Mark } from "../graph/mark.js";
import type { Snapshot } from "../ir/types.js";
import type { CompareView } from "./actions-compare.js";
import { type CompareRow, comparePasses } from "./compare.js";
import { type Pass, passesOf } from "./passes.js";
import { buildTables } from "./tables.js";

export interface Comparison {
  readonly passes: readonly Pass[];
  /** Positions among the passes. */
  readonly before: number;
  readonly after: number;
  readonly rows: readonly CompareRow[];
}

/** Whether a snapshot holds several graphs. */
export function isComparable({ parts, events }: Snapshot): boolean {
  if (parts.length > 0) return parts.filter(({ nodes }) => nodes.length > 0).length > 1;
  return events.filter(({ kind }) => kind === "backward_begin").length > 1;
}

/** Nodes correspond by the modules that were recorded, not by what the view folded. */
export function comparisonOf(
  snapshot: Snapshot,
  chosen: Pick<CompareView, "before" | "after">,
): Comparison | null {
  const tables = buildTables(unfolded(snapshot));
  const passes = passesOf(tables);
  const at = (position: number) =>
    Math.max(
      0,
      Math.min(position < 0 ? position + passes.length : position, passes.length - 1),
    );
  const after = at(chosen.after);
  const before =
    chosen.before === null
      ? sameLine(tables.snapshot, passes, after)
      : at(chosen.before);
  const [a, b] = [passes[before], passes[after]];
  if (a === undefined || b === undefined) return null;
  return { passes, before, after, rows: comparePasses(tables, a, b) };
}

/** The first other pass that began at the line of one: of a step with two losses, each is
 * compared with its own. The first of all where there is none, for whoever asks. */
function sameLine({ nodes }: Snapshot, passes: readonly Pass[], of: number): number {
  const siteOf = (pass: Pass | undefined) => nodes[pass?.nodes.at(-1) ?? -1]?.site;
  const site = siteOf(passes[of]);
  const like = passes.findIndex((pass, at) => at !== of && siteOf(pass) === site);
  return Math.max(0, like);
}

/** What the nodes that differ are marked with. */
export function changeMarks({ rows }: Comparison): ReadonlyMap<number, Mark> {
  const marks = new Map<number, Mark>();
  for (const { kind, before, after } of rows) {
    if (kind === "same") continue;
    for (const node of [before, after]) if (node !== null) marks.set(node, kind);
  }
  return marks;
}
