// The state that comes from the kernel or the file; the user never changes it.
import { type Signal, signal } from "@preact/signals-core";
import type { Snapshot } from "../ir/types.js";

export interface DataState {
  /** null until the first snapshot has arrived. */
  readonly snapshot: Signal<Snapshot | null>;
  /** What went wrong, as one sentence to show in place of the graph. */
  readonly problem: Signal<string | null>;
}

export function createDataState(): DataState {
  return { snapshot: signal(null), problem: signal(null) };
}
