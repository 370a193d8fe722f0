// What follows the cursor of the host's editor.
import { openAround } from "./actions.js";
import { showStepOf } from "./actions-steps.js";
import type { CursorPlace } from "./lit.js";
import type { Store } from "./store.js";

/** Light the nodes of the line under the cursor; null where no line is known. */
export function followCursor({ ui }: Store, place: CursorPlace | null): void {
  ui.cursor.value = place;
}

/** Bring the lit nodes into view. */
export function revealLit(store: Store): void {
  const lit = store.derived.lit.value;
  if (lit === null) return;
  if (lit.nodes[0] !== undefined) showStepOf(store, lit.nodes[0]);
  openAround(store, lit.nodes.slice(0, 12));
  store.ui.viewMode.value = "graph";
  store.ui.revealRequest.value = { nodes: lit.nodes };
}
