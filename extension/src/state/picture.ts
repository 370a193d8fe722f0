// The stride picture as data: what each address of the strip is to the chosen tensor.
import {
  addressOf,
  type Index,
  indicesAt,
  type Layout,
  reaches,
  spellAddress,
} from "./strides.js";
import {
  type GridWindow,
  gridWindow,
  type StripItem,
  stripItems,
  windowAddresses,
} from "./strip.js";

/** What an address is: in the drawn slice, elsewhere in the tensor, or not in it. */
export type CellState = "slice" | "tensor" | "skipped";

export interface StripCell {
  readonly address: number;
  readonly state: CellState;
  /** The row of the grid that lands here first, for its colour; null outside the slice. */
  readonly row: number | null;
  /** More than one index of the tensor lands here. */
  readonly shared: boolean;
  /** Positions, in the list given, of the other views that reach this address. */
  readonly others: readonly number[];
}

export type PictureItem =
  | { readonly kind: "cell"; readonly cell: StripCell }
  | Extract<StripItem, { kind: "gap" }>;

export interface Picture {
  readonly grid: GridWindow;
  readonly strip: readonly PictureItem[];
}

/** What was pointed at: a cell of the grid (with its index) or one of the strip. */
export interface Pointed {
  readonly address: number;
  readonly index: Index | null;
}

/** Rows of the drawn slice by address; the first row wins where several share one. */
function rowsByAddress(layout: Layout, grid: GridWindow): Map<number, number> {
  const rows = new Map<number, number>();
  for (const row of grid.rows) {
    for (const column of grid.columns) {
      if (row.kind === "gap" || column.kind === "gap") continue;
      const address = addressOf(layout, grid.indexOf(row.at, column.at));
      if (!rows.has(address)) rows.set(address, row.at);
    }
  }
  return rows;
}

export function buildPicture(
  layout: Layout,
  lead: readonly number[],
  others: readonly Layout[],
  storageLength: number | null,
  limits: { readonly rows: number; readonly columns: number },
): Picture {
  const grid = gridWindow(layout, lead, limits);
  const rows = rowsByAddress(layout, grid);
  const addresses = windowAddresses(layout, grid);
  const length = storageLength ?? (addresses.at(-1) ?? -1) + 1;
  const strip = stripItems(addresses, length).map((item): PictureItem => {
    if (item.kind === "gap") return item;
    const { address } = item;
    const found = indicesAt(layout, address, 2).length;
    const row = rows.get(address) ?? null;
    const state = row !== null ? "slice" : found > 0 ? "tensor" : "skipped";
    const reached = others.flatMap((other, at) =>
      reaches(other, address) ? [at] : [],
    );
    return {
      kind: "cell",
      cell: { address, state, row, shared: found > 1, others: reached },
    };
  });
  return { grid, strip };
}

const INDICES_NAMED = 4;

/** "(1, 2), (1, 3) and more": the indices at an address, as text. */
export function indicesText(layout: Layout, address: number): string {
  const found = indicesAt(layout, address, INDICES_NAMED + 1);
  const named = found.slice(0, INDICES_NAMED).map((index) => `(${index.join(", ")})`);
  return named.join(", ") + (found.length > INDICES_NAMED ? " and more" : "");
}

/** What is said of the cell pointed at: the arithmetic, who shares it, or that it is skipped. */
export function pointedText(layout: Layout, { address, index }: Pointed): string {
  const found = indicesAt(layout, address, 2);
  const only = index ?? (found.length === 1 ? found[0] : undefined);
  if (only !== undefined) {
    const shared = found.length > 1 ? ", shared with other indices" : "";
    return `index (${only.join(", ")}): ${spellAddress(layout, only)}${shared}`;
  }
  if (found.length === 0) return `address ${address}: skipped by this tensor`;
  return `address ${address}: shared by ${indicesText(layout, address)}`;
}
