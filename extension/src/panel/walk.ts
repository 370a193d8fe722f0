// Arrow keys: from the selected node to the nearest visible one in a direction.
import type { Graph } from "../graph/build.js";
import { selectNode, selectScope } from "../state/actions.js";
import { hidingScope, scopeChain } from "../state/collapse.js";
import type { AppContext } from "./context.js";

/** The first drawn node in a module. */
function nodeInside({ snapshot, shown }: Graph, scope: number): number | null {
  const found = snapshot.nodes.findIndex(
    (node, id) =>
      shown?.[id] !== 0 && scopeChain(snapshot.scopes, node.scope).includes(scope),
  );
  return found < 0 ? null : found;
}

/** Select the neighbour, a node or a closed module, and bring it into view; without a
 * selection, start at the root. */
export function walk(
  { store, view }: AppContext,
  direction: "up" | "down" | "left" | "right",
): void {
  const snapshot = store.data.snapshot.value;
  if (snapshot === null || snapshot.nodes.length === 0) return;
  const selection = store.ui.selection.value;
  const graph = store.derived.graph.value;
  const from =
    selection?.kind === "scope" && graph !== null
      ? nodeInside(graph, selection.id)
      : selection?.kind === "node"
        ? selection.id
        : null;
  const root = snapshot.roots.find((id) => graph?.shown?.[id] !== 0) ?? 0;
  const next = from === null ? root : view.current?.neighbour(from, direction);
  if (next === null || next === undefined) return;
  const hiding = hidingScope(
    snapshot.scopes,
    store.ui.collapsed.value,
    snapshot.nodes[next]?.scope ?? null,
  );
  if (hiding === null) selectNode(store, next);
  else selectScope(store, hiding);
  view.current?.reveal([next]);
}
