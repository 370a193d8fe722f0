// The nodes next to a node, each with the edge between: for those who walk by list.
import { goToNode, selectEdge } from "../state/actions.js";
import { formatNumber, formatTuple } from "../state/format.js";
import { type Neighbour, nodeTitle } from "../state/inspect.js";
import { rowAt } from "../state/tables.js";
import { useStore } from "./context.js";
import { Empty, Name } from "./text.js";

const SHOWN = 20;

function NeighbourRow({ neighbour }: { neighbour: Neighbour }) {
  const store = useStore();
  const snapshot = store.data.snapshot.value;
  const { edge, edgeId, node, nodeId } = neighbour;
  const shape = rowAt(snapshot?.tensors ?? [], edge.tensor)?.shape;
  const norm = rowAt(snapshot?.statistics ?? [], edge.gradient)?.norm;
  return (
    <li>
      <button type="button" class="link" onClick={() => goToNode(store, nodeId)}>
        <Name text={nodeTitle(nodeId, node)} title={`${node.name} ${node.call}`} />
      </button>
      <span class="muted">
        <Name text={node.call} />
      </span>
      <button
        type="button"
        class="link edge"
        aria-label={`Edge, output ${edge.output} to input ${edge.input}`}
        onClick={() => selectEdge(store, edgeId)}
      >
        {shape === undefined ? "edge" : formatTuple(shape)}
        {norm !== undefined && norm !== null && ` · ‖grad‖ ${formatNumber(norm)}`}
      </button>
    </li>
  );
}

export function NeighbourList({
  title,
  neighbours,
  none,
}: {
  title: string;
  neighbours: readonly Neighbour[];
  none: string;
}) {
  const rest = neighbours.length - SHOWN;
  return (
    <div class="neighbours">
      <h4>{title}</h4>
      {neighbours.length === 0 ? (
        <Empty>{none}</Empty>
      ) : (
        <ul>
          {neighbours.slice(0, SHOWN).map((neighbour) => (
            <NeighbourRow key={neighbour.edgeId} neighbour={neighbour} />
          ))}
          {rest > 0 && <li class="muted">{`and ${rest} more`}</li>}
        </ul>
      )}
    </div>
  );
}
