// The stride picture as data: what each address of the strip is to the chosen tensor.
import {
  addressOf,
  addressRange,
  elementCount,
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

/** Whether the tensor and another view that is shown both have an element there. */
export function isOverlap({ state, others }: StripCell): boolean {
  return state !== "skipped" && others.length > 0;
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

/** Where another view lands on an address: "scaled (0, 1): 0·1 + 1·3 + offset 1 = 4". */
export function otherText(
  label: string,
  layout: Layout,
  address: number,
): string | null {
  const [index, ...more] = indicesAt(layout, address, 2);
  if (index === undefined) return null;
  const shared = more.length > 0 ? ", and others" : "";
  return `${label} (${index.join(", ")}): ${spellAddress(layout, index)}${shared}`;
}

const COUNTED = 1 << 16; // elements of a view that are looked at one by one

/** How many addresses two views have in common; null where counting takes too long. */
export function overlapOf(one: Layout, other: Layout): number | null {
  const [small, large] =
    elementCount(one) <= elementCount(other) ? [one, other] : [other, one];
  const apart = isApart(small, large);
  if (apart) return 0;
  if (elementCount(small) > COUNTED) return null;
  const addresses = new Set<number>();
  const visit = (dim: number, address: number): void => {
    const size = small.shape[dim];
    if (size === undefined) addresses.add(address);
    else {
      for (let at = 0; at < size; at++)
        visit(dim + 1, address + at * (small.strides[dim] ?? 0));
    }
  };
  visit(0, small.offset);
  return [...addresses].filter((address) => reaches(large, address)).length;
}

function isApart(one: Layout, other: Layout): boolean {
  const [a, b] = [addressRange(one), addressRange(other)];
  return a === null || b === null || a.high < b.low || b.high < a.low;
}
