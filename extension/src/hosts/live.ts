// Follows a model while its kernel runs: whole snapshots, and deltas in between.
import { type Delta, decodeDelta } from "../ir/delta.js";
import { decodeProgress, type Progress } from "../ir/progress.js";
import type { Snapshot } from "../ir/types.js";
import { REVISION_TRAIT, SNAPSHOT_TRAIT, type WidgetModel } from "./model.js";

export interface LiveCallbacks {
  readonly onSnapshot: (snapshot: Snapshot) => void;
  readonly onDelta?: ((delta: Delta) => void) | undefined;
  readonly onProgress?: ((progress: Progress | null) => void) | undefined;
}

/** Call back with every snapshot and every delta to it; the answer ends that.
 *
 * Snapshots are unpacked aside, so a delta can overtake the snapshot that it belongs to:
 * the last one waits for it. What belongs to an older snapshot, or is older than what was
 * shown, is dropped. */
export function followLive(
  model: WidgetModel,
  read: (model: WidgetModel) => Promise<Snapshot>,
  { onSnapshot, onDelta, onProgress }: LiveCallbacks,
): () => void {
  let shown = Number(model.get(REVISION_TRAIT) ?? 0);
  let number = -1;
  let waiting: Delta | null = null;
  let isOver = false;
  const tellDelta = (delta: Delta) => {
    if (delta.revision > shown) waiting = delta;
    if (delta.revision !== shown || delta.number <= number) return;
    number = delta.number;
    onDelta?.(delta);
  };
  const hearSnapshot = () => {
    const revision = Number(model.get(REVISION_TRAIT) ?? 0);
    read(model).then((snapshot) => {
      if (isOver || revision < shown) return;
      shown = revision;
      onSnapshot(snapshot);
      if (waiting !== null) tellDelta(waiting);
      waiting = null;
    }, console.warn); // a damaged update leaves the last whole graph in place
  };
  const hearMessage = (content?: unknown, buffers?: readonly DataView[]) => {
    const { live, progress } = (content ?? {}) as {
      readonly live?: unknown;
      readonly progress?: unknown;
    };
    if (progress !== undefined) onProgress?.(decodeProgress(progress));
    if (live === undefined) return;
    try {
      tellDelta(decodeDelta(live, buffers ?? []));
    } catch (error) {
      console.warn(error);
    }
  };
  model.on(`change:${SNAPSHOT_TRAIT}`, hearSnapshot);
  if (onDelta !== undefined) model.on("msg:custom", hearMessage);
  return () => {
    isOver = true;
    model.off(`change:${SNAPSHOT_TRAIT}`, hearSnapshot);
    model.off("msg:custom", hearMessage);
  };
}
