// Indexes over the tables of a snapshot, built once: who belongs to which node.
import type { Edge, Saved, Snapshot, Write } from "../ir/types.js";

export interface EdgeRef {
  readonly id: number;
  readonly edge: Edge;
}

export interface Tables {
  readonly snapshot: Snapshot;
  /** Edges that end at a node: its inputs. */
  readonly incoming: ReadonlyMap<number, readonly EdgeRef[]>;
  /** Edges that begin at a node: who consumes its outputs. */
  readonly outgoing: ReadonlyMap<number, readonly EdgeRef[]>;
  readonly savedBy: ReadonlyMap<number, readonly Saved[]>;
  readonly writesTo: ReadonlyMap<number, readonly Write[]>;
}

/** Rows by key, in their order. */
export function groupBy<Row, Key>(
  rows: Iterable<Row>,
  keyOf: (row: Row) => Key,
): Map<Key, Row[]> {
  const groups = new Map<Key, Row[]>();
  for (const row of rows) {
    const key = keyOf(row);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [row]);
    else group.push(row);
  }
  return groups;
}

export function buildTables(snapshot: Snapshot): Tables {
  const edges = snapshot.edges.map((edge, id) => ({ id, edge }));
  const incoming = groupBy(edges, ({ edge }) => edge.target);
  for (const group of incoming.values())
    group.sort((a, b) => a.edge.input - b.edge.input);
  const writesTo = groupBy(snapshot.writes, (write) => write.storage);
  for (const group of writesTo.values()) group.sort((a, b) => a.version - b.version);
  return {
    snapshot,
    incoming,
    outgoing: groupBy(edges, ({ edge }) => edge.source),
    savedBy: groupBy(snapshot.saved, (saved) => saved.node),
    writesTo,
  };
}

/** A row of a table, or null when the index is missing or out of range. */
export function rowAt<Row>(
  rows: readonly Row[],
  index: number | null | undefined,
): Row | null {
  if (index === null || index === undefined) return null;
  return rows[index] ?? null;
}
