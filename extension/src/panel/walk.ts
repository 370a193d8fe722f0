// Arrow keys: from the selected node to the nearest visible one in a direction.
import { selectNode } from "../state/actions.js";
import type { AppContext } from "./context.js";

/** Select the neighbour and bring it into view; without a selection, start at the root. */
export function walk(
  { store, view }: AppContext,
  direction: "up" | "down" | "left" | "right",
): void {
  const snapshot = store.data.snapshot.value;
  if (snapshot === null || snapshot.nodes.length === 0) return;
  const selection = store.ui.selection.value;
  const next =
    selection?.kind === "node"
      ? view.current?.neighbour(selection.id, direction)
      : (snapshot.roots[0] ?? 0);
  if (next === null || next === undefined) return;
  selectNode(store, next);
  view.current?.reveal([next]);
}
