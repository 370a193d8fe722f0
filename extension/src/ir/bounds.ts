// How large a snapshot may be: gradviz/ir/bounds.py, for what a browser reads.
import { SnapshotError } from "./errors.js";

const MOST_BYTES = 2 ** 30;
const MOST_ROWS = 10_000_000;
// What may be claimed grows with the size of the file, so that a small one stays cheap.
const FREE_BYTES = 64 * 2 ** 20;
const MOST_INFLATED = 256;
const FREE_ROWS = 1_000_000;
const ROWS_PER_BYTE = 2;

/** How long columns may be that came as so many deflated bytes. */
export function mostBytes(packed: number): number {
  return Math.min(MOST_BYTES, FREE_BYTES + packed * MOST_INFLATED);
}

/** Refuse more rows than so many bytes, deflated or not, can honestly hold. */
export function checkRows(rows: number, packed: number): void {
  if (rows > Math.min(MOST_ROWS, FREE_ROWS + packed * ROWS_PER_BYTE)) {
    throw new SnapshotError(
      `The snapshot claims ${rows} rows, more than a file of its size holds; it was ` +
        "not read.",
    );
  }
}
