// Changes of the ledger, and selecting from a table that stays open.
import { batch } from "@preact/signals-core";
import { goToNode } from "./actions.js";
import type { SavedFilter } from "./ledger.js";
import type { Fate } from "./nonfinite.js";
import type { Store } from "./store.js";

/** What of the ledger is shown. */
export interface LedgerView {
  readonly sheet: "saved" | "bad";
  readonly saved: SavedFilter;
  readonly fate: Fate | "all";
  readonly text: string;
}

export function setLedger({ ui }: Store, change: Partial<LedgerView>): void {
  ui.ledger.value = { ...ui.ledger.value, ...change };
}

/** Select a node and bring it into view; what stands beside the graph stays. */
export function pickNode(store: Store, id: number): void {
  const pane = store.ui.pane.value;
  batch(() => {
    goToNode(store, id);
    store.ui.pane.value = pane;
  });
}
