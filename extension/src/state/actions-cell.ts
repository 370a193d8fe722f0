// Changes of a view that stands in a notebook's cell: held or not, its tools unfolded.
import { batch } from "@preact/signals-core";
import type { Store } from "./store.js";

/** The view is one output among others: nothing of it is in the way at first. */
export function standInCell({ ui }: Store): void {
  batch(() => {
    ui.cell.value = true;
    ui.held.value = false;
  });
}

export function setHeld({ ui }: Store, held: boolean): void {
  ui.held.value = held;
}

export function toggleTools({ ui }: Store): void {
  ui.tools.value = !ui.tools.value;
}
