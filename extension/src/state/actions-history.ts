// Undo and redo of what the user did to the view; nothing of the recording changes.
import { batch, effect, untracked } from "@preact/signals-core";
import { shownNodes } from "../graph/shown.js";
import type { Snapshot } from "../ir/types.js";
import { setNotice } from "./actions-notice.js";
import type { Gaze } from "./gaze.js";
import { back, forth, leave, NO_HISTORY, type Waypoint } from "./history.js";
import type { Store } from "./store.js";

const FIRST = "There is nothing to undo in this view.";
const LAST = "There is nothing to redo in this view.";

function here({ ui }: Store): Waypoint {
  return {
    selection: ui.selection.value,
    collapsed: ui.collapsed.value,
    viewMode: ui.viewMode.value,
    gaze: ui.gaze.value,
  };
}

/** Remember every place that the user leaves, until the answer is called.
 *
 * A snapshot with other rows begins a new history: old places would mean other nodes. */
export function followHistory(store: Store): () => void {
  const { data, ui } = store;
  let before: Waypoint | null = null;
  let known = data.snapshot.value;
  return effect(() => {
    const snapshot = data.snapshot.value;
    const { selection, collapsed, viewMode } = ui;
    const now = {
      selection: selection.value,
      collapsed: collapsed.value,
      viewMode: viewMode.value,
    };
    untracked(() => {
      if (snapshot !== known) {
        if (!hasSameRows(snapshot, known)) ui.history.value = NO_HISTORY;
        known = snapshot;
      } else if (before !== null && ui.restoring.value !== now.collapsed) {
        ui.history.value = leave(ui.history.value, { ...before, gaze: ui.gaze.value });
      }
      ui.restoring.value = null;
      before = { ...now, gaze: null };
    });
  });
}

function hasSameRows(a: Snapshot | null, b: Snapshot | null): boolean {
  const isSame = (table: "nodes" | "scopes") => a?.[table].length === b?.[table].length;
  const isDrawn = (snapshot: Snapshot | null) => snapshot && shownNodes(snapshot);
  return isSame("nodes") && isSame("scopes") && isDrawn(a) === isDrawn(b);
}

/** Call before the camera jumps on the user's wish: fit, a place on the map. */
export function rememberGaze(store: Store): void {
  store.ui.history.value = leave(store.ui.history.value, here(store));
}

export function undo(store: Store): void {
  go(store, back(store.ui.history.value, here(store)), FIRST);
}

export function redo(store: Store): void {
  go(store, forth(store.ui.history.value, here(store)), LAST);
}

function go(store: Store, step: ReturnType<typeof back>, nowhere: string): void {
  const { ui } = store;
  if (step === null) {
    setNotice(store, nowhere);
    return;
  }
  const { to, history } = step;
  batch(() => {
    // A copy tells the followers apart from a change that the user made.
    ui.restoring.value = ui.collapsed.value = new Set(to.collapsed);
    ui.selection.value = to.selection;
    ui.viewMode.value = to.viewMode;
    ui.history.value = history;
    ui.notice.value = null;
    if (to.gaze !== null) ui.lookRequest.value = { ...to.gaze };
  });
}

/** Where the graph view came to rest. */
export function reportGaze({ ui }: Store, gaze: Gaze): void {
  ui.gaze.value = gaze;
}

export function toggleMinimap({ ui }: Store): void {
  ui.minimap.value = !ui.minimap.value;
}
