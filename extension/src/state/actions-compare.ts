// Changes of the comparison: which passes, which rows.
import type { Change } from "../graph/mark.js";
import type { Store } from "./store.js";

/** What is compared and what of it is shown; passes count from the end if negative. */
export interface CompareView {
  /** null: the first that is like the other one. */
  readonly before: number | null;
  readonly after: number;
  readonly show: Change | "same" | "differences";
  readonly text: string;
}

export function setCompare({ ui }: Store, change: Partial<CompareView>): void {
  ui.compare.value = { ...ui.compare.value, ...change };
}
