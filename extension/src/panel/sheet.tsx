// A table to sort, page and walk by keyboard: 100,000 rows, a page of them drawn.
//
// One row is in the tab order. Up and Down walk it, over the ends of a page too; Home and
// End lead to the first and the last row, Page Up and Page Down turn the page.
import type { ComponentChildren } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { formatCount } from "../state/format.js";
import { type SortValue, sortBy } from "../state/sort.js";
import { NextIcon, PreviousIcon } from "./icons.js";

const PAGE_ROWS = 100; // a page that renders at once in a narrow pane

export interface SheetColumn<Row> {
  readonly label: string;
  readonly value: (row: Row) => SortValue;
  readonly cell: (row: Row) => ComponentChildren;
  readonly number?: boolean;
}

interface Props<Row> {
  readonly caption: string;
  readonly testId: string;
  /** The first one is the heading of its row and holds its button. */
  readonly columns: readonly SheetColumn<Row>[];
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => number;
  readonly isSelected: (row: Row) => boolean;
  readonly onPick: (row: Row) => void;
  readonly classOf?: (row: Row) => string;
}

interface Sorting {
  readonly column: number;
  readonly descending: boolean;
}

function Head<Row>({
  columns,
  sorting,
  onSort,
}: {
  columns: readonly SheetColumn<Row>[];
  sorting: Sorting | null;
  onSort: (column: number) => void;
}) {
  return (
    <thead>
      <tr>
        {columns.map(({ label, number }, column) => {
          const active = sorting?.column === column;
          const order = sorting?.descending ? "descending" : "ascending";
          return (
            <th
              key={label}
              scope="col"
              class={number ? "end" : ""}
              aria-sort={active ? order : "none"}
            >
              <button type="button" class="link" onClick={() => onSort(column)}>
                {label}
                <span aria-hidden="true" class="order">
                  {active ? (sorting.descending ? "↓" : "↑") : ""}
                </span>
              </button>
            </th>
          );
        })}
      </tr>
    </thead>
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
  if (pages <= 1) return null;
  const first = formatCount(page * PAGE_ROWS + 1);
  const last = formatCount(Math.min((page + 1) * PAGE_ROWS, rows));
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
      <output>{`${first} to ${last} of ${formatCount(rows)}`}</output>
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

/** Where a key leads from a row, in the order of all rows; null for any other key. */
function target(key: string, at: number, count: number): number | null {
  const to = {
    ArrowDown: at + 1,
    ArrowUp: at - 1,
    PageDown: at + PAGE_ROWS,
    PageUp: at - PAGE_ROWS,
    Home: 0,
    End: count - 1,
  }[key];
  return to === undefined ? null : Math.min(count - 1, Math.max(0, to));
}

/** The row that the tab key reaches; keys move it and take the focus along. */
function useCursor(count: number) {
  const body = useRef<HTMLTableSectionElement>(null);
  const [cursor, setCursor] = useState(0);
  const moved = useRef(false);
  const at = Math.min(cursor, Math.max(0, count - 1));
  useEffect(() => {
    if (!moved.current) return;
    moved.current = false;
    body.current?.querySelector<HTMLElement>(`[data-at="${at}"]`)?.focus();
  });
  const onKeyDown = (event: KeyboardEvent) => {
    const next = target(event.key, at, count);
    if (next === null || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation();
    moved.current = next !== at;
    setCursor(next);
  };
  return { at, body, onKeyDown, setCursor };
}

export function Sheet<Row>(props: Props<Row>) {
  const { caption, testId, columns, rows, keyOf, isSelected, onPick } = props;
  const [sorting, setSorting] = useState<Sorting | null>(null);
  const sorted = useMemo(() => {
    const column = sorting === null ? undefined : columns[sorting.column];
    if (column === undefined || sorting === null) return rows;
    return sortBy(rows, column.value, sorting.descending);
  }, [rows, columns, sorting]);
  const { at, body, onKeyDown, setCursor } = useCursor(sorted.length);
  const page = Math.floor(at / PAGE_ROWS);
  const start = page * PAGE_ROWS;
  // Ascending, descending, and back to the order of the program.
  const sort = (column: number) => {
    if (sorting?.column !== column) setSorting({ column, descending: false });
    else setSorting(sorting.descending ? null : { column, descending: true });
  };
  return (
    <div class="sheet" data-testid={testId}>
      <table class="data">
        <caption class="unseen">{caption}</caption>
        <Head columns={columns} sorting={sorting} onSort={sort} />
        <tbody ref={body} onKeyDown={onKeyDown}>
          {sorted.slice(start, start + PAGE_ROWS).map((row, offset) => (
            <tr
              key={keyOf(row)}
              class={`${isSelected(row) ? "selected " : ""}${props.classOf?.(row) ?? ""}`}
              aria-current={isSelected(row)}
              onClick={() => {
                setCursor(start + offset);
                onPick(row);
              }}
            >
              {columns.map(({ label, cell, number }, column) =>
                column === 0 ? (
                  <th key={label} scope="row">
                    <button
                      type="button"
                      class="link"
                      data-at={start + offset}
                      tabIndex={start + offset === at ? 0 : -1}
                    >
                      {cell(row)}
                    </button>
                  </th>
                ) : (
                  <td key={label} class={number ? "number end" : ""}>
                    {cell(row)}
                  </td>
                ),
              )}
            </tr>
          ))}
        </tbody>
      </table>
      <Pager
        page={page}
        rows={sorted.length}
        onPage={(next) => setCursor(next * PAGE_ROWS)}
      />
    </div>
  );
}
