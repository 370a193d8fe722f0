// The selected node, edge or module, or what to do without one.
import { Boundary } from "./boundary.js";
import { useStore } from "./context.js";
import { EdgeInspector } from "./edge-inspector.js";
import { ModuleInspector } from "./module-inspector.js";
import { NodeInspector } from "./node-inspector.js";
import { OpenedPlace } from "./opened-place.js";
import { Overview } from "./overview.js";
import { AnswerStory } from "./why.js";

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
  const module = derived.selectedModule.value;
  if (snapshot !== null && module !== null) {
    return <ModuleInspector snapshot={snapshot} details={module} />;
  }
  return <Overview />;
}

export function Inspector() {
  const { ui } = useStore();
  return (
    <Boundary what="the inspector" attempt={ui.selection.value}>
      <OpenedPlace />
      <AnswerStory />
      <Content />
    </Boundary>
  );
}
