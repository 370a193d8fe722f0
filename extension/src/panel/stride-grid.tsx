// The logical side of the stride picture: the last two dimensions as a grid of addresses.
import { useRef, useState } from "preact/hooks";
import type { Pointed } from "../state/picture.js";
import { addressOf, type Index, type Layout, spellAddress } from "../state/strides.js";
import type { GridWindow, Position } from "../state/strip.js";

const ROW_TINTS = 6;

export function tintOf(row: number): string {
  return `tint-${row % ROW_TINTS}`;
}

interface Props {
  readonly layout: Layout;
  readonly grid: GridWindow;
  readonly pointed: Pointed | null;
  /** Addresses where more than one index lands. */
  readonly shared: ReadonlySet<number>;
  /** Addresses that another view shown reaches too. */
  readonly overlapping: ReadonlySet<number>;
  readonly onPoint: (pointed: Pointed | null) => void;
}

/** A cell by its place in the window, elided stretches counted. */
interface Cursor {
  readonly row: number;
  readonly column: number;
}

/** The next position in a direction that is a cell and not an elided stretch. */
function nextCell(positions: readonly Position[], from: number, step: number): number {
  let at = from + step;
  while (positions[at]?.kind === "gap") at += step;
  return positions[at] === undefined ? from : at;
}

/** Where an arrow key leads, or null for any other key. */
function moved(grid: GridWindow, { row, column }: Cursor, key: string): Cursor | null {
  switch (key) {
    case "ArrowUp":
      return { row: nextCell(grid.rows, row, -1), column };
    case "ArrowDown":
      return { row: nextCell(grid.rows, row, 1), column };
    case "ArrowLeft":
      return { row, column: nextCell(grid.columns, column, -1) };
    case "ArrowRight":
      return { row, column: nextCell(grid.columns, column, 1) };
    default:
      return null;
  }
}

/** One element of the tensor: its address, in the tint of its row. */
function Cell({
  props: { layout, shared, overlapping, pointed, onPoint },
  index,
  place,
  reachable,
  onCursor,
}: {
  props: Props;
  index: Index;
  place: Cursor;
  reachable: boolean;
  onCursor: (place: Cursor) => void;
}) {
  const address = addressOf(layout, index);
  const classes = ["stride-cell", tintOf(index.at(-2) ?? 0)];
  if (shared.has(address)) classes.push("shared");
  if (overlapping.has(address)) classes.push("overlap");
  if (pointed?.address === address) classes.push("pointed");
  const point = () => onPoint({ address, index });
  return (
    <button
      type="button"
      class={classes.join(" ")}
      tabIndex={reachable ? 0 : -1}
      data-row={place.row}
      data-column={place.column}
      aria-label={`index (${index.join(", ")}): ${spellAddress(layout, index)}`}
      onMouseEnter={point}
      onFocus={() => {
        onCursor(place);
        point();
      }}
    >
      {address}
    </button>
  );
}

function Head({ columns }: { columns: readonly Position[] }) {
  return (
    <thead>
      <tr>
        <td />
        {columns.map((column) => (
          <th key={keyOf(column)} scope="col">
            {headText(column)}
          </th>
        ))}
      </tr>
    </thead>
  );
}

export function StrideGrid(props: Props) {
  const { grid, onPoint } = props;
  const table = useRef<HTMLTableElement>(null);
  // One cell is in the tab order; the arrow keys move it.
  const [cursor, setCursor] = useState<Cursor>({ row: 0, column: 0 });
  const onKeyDown = (event: KeyboardEvent) => {
    const next = moved(grid, cursor, event.key);
    if (next === null) return;
    event.preventDefault();
    event.stopPropagation();
    setCursor(next);
    const cell = `[data-row="${next.row}"][data-column="${next.column}"]`;
    table.current?.querySelector<HTMLElement>(cell)?.focus();
  };
  const cell = (row: Position, column: Position, place: Cursor) =>
    row.kind === "gap" || column.kind === "gap" ? (
      gapText(row, column)
    ) : (
      <Cell
        props={props}
        index={grid.indexOf(row.at, column.at)}
        place={place}
        reachable={cursor.row === place.row && cursor.column === place.column}
        onCursor={setCursor}
      />
    );
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: arrow keys bubble from the cells
    <div class="stride-grid" onKeyDown={onKeyDown} onMouseLeave={() => onPoint(null)}>
      <table ref={table} data-testid="stride-grid">
        <caption class="unseen">The address of each element, by row and column</caption>
        <Head columns={grid.columns} />
        <tbody>
          {grid.rows.map((row, rowAt) => (
            <tr key={keyOf(row)}>
              <th scope="row">{headText(row)}</th>
              {grid.columns.map((column, columnAt) => (
                <td key={keyOf(column)}>
                  {cell(row, column, { row: rowAt, column: columnAt })}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function keyOf(position: Position): string {
  return position.kind === "gap" ? "gap" : String(position.at);
}

function headText(position: Position): string {
  return position.kind === "gap" ? "…" : String(position.at);
}

function gapText(row: Position, column: Position): string {
  if (row.kind === "at") return "⋯";
  return column.kind === "at" ? "⋮" : "⋱";
}
