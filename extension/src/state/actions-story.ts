// The way along the stops of the story that the chosen finding tells.
import { batch } from "@preact/signals-core";
import { openAround } from "./actions.js";
import { showStepOf } from "./actions-steps.js";
import type { Store } from "./store.js";

/** More modules than this are not opened for one stop. */
const OPENED_AROUND = 12;

/** Go to a stop, counted from 0: its nodes come into view, its line stands open. */
export function goToStop(store: Store, at: number): void {
  const { ui, derived } = store;
  const stop = derived.story.value[at];
  if (stop === undefined) return;
  const shown = derived.shown.value;
  const drawn = stop.nodes.filter((node) => shown?.[node] !== 0);
  const nodes = drawn.length > 0 ? drawn : stop.nodes;
  batch(() => {
    const [first] = nodes;
    if (first !== undefined) {
      showStepOf(store, first);
      openAround(store, nodes.slice(0, OPENED_AROUND));
      ui.selection.value = { kind: "node", id: first };
      ui.viewMode.value = "graph";
      ui.revealRequest.value = { nodes };
    }
    ui.pane.value = "findings";
    ui.stop.value = at;
  });
}

/** The next stop (1) or the one before (-1); the story begins at its first, and ends at
 * either end. */
export function stepStory(store: Store, by: 1 | -1): void {
  const { ui, derived } = store;
  const last = derived.story.value.length - 1;
  const at = ui.stop.value;
  goToStop(store, at === null ? 0 : Math.min(last, Math.max(0, at + by)));
}
