// What the stride picture shows of a large tensor: which cells, and where it elides.
import { addressOf, type Index, type Layout } from "./strides.js";

/** A position along one axis of the grid, or the elided stretch between two. */
export type Position =
  | { readonly kind: "at"; readonly at: number }
  | { readonly kind: "gap"; readonly count: number };

/** A cell of the storage strip, or a run of addresses that is not drawn. */
export type StripItem =
  | { readonly kind: "cell"; readonly address: number }
  | { readonly kind: "gap"; readonly from: number; readonly count: number };

/** The logical grid: the last two dimensions, the leading ones held at `lead`. */
export interface GridWindow {
  readonly rows: readonly Position[];
  readonly columns: readonly Position[];
  /** The full index of the cell in a row and column of the last two dimensions. */
  readonly indexOf: (row: number, column: number) => Index;
}

/** All positions of a short axis; the first and the last two of a long one. */
export function axisWindow(size: number, limit: number): Position[] {
  const range = (from: number, to: number): Position[] =>
    Array.from({ length: to - from }, (_, i) => ({ kind: "at", at: from + i }));
  if (size <= limit) return range(0, size);
  const head = limit - 3;
  return [
    ...range(0, head),
    { kind: "gap", count: size - head - 2 },
    ...range(size - 2, size),
  ];
}

/** The window of a tensor: 0-d is one cell, 1-d one row, more show the last two dims. */
export function gridWindow(
  layout: Layout,
  lead: readonly number[],
  limits: { readonly rows: number; readonly columns: number },
): GridWindow {
  const { shape } = layout;
  const ndim = shape.length;
  const leading = Math.max(0, ndim - 2);
  // An empty leading dimension leaves no slice to look at, whatever the last two say.
  const hollow = shape.slice(0, leading).some((size) => size === 0);
  const rows = hollow ? 0 : ndim >= 2 ? (shape[ndim - 2] ?? 0) : 1;
  const columns = hollow ? 0 : ndim >= 1 ? (shape[ndim - 1] ?? 0) : 1;
  const prefix = shape
    .slice(0, leading)
    .map((size, dim) => Math.min(Math.max(0, lead[dim] ?? 0), Math.max(0, size - 1)));
  return {
    rows: axisWindow(columns === 0 ? 0 : rows, limits.rows),
    columns: axisWindow(rows === 0 ? 0 : columns, limits.columns),
    indexOf: (row, column) => {
      if (ndim === 0) return [];
      return ndim === 1 ? [column] : [...prefix, row, column];
    },
  };
}

/** The addresses of the drawn cells of a grid, ascending, each once. */
export function windowAddresses(layout: Layout, grid: GridWindow): number[] {
  const addresses = new Set<number>();
  for (const row of grid.rows) {
    for (const column of grid.columns) {
      if (row.kind === "gap" || column.kind === "gap") continue;
      addresses.add(addressOf(layout, grid.indexOf(row.at, column.at)));
    }
  }
  return [...addresses].sort((a, b) => a - b);
}

/** Lay addresses out as a strip of `size` cells: short gaps are drawn, long ones elided.
 *
 * One cell of context is kept on both sides of every run, so that a skipped neighbour
 * is visible as skipped. Addresses outside the storage are dropped. */
export function stripItems(
  addresses: readonly number[],
  size: number,
  longestGap = 6,
): StripItem[] {
  const items: StripItem[] = [];
  let next = 0; // the first address not yet placed
  const cells = (to: number): void => {
    for (; next < to; next++) items.push({ kind: "cell", address: next });
  };
  const skipTo = (address: number): void => {
    if (address - next > longestGap) {
      // The cell after the last run stays, as does the one before the next run.
      if (items.length > 0) cells(next + 1);
      const count = address - 1 - next;
      items.push({ kind: "gap", from: next, count });
      next += count;
    }
    cells(address);
  };
  for (const address of addresses) {
    if (address < next || address >= size) continue;
    skipTo(address);
    cells(address + 1);
  }
  if (size - next > longestGap) {
    if (items.length > 0) cells(next + 1);
    items.push({ kind: "gap", from: next, count: size - next });
  } else {
    cells(size);
  }
  return items;
}
