// Where the selection stands in the module tree; each step closes or opens that scope.

import { toggleScope } from "../state/actions.js";
import { hidingScope, scopeChain } from "../state/collapse.js";
import { visibleText } from "../state/visible-text.js";
import { useStore } from "./context.js";
import { Name } from "./text.js";

export function Breadcrumb() {
  const store = useStore();
  const snapshot = store.data.snapshot.value;
  const node = store.derived.selectedNode.value;
  if (snapshot === null) return null;
  const collapsed = store.ui.collapsed.value;
  const chain = node === null ? [] : scopeChain(snapshot.scopes, node.node.scope);
  const hidden =
    node !== null && hidingScope(snapshot.scopes, collapsed, node.node.scope);
  return (
    <nav class="breadcrumb" aria-label="Scope" data-testid="breadcrumb">
      <ol>
        <li>
          <Name text={snapshot.title || "graph"} />
        </li>
        {chain.map((id) => {
          const scope = snapshot.scopes[id];
          const closed = collapsed.has(id);
          return (
            <li key={id}>
              <button
                type="button"
                class="link"
                aria-expanded={!closed}
                title={visibleText(
                  `${scope?.path}${scope?.kind && ` (${scope.kind})`}: ` +
                    `${closed ? "open" : "close"} this scope`,
                )}
                onClick={() => toggleScope(store, id)}
              >
                <Name text={scope?.name ?? ""} />
              </button>
            </li>
          );
        })}
        {node !== null && (
          <li aria-current="true" class={hidden === null ? "" : "muted"}>
            <Name text={node.node.call || node.node.name} />
          </li>
        )}
      </ol>
    </nav>
  );
}
