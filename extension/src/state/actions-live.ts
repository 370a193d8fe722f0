// What a running kernel changes in the snapshot that is shown.
import { batch } from "@preact/signals-core";
import { withNumbers } from "../graph/fold.js";
import { applyDelta, type Delta } from "../ir/delta.js";
import { SnapshotError } from "../ir/errors.js";
import type { Progress } from "../ir/progress.js";
import type { Store } from "./store.js";

/** Put the numbers of a delta into the snapshot; the selection and all else stays. */
export function receiveDelta({ data }: Store, delta: Delta): void {
  const before = data.snapshot.value;
  if (before === null) return;
  try {
    const changed = applyDelta(before, delta);
    batch(() => {
      data.snapshot.value = withNumbers(before, changed);
      data.updates.value += 1;
    });
  } catch (error) {
    // Of another snapshot: the next whole one puts that right.
    if (!(error instanceof SnapshotError)) throw error;
  }
}

/** Note how far the code is; null: it is over. */
export function receiveProgress({ data }: Store, progress: Progress | null): void {
  data.progress.value = progress;
}
