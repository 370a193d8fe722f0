// The way along the stops of the story that the chosen finding, or an answer, tells.
import { batch } from "@preact/signals-core";
import { openAround } from "./actions.js";
import { showStepOf } from "./actions-steps.js";
import type { Store } from "./store.js";

/** More modules than this are not opened for one stop. */
const OPENED_AROUND = 12;

/** Ask for an answer: its chain comes into view, what is selected stays. */
export function showAnswer(store: Store, id: number): void {
  const { ui, derived } = store;
  batch(() => {
    ui.answer.value = id;
    ui.stop.value = null;
    ui.pane.value = "inspector";
    ui.viewMode.value = "graph";
    const nodes = drawnOf(
      store,
      derived.story.value.flatMap((stop) => stop.nodes),
    );
    if (nodes.length === 0) return;
    openAround(store, nodes.slice(0, OPENED_AROUND));
    ui.revealRequest.value = { nodes };
  });
}

/** Take the answer and its marks away. */
export function hideAnswer({ ui }: Store): void {
  ui.answer.value = ui.stop.value = null;
}

/** Those of the nodes that the step shows; all, where it shows none. */
function drawnOf({ derived }: Store, nodes: readonly number[]): readonly number[] {
  const shown = derived.shown.value;
  const drawn = nodes.filter((node) => shown?.[node] !== 0);
  return drawn.length > 0 ? drawn : nodes;
}

/** Go to a stop, counted from 0: its nodes come into view, its line stands open. */
export function goToStop(store: Store, at: number): void {
  const { ui, derived } = store;
  const stop = derived.story.value[at];
  if (stop === undefined) return;
  const nodes = drawnOf(store, stop.nodes);
  batch(() => {
    const [first] = nodes;
    if (first !== undefined) {
      showStepOf(store, first);
      openAround(store, nodes.slice(0, OPENED_AROUND));
      ui.selection.value = { kind: "node", id: first };
      ui.viewMode.value = "graph";
      ui.revealRequest.value = { nodes };
    }
    ui.pane.value = ui.answer.value === null ? "findings" : "inspector";
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
