// What a node may be marked with: a finding's severity, or its part in a comparison.
import type { Severity } from "../ir/types.js";

export type Change = "added" | "removed" | "changed";
export type Mark = Severity | Change;

/** The sign of a change, so that its colour is never the only one. */
export const SIGNS: Readonly<Record<Change, string>> = {
  added: "+",
  removed: "−",
  changed: "~",
};

export function signOf(mark: Mark): string | null {
  return mark in SIGNS ? SIGNS[mark as Change] : null;
}
