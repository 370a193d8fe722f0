// The last line: how much there is, how much is drawn, who recorded it, what is missing.
import { expandAll } from "../state/actions.js";
import { revealLit } from "../state/actions-lit.js";
import { formatCount, formatPlural, formatTuple } from "../state/format.js";
import { nodeTitle } from "../state/inspect.js";
import { rowAt } from "../state/tables.js";
import { cellsOf } from "../state/thumbnail.js";
import { visibleText } from "../state/visible-text.js";
import { useApp, useStore } from "./context.js";
import { Name } from "./text.js";
import { CellsPicture } from "./thumbnail.js";

/** The node under the pointer; its box may be too small to be labelled. */
function Hovered() {
  const { data, ui } = useStore();
  const snapshot = data.snapshot.value;
  const id = ui.hovered.value;
  const node = snapshot === null ? null : rowAt(snapshot.nodes, id);
  if (snapshot === null || node === null || id === null) return null;
  const tensor = rowAt(snapshot.tensors, node.outputs[0]);
  const shape = tensor?.shape;
  const cells = cellsOf(snapshot, rowAt(snapshot.statistics, tensor?.statistics));
  const parts = [nodeTitle(id, node), node.call, shape && formatTuple(shape)];
  return (
    <span class="hovered" data-testid="hovered">
      {cells !== null && <CellsPicture cells={cells} label="what it gave" />}
      <Name text={parts.filter(Boolean).join(" · ")} />
    </span>
  );
}

/** Why fewer boxes are drawn than there are nodes, and the way to all of them. */
function ClosedScopes() {
  const store = useStore();
  const closed = store.ui.collapsed.value.size;
  if (closed === 0) return null;
  return (
    <span data-testid="closed-scopes">
      {`${formatPlural(closed, "module")} closed `}
      <button type="button" class="link" onClick={() => expandAll(store)}>
        open all
      </button>
    </span>
  );
}

/** What the cursor in the host's editor lights up. */
function LitByCursor() {
  const store = useStore();
  const lit = store.derived.lit.value;
  return (
    <span class="lit" role="status" data-testid="lit">
      {lit !== null && (
        <button type="button" class="link" onClick={() => revealLit(store)}>
          {lit.words}
        </button>
      )}
    </span>
  );
}

function Notice() {
  const sentence = useStore().ui.notice.value;
  return (
    <span class="notice" role="status" data-testid="notice">
      {sentence === null ? "" : visibleText(sentence)}
    </span>
  );
}

export function StatusLine() {
  const store = useStore();
  const Landmark = useApp().ownsPage ? "footer" : "div";
  const snapshot = store.data.snapshot.value;
  if (snapshot === null) {
    const hasFailed = store.data.problem.value !== null;
    const words = hasFailed ? "No graph to show." : "Reading the graph…";
    return <Landmark class="status">{words}</Landmark>;
  }
  const boxes = store.derived.graphless.value ? null : store.ui.boxes.value;
  const { nodes, edges, notes } = snapshot;
  const flow = store.derived.flow.value;
  return (
    <Landmark class="status" data-testid="status">
      {nodes.length === 0 && flow !== null ? (
        <span data-testid="flow-count">
          {`${formatPlural(flow.layers.length, "parameter")} over ` +
            formatPlural(flow.steps.length, "step")}
        </span>
      ) : (
        <>
          <span data-testid="node-count">{formatPlural(nodes.length, "node")}</span>
          <span data-testid="edge-count">{formatPlural(edges.length, "edge")}</span>
        </>
      )}
      {boxes !== null && (
        <span data-testid="box-count">
          {`${formatCount(boxes)} ${boxes === 1 ? "box" : "boxes"} shown`}
        </span>
      )}
      <ClosedScopes />
      <span class="producer" title={visibleText(`Recorded by ${snapshot.producer}`)}>
        <Name text={snapshot.producer} />
      </span>
      {notes.length > 0 && (
        <details class="notes" data-testid="notes">
          <summary>{formatPlural(notes.length, "note")}</summary>
          <ul>
            {notes.map((note) => (
              <li key={note} dir="auto">
                {visibleText(note)}
              </li>
            ))}
          </ul>
        </details>
      )}
      <LitByCursor />
      <Notice />
      <Hovered />
    </Landmark>
  );
}
