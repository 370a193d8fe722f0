// Sorting the rows of a table by one column, fast enough for 100,000 of them.

export type SortValue = number | string | null;

const collator = new Intl.Collator("en", { numeric: true });

/** Rows in order of a value; unknown ones stay last in both directions, ties in place. */
export function sortBy<Row>(
  rows: readonly Row[],
  keyOf: (row: Row) => SortValue,
  descending: boolean,
): Row[] {
  const sign = descending ? -1 : 1;
  const keyed = rows.map((row, at) => {
    const key = keyOf(row);
    if (key === "") return { row, at, value: null };
    return { row, at, value: Number.isNaN(key) ? Infinity : key };
  });
  keyed.sort((a, b) => {
    if (a.value === null || b.value === null) {
      return Number(a.value === null) - Number(b.value === null) || a.at - b.at;
    }
    const order =
      typeof a.value === "number" && typeof b.value === "number"
        ? a.value - b.value || 0
        : collator.compare(String(a.value), String(b.value));
    return sign * order || a.at - b.at;
  });
  return keyed.map(({ row }) => row);
}
