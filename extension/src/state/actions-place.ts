// Places in the code that the inspector shows, where the host has no editor to open.
import { batch } from "@preact/signals-core";
import type { Place } from "./inspect.js";
import type { Store } from "./store.js";

/** Show the text around a place in the inspector, until something else is selected. */
export function openPlace({ ui }: Store, place: Place): void {
  batch(() => {
    ui.openedPlace.value = { place, selection: ui.selection.value };
    ui.pane.value = "inspector";
  });
}

export function closePlace({ ui }: Store): void {
  ui.openedPlace.value = null;
}
