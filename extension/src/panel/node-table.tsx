// The nodes as a table: the same selection and search, for those who read tables.
import { useMemo, useState } from "preact/hooks";
import { goToNode } from "../state/actions.js";
import { formatCount, formatNumber, formatTuple } from "../state/format.js";
import { type NodeRow, nodeRows, type SortKey, sortRows } from "../state/rows.js";
import { useStore } from "./context.js";
import { NextIcon, PreviousIcon } from "./icons.js";
import { Empty, Name } from "./text.js";

const PAGE_ROWS = 200; // a page that renders at once, even where the graph has 100,000

const COLUMNS: readonly (readonly [key: SortKey, label: string])[] = [
  ["id", "#"],
  ["name", "Node"],
  ["call", "Call"],
  ["scope", "Module"],
  ["shape", "Output"],
  ["gradientNorm", "Gradient norm"],
  ["source", "Source"],
];

interface Sorting {
  readonly key: SortKey;
  readonly descending: boolean;
}

function HeaderCell({
  column: [key, label],
  sorting,
  onSort,
}: {
  column: (typeof COLUMNS)[number];
  sorting: Sorting;
  onSort: (sorting: Sorting) => void;
}) {
  const active = sorting.key === key;
  const order = sorting.descending ? "descending" : "ascending";
  return (
    <th scope="col" aria-sort={active ? order : "none"}>
      <button
        type="button"
        class="link"
        onClick={() => onSort({ key, descending: active && !sorting.descending })}
      >
        {label}
        <span aria-hidden="true">
          {active ? (sorting.descending ? " ↓" : " ↑") : ""}
        </span>
      </button>
    </th>
  );
}

function Row({ row, selected }: { row: NodeRow; selected: boolean }) {
  const store = useStore();
  const go = () => goToNode(store, row.id);
  return (
    <tr class={selected ? "selected" : ""} aria-selected={selected} onClick={go}>
      <td class="number">{row.id}</td>
      <td>
        <button type="button" class="link" onClick={go}>
          <Name text={row.name} />
        </button>
      </td>
      <td>
        <Name text={row.call} />
      </td>
      <td>
        <Name text={row.scope} />
      </td>
      <td class="code">
        {row.shape === null ? "" : `${formatTuple(row.shape)} ${row.dtype}`}
      </td>
      <td class="number">{formatNumber(row.gradientNorm)}</td>
      <td class="code source-cell">
        <Name text={row.source} />
      </td>
    </tr>
  );
}

function Pager({
  page,
  rows,
  onPage,
}: {
  page: number;
  rows: number;
  onPage: (page: number) => void;
}) {
  const pages = Math.ceil(rows / PAGE_ROWS);
  const first = page * PAGE_ROWS + 1;
  const last = Math.min((page + 1) * PAGE_ROWS, rows);
  if (pages <= 1) return null;
  return (
    <div class="pager">
      <button
        type="button"
        aria-label="Previous page"
        disabled={page === 0}
        onClick={() => onPage(page - 1)}
      >
        <PreviousIcon />
      </button>
      <output>
        {`${formatCount(first)} to ${formatCount(last)} of ${formatCount(rows)}`}
      </output>
      <button
        type="button"
        aria-label="Next page"
        disabled={page === pages - 1}
        onClick={() => onPage(page + 1)}
      >
        <NextIcon />
      </button>
    </div>
  );
}

/** The rows that the search leaves, sorted; kept until graph, search or order change. */
function useRows(sorting: Sorting): NodeRow[] {
  const store = useStore();
  const tables = store.derived.tables.value;
  const matches = store.derived.matchSet.value;
  const searching = store.ui.query.value.trim() !== "";
  const rows = useMemo(() => (tables === null ? [] : nodeRows(tables)), [tables]);
  return useMemo(() => {
    const kept = searching ? rows.filter((row) => matches.has(row.id)) : rows;
    return sortRows(kept, sorting.key, sorting.descending);
  }, [rows, matches, searching, sorting]);
}

export function NodeTable() {
  const store = useStore();
  const [sorting, setSorting] = useState<Sorting>({ key: "id", descending: false });
  const [page, setPage] = useState(0);
  const rows = useRows(sorting);
  // A search may leave fewer pages than the one that was open.
  const shown = Math.min(page, Math.max(0, Math.ceil(rows.length / PAGE_ROWS) - 1));
  const selected = store.derived.selectedNode.value?.id;
  if (rows.length === 0) {
    const searching = store.data.snapshot.value?.nodes.length !== 0;
    return (
      <Empty>{searching ? "No node matches the search." : "There are no nodes."}</Empty>
    );
  }
  return (
    <div class="node-table" data-testid="node-table">
      <table>
        <caption class="unseen">Nodes of the graph</caption>
        <thead>
          <tr>
            {COLUMNS.map((column) => (
              <HeaderCell
                key={column[0]}
                column={column}
                sorting={sorting}
                onSort={setSorting}
              />
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.slice(shown * PAGE_ROWS, (shown + 1) * PAGE_ROWS).map((row) => (
            <Row key={row.id} row={row} selected={row.id === selected} />
          ))}
        </tbody>
      </table>
      <Pager page={shown} rows={rows.length} onPage={setPage} />
    </div>
  );
}
