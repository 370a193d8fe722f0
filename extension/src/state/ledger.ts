// The ledger: every saved tensor, each storage counted once, as rows to sort and filter.
import type { Saved, Snapshot, TensorMeta, Write } from "../ir/types.js";
import { nodeTitle, type Place, placeOf } from "./inspect.js";
import { rowAt, type Tables } from "./tables.js";

/** One tensor that one node keeps for its derivative. */
export interface SavedRow {
  readonly id: number;
  readonly node: number;
  readonly op: string;
  readonly saved: Saved;
  readonly tensor: TensorMeta;
  /** Of the whole storage, which is what stays alive; null where it is not known. */
  readonly nbytes: number | null;
  /** Whether the totals count the storage in this row. */
  readonly counted: boolean;
  readonly modified: boolean;
  readonly place: string;
}

export interface SavedTotals {
  readonly rows: number;
  readonly storages: number;
  readonly keptBytes: number;
  /** The part of what is kept that parameters hold anyway. */
  readonly parameterBytes: number;
  readonly freedBytes: number;
  readonly modified: number;
}

export interface Writer {
  readonly write: Write;
  readonly place: Place | null;
}

/** The row that counts each storage: one that is kept, if any is. */
function countedRows(snapshot: Snapshot): ReadonlySet<number> {
  const first = new Map<number, number>();
  for (const freed of [false, true]) {
    for (const [id, saved] of snapshot.saved.entries()) {
      const storage = rowAt(snapshot.tensors, saved.tensor)?.storage ?? null;
      if (storage === null || saved.freed !== freed || first.has(storage)) continue;
      first.set(storage, id);
    }
  }
  return new Set(first.values());
}

/** What an op is called where a line has to be short: the call, or the leaf's name. */
export function opLabel(snapshot: Snapshot, id: number): string {
  const node = rowAt(snapshot.nodes, id);
  return node === null ? `node #${id}` : node.call || nodeTitle(id, node);
}

export function savedRows(snapshot: Snapshot): SavedRow[] {
  const counted = countedRows(snapshot);
  return snapshot.saved.flatMap((saved, id): SavedRow[] => {
    const tensor = rowAt(snapshot.tensors, saved.tensor);
    const node = rowAt(snapshot.nodes, saved.node);
    if (tensor === null) return [];
    return [
      {
        id,
        node: saved.node,
        op: opLabel(snapshot, saved.node),
        saved,
        tensor,
        nbytes: rowAt(snapshot.storages, tensor.storage)?.nbytes ?? null,
        counted: counted.has(id),
        modified: saved.version_now !== saved.version_saved,
        place: placeOf(snapshot, node?.site)?.label ?? "",
      },
    ];
  });
}

/** Storages that leaves look into: their memory would be there without the graph too. */
function leafStorages(snapshot: Snapshot): ReadonlySet<number | null> {
  const found = new Set<number | null>();
  for (const { kind, outputs } of snapshot.nodes) {
    if (kind !== "accumulate" && kind !== "leaf") continue;
    for (const output of outputs) {
      found.add(rowAt(snapshot.tensors, output)?.storage ?? null);
    }
  }
  return found;
}

export function savedTotals(
  snapshot: Snapshot,
  rows: readonly SavedRow[],
): SavedTotals {
  const leaves = leafStorages(snapshot);
  let keptBytes = 0;
  let parameterBytes = 0;
  let freedBytes = 0;
  for (const { counted, nbytes, saved, tensor } of rows) {
    if (!counted) continue;
    const size = nbytes ?? 0;
    if (saved.freed) freedBytes += size;
    else keptBytes += size;
    if (!saved.freed && leaves.has(tensor.storage)) parameterBytes += size;
  }
  return {
    rows: rows.length,
    storages: rows.filter(({ counted }) => counted).length,
    keptBytes,
    parameterBytes,
    freedBytes,
    modified: rows.filter(({ modified }) => modified).length,
  };
}

/** Who wrote to a saved tensor since, oldest first. */
export function writersSince(
  tables: Tables,
  saved: Saved,
  tensor: TensorMeta,
): Writer[] {
  if (tensor.storage === null || saved.version_now === saved.version_saved) return [];
  return (tables.writesTo.get(tensor.storage) ?? [])
    .filter(
      ({ version }) => version > saved.version_saved && version <= saved.version_now,
    )
    .map((write) => ({ write, place: placeOf(tables.snapshot, write.site) }));
}

export const SAVED_FILTERS = ["all", "kept", "freed", "modified", "packed"] as const;
export type SavedFilter = (typeof SAVED_FILTERS)[number];

const TESTS: Readonly<Record<SavedFilter, (row: SavedRow) => boolean>> = {
  all: () => true,
  kept: ({ saved }) => !saved.freed,
  freed: ({ saved }) => saved.freed,
  modified: ({ modified }) => modified,
  packed: ({ saved }) => saved.hooked,
};

/** The rows of one state in which every word occurs: op, slot, tensor, dtype, line, #storage. */
export function filterSaved(
  rows: readonly SavedRow[],
  filter: SavedFilter,
  text: string,
): SavedRow[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  return rows.filter((row) => {
    if (!TESTS[filter](row)) return false;
    if (words.length === 0) return true;
    const { op, saved, tensor, place } = row;
    const hay =
      `${op} ${saved.slot} ${tensor.name ?? ""} ${tensor.dtype} ` +
      `(${tensor.shape.join(", ")}) ${tensor.shape.join("x")} ${place} #${tensor.storage}`;
    const lower = hay.toLowerCase();
    return words.every((word) => lower.includes(word));
  });
}

/** How many rows each filter would leave. */
export function countSaved(rows: readonly SavedRow[]): Record<SavedFilter, number> {
  const counts = { all: 0, kept: 0, freed: 0, modified: 0, packed: 0 };
  for (const row of rows) {
    for (const filter of SAVED_FILTERS) if (TESTS[filter](row)) counts[filter] += 1;
  }
  return counts;
}
