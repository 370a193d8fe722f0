// The state that comes from the kernel or the file; the user never changes it.
import { type Signal, signal } from "@preact/signals-core";
import type { Progress } from "../ir/progress.js";
import type { Snapshot } from "../ir/types.js";
import type { Services } from "./kernel.js";

export interface DataState {
  /** null until the first snapshot has arrived. */
  readonly snapshot: Signal<Snapshot | null>;
  /** How often numbers changed while code ran; since the page was opened. */
  readonly updates: Signal<number>;
  /** How far the code is that runs; null where none does. */
  readonly progress: Signal<Progress | null>;
  /** What went wrong, as one sentence to show in place of the graph. */
  readonly problem: Signal<string | null>;
  /** What the kernel offers besides the snapshot; null where there never was one. */
  readonly services: Signal<Services | null>;
  readonly kernelAlive: Signal<boolean>;
}

export function createDataState(): DataState {
  return {
    snapshot: signal(null),
    updates: signal(0),
    progress: signal(null),
    problem: signal(null),
    services: signal(null),
    kernelAlive: signal(true),
  };
}
