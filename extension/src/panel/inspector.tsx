// The region beside the graph: the selected node or edge, or what to do without one.
import { formatPlural } from "../state/format.js";
import { Boundary } from "./boundary.js";
import { useStore } from "./context.js";
import { EdgeInspector } from "./edge-inspector.js";
import { NodeInspector } from "./node-inspector.js";
import { Name } from "./text.js";

function Welcome() {
  const snapshot = useStore().data.snapshot.value;
  if (snapshot === null) return null;
  const { nodes, edges, title, producer, notes } = snapshot;
  return (
    <div class="welcome">
      <h2>
        <Name text={title || "Autograd graph"} />
      </h2>
      <p>
        {`${formatPlural(nodes.length, "node")} and ${formatPlural(edges.length, "edge")}, recorded by `}
        <Name text={producer} />.
      </p>
      {nodes.length > 0 && (
        <p class="muted">
          Select a node to see the line that made it, what it keeps for the derivative,
          the gradient that came in, and how its tensors lie in memory. Press{" "}
          <kbd>?</kbd> for the keys.
        </p>
      )}
      {notes.length > 0 && (
        <ul>
          {notes.map((note) => (
            <li key={note} dir="auto">
              {note}
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

function Content() {
  const { data, derived } = useStore();
  const snapshot = data.snapshot.value;
  const node = derived.selectedNode.value;
  const edge = derived.selectedEdge.value;
  if (snapshot !== null && node !== null) {
    return <NodeInspector key={`node ${node.id}`} snapshot={snapshot} details={node} />;
  }
  if (snapshot !== null && edge !== null) {
    return <EdgeInspector key={`edge ${edge.id}`} snapshot={snapshot} details={edge} />;
  }
  return <Welcome />;
}

export function Inspector() {
  const { ui } = useStore();
  return (
    <section
      class="inspector"
      aria-label="Inspector"
      data-testid="inspector"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: the region scrolls by keyboard
      tabIndex={0}
    >
      <Boundary what="the inspector" attempt={ui.selection.value}>
        <Content />
      </Boundary>
    </section>
  );
}
