// The versions of a storage in order: who made each, and which saved tensors expect it.
import { type Place, placeOf } from "./inspect.js";
import { opLabel } from "./ledger.js";
import { rowAt, type Tables } from "./tables.js";

export interface SavedAt {
  readonly node: number;
  readonly label: string;
  readonly slot: string;
  readonly freed: boolean;
  /** The memory was written since: backward() would refuse it. */
  readonly stale: boolean;
}

export interface VersionStep {
  readonly version: number;
  /** The op that made the version; "" for the first that was seen. */
  readonly op: string;
  readonly node: number | null;
  readonly place: Place | null;
  readonly saved: readonly SavedAt[];
}

/** Versions that were written or are expected, oldest first, the one now last. */
export function versionSteps(tables: Tables, storage: number): VersionStep[] {
  const { snapshot, writesTo } = tables;
  const row = rowAt(snapshot.storages, storage);
  if (row === null) return [];
  const aliases = new Set(row.tensors);
  const saved = new Map<number, SavedAt[]>();
  for (const each of snapshot.saved) {
    if (!aliases.has(each.tensor)) continue;
    const known = saved.get(each.version_saved) ?? [];
    known.push({
      node: each.node,
      label: opLabel(snapshot, each.node),
      slot: each.slot,
      freed: each.freed,
      stale: each.version_now !== each.version_saved,
    });
    saved.set(each.version_saved, known);
  }
  const writes = new Map((writesTo.get(storage) ?? []).map((w) => [w.version, w]));
  const first = Math.min(row.version, ...saved.keys(), ...writes.keys());
  const before = writes.has(first) ? Math.max(0, first - 1) : first;
  const versions = new Set([before, ...writes.keys(), ...saved.keys(), row.version]);
  return [...versions]
    .sort((a, b) => a - b)
    .map((version) => {
      const write = writes.get(version);
      return {
        version,
        op: write?.op ?? "",
        node: write?.node ?? null,
        place: placeOf(snapshot, write?.site),
        saved: saved.get(version) ?? [],
      };
    });
}
