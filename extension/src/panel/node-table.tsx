// The nodes as a table: the same selection and search, for those who read tables.
import { useMemo } from "preact/hooks";
import { goToNode } from "../state/actions.js";
import { formatNumber, formatTuple } from "../state/format.js";
import { elementsOf, type NodeRow, nodeRows } from "../state/rows.js";
import { useStore } from "./context.js";
import { Sheet, type SheetColumn } from "./sheet.js";
import { Empty, Name } from "./text.js";

const COLUMNS: readonly SheetColumn<NodeRow>[] = [
  {
    label: "Node",
    value: ({ name }) => name,
    cell: ({ name }) => <Name text={name} />,
  },
  { label: "#", number: true, value: ({ id }) => id, cell: ({ id }) => id },
  {
    label: "Call",
    value: ({ call }) => call,
    cell: ({ call }) => <Name text={call} />,
  },
  {
    label: "Module",
    value: ({ scope }) => scope,
    cell: ({ scope }) => <Name text={scope} />,
  },
  {
    label: "Output",
    value: elementsOf, // sorting by shape sorts by size
    cell: ({ shape, dtype }) =>
      shape !== null && <span class="code">{`${formatTuple(shape)} ${dtype}`}</span>,
  },
  {
    label: "Gradient norm",
    number: true,
    value: ({ gradientNorm }) => gradientNorm,
    cell: ({ gradientNorm }) => formatNumber(gradientNorm),
  },
  {
    label: "Source",
    value: ({ source }) => source,
    cell: ({ source }) => (
      <span class="code source-cell">
        <Name text={source} />
      </span>
    ),
  },
];

/** The rows on screen: those that the search keeps. */
function useRows(): NodeRow[] {
  const store = useStore();
  const tables = store.derived.tables.value;
  const matches = store.derived.matchSet.value;
  const searching = store.ui.query.value.trim() !== "";
  const rows = useMemo(() => (tables === null ? [] : nodeRows(tables)), [tables]);
  return useMemo(
    () => (searching ? rows.filter((row) => matches.has(row.id)) : rows),
    [rows, matches, searching],
  );
}

export function NodeTable() {
  const store = useStore();
  const rows = useRows();
  const selected = store.derived.selectedNode.value?.id;
  if (rows.length === 0) {
    const searching = store.data.snapshot.value?.nodes.length !== 0;
    return (
      <Empty>{searching ? "No node matches the search." : "There are no nodes."}</Empty>
    );
  }
  return (
    <div class="node-table">
      <Sheet
        caption="Nodes of the graph"
        testId="node-table"
        columns={COLUMNS}
        rows={rows}
        keyOf={({ id }) => id}
        isSelected={({ id }) => id === selected}
        onPick={({ id }) => goToNode(store, id)}
      />
    </div>
  );
}
