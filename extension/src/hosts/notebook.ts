// What both notebook hosts share: snapshots of a living widget, and the wish to see code.
import { decodeSnapshot, SnapshotError } from "../ir/decode.js";
import type { Delta } from "../ir/delta.js";
import type { Progress } from "../ir/progress.js";
import type { Snapshot } from "../ir/types.js";
import type { CursorPlace } from "../state/lit.js";
import type { Transport } from "../state/transport.js";
import { inflate } from "./inflate.js";
import { whenKnown } from "./kernel.js";
import { followLive } from "./live.js";
import { page, REVISION_TRAIT, SNAPSHOT_TRAIT, type WidgetModel } from "./model.js";

/** Of the view below a cell: the cell and its graph fit one screen; why a cell failed
 * comes before its graph. */
export const CELL_OPTIONS = { height: "520px", cardFirst: true, inCell: true } as const;

/** Sent from the view when the user clicks a place in their code; bubbles. */
export const REVEAL_EVENT = "gradviz:reveal";

/** Set on the page's root element by whoever listens for the event. */
export const REVEAL_MARK = "gradvizReveal";

const DAMAGED = "The graph did not arrive whole from the kernel; run the cell again.";

/** Read the snapshot that a model holds.
 *
 * @throws SnapshotError with one sentence. */
export async function readModel(model: WidgetModel): Promise<Snapshot> {
  const packed = model.get(SNAPSHOT_TRAIT);
  // Not `instanceof`: in some hosts the view comes from another realm.
  if (!ArrayBuffer.isView(packed) || packed.byteLength === 0) {
    throw new SnapshotError("The kernel has not sent a graph.");
  }
  const { buffer, byteOffset, byteLength } = packed;
  let bytes: Uint8Array;
  try {
    bytes = await inflate(
      Uint8Array.from(new Uint8Array(buffer, byteOffset, byteLength)),
    );
  } catch {
    throw new SnapshotError(DAMAGED);
  }
  return decodeSnapshot(bytes, byteLength);
}

/** Call back with every snapshot that the kernel sends from now on, and with deltas. */
export function followModel(
  model: WidgetModel,
  onSnapshot: (snapshot: Snapshot) => void,
  onDelta?: (delta: Delta) => void,
  onProgress?: (progress: Progress | null) => void,
): () => void {
  return followLive(model, readModel, { onSnapshot, onDelta, onProgress });
}

/** Follow a widget from the moment the page knows its model; none, if it never does.
 *
 * What was saved with the output is old if the kernel replaced the snapshot since. */
export function followKey(
  key: unknown,
  onSnapshot: (snapshot: Snapshot) => void,
  onDelta?: (delta: Delta) => void,
  onProgress?: (progress: Progress | null) => void,
): () => void {
  return whenKnown(key, (model) => {
    if (model.get(REVISION_TRAIT)) {
      void readModel(model).then(onSnapshot, console.warn);
    }
    return followModel(model, onSnapshot, onDelta, onProgress);
  });
}

/** How a view asks the page to show where the user wrote something.
 *
 * Empty where nobody listens, as in VS Code: a link that does nothing is worse than none. */
export function revealIn(el: HTMLElement): Pick<Transport, "reveal"> {
  if (!(REVEAL_MARK in el.ownerDocument.documentElement.dataset)) return {};
  return {
    reveal({ file, line, end_line, column, end_column, cell_id }) {
      const detail = { file, line, end_line, column, end_column, cell_id };
      const options = { detail, bubbles: true, composed: true };
      el.dispatchEvent(new CustomEvent(REVEAL_EVENT, options));
    },
  };
}

/** Told to the document by whoever watches an editor. */
const CURSOR_EVENT = "gradviz:cursor";

/** Where the cursor stands now; views that open later ask for it. */
export function tellCursor(place: CursorPlace): void {
  page.gradvizCursor = place;
  document.dispatchEvent(new Event(CURSOR_EVENT));
}

/** Call back with where the cursor of the host's editor stands. */
export function followCursor(
  callback: (place: CursorPlace | null) => void,
): () => void {
  const tell = () => callback(page.gradvizCursor ?? null);
  document.addEventListener(CURSOR_EVENT, tell);
  tell();
  return () => document.removeEventListener(CURSOR_EVENT, tell);
}
