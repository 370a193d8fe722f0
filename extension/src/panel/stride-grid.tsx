// The logical side of the stride picture: the last two dimensions as a grid of addresses.
import { useRef, useState } from "preact/hooks";
import type { Pointed } from "../state/picture.js";
import { addressOf, type Layout, spellAddress } from "../state/strides.js";
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
  readonly onPoint: (pointed: Pointed | null) => void;
}

/** The next position in a direction that is a cell and not an elided stretch. */
function nextCell(positions: readonly Position[], from: number, step: number): number {
  let at = from + step;
  while (positions[at]?.kind === "gap") at += step;
  return positions[at] === undefined ? from : at;
}

const STEPS: Readonly<Record<string, readonly [row: number, column: number]>> = {
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
};

export function StrideGrid({ layout, grid, pointed, shared, onPoint }: Props) {
  const table = useRef<HTMLDivElement>(null);
  const [cursor, setCursor] = useState({ row: 0, column: 0 });
  const onKeyDown = (event: KeyboardEvent) => {
    const step = STEPS[event.key];
    if (step === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    const row = step[0] === 0 ? cursor.row : nextCell(grid.rows, cursor.row, step[0]);
    const column =
      step[1] === 0 ? cursor.column : nextCell(grid.columns, cursor.column, step[1]);
    setCursor({ row, column });
    table.current
      ?.querySelector<HTMLElement>(`[data-row="${row}"][data-column="${column}"]`)
      ?.focus();
  };
  const columns = grid.columns.length;
  return (
    // biome-ignore lint/a11y/useSemanticElements: a grid of focusable cells, not a table
    <div
      ref={table}
      class="stride-grid"
      role="grid"
      tabIndex={-1}
      aria-label="Logical grid: the address of each element"
      style={{ "--columns": columns }}
      onKeyDown={onKeyDown}
      onMouseLeave={() => onPoint(null)}
    >
      {/* biome-ignore lint/a11y: the grid pattern of rows and cells without a table */}
      <div class="stride-row head" role="row">
        <span class="stride-corner" role="columnheader" aria-label="row" />
        {grid.columns.map((column) => (
          <span key={keyOf(column)} class="stride-head" role="columnheader">
            {headText(column)}
          </span>
        ))}
      </div>
      {grid.rows.map((row, rowAt) => (
        // biome-ignore lint/a11y: see above
        <div key={keyOf(row)} class="stride-row" role="row">
          <span class="stride-head" role="rowheader">
            {headText(row)}
          </span>
          {grid.columns.map((column, columnAt) => {
            if (row.kind === "gap" || column.kind === "gap") {
              return (
                <span key={keyOf(column)} class="stride-gap" role="gridcell">
                  {row.kind === "gap" && column.kind === "gap"
                    ? "⋱"
                    : row.kind === "gap"
                      ? "⋮"
                      : "⋯"}
                </span>
              );
            }
            const index = grid.indexOf(row.at, column.at);
            const address = addressOf(layout, index);
            const point = () => onPoint({ address, index });
            const classes = ["stride-cell", tintOf(row.at)];
            if (shared.has(address)) classes.push("shared");
            if (pointed?.address === address) classes.push("pointed");
            const here = cursor.row === rowAt && cursor.column === columnAt;
            return (
              <span
                key={keyOf(column)}
                class={classes.join(" ")}
                role="gridcell"
                tabIndex={here ? 0 : -1}
                data-row={rowAt}
                data-column={columnAt}
                aria-label={`index (${index.join(", ")}): ${spellAddress(layout, index)}`}
                onMouseEnter={point}
                onFocus={() => {
                  setCursor({ row: rowAt, column: columnAt });
                  point();
                }}
              >
                {address}
              </span>
            );
          })}
        </div>
      ))}
    </div>
  );
}

function keyOf(position: Position): string {
  return position.kind === "gap" ? "gap" : String(position.at);
}

function headText(position: Position): string {
  return position.kind === "gap" ? "…" : String(position.at);
}
