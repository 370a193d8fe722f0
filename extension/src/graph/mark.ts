// What a node may be marked with: a finding's severity, its part in a comparison, and the
// number of its stop in a story.
import type { Severity } from "../ir/types.js";

export type Change = "added" | "removed" | "changed";
export type Mark = Severity | Change;

export type StopSide = "value" | "gradient";

/** A stop of a story at a node: where it began (filled), or where that spread (outlined);
 * of the value on the left, of the gradient on the right. */
export interface StopMark {
  /** From 1. */
  readonly number: number;
  readonly isBirth: boolean;
  readonly side: StopSide | null;
  readonly severity: Severity;
}

/** The stops of the story that is lit; while it is told, all else recedes. */
export interface StoryMarks {
  readonly stops: ReadonlyMap<number, StopMark>;
  readonly isTold: boolean;
}

/** The sign of a change, so that its colour is never the only one. */
export const SIGNS: Readonly<Record<Change, string>> = {
  added: "+",
  removed: "−",
  changed: "~",
};

export function signOf(mark: Mark): string | null {
  return mark in SIGNS ? SIGNS[mark as Change] : null;
}
