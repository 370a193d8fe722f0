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

type Ends = Pick<Tables, "incoming" | "outgoing">;

const knownEnds = new WeakMap<readonly Edge[], Ends>();

/** The edges by their ends; the same for a recording and what is drawn of it. */
function endsOf({ edges }: Snapshot): Ends {
  const known = knownEnds.get(edges);
  if (known !== undefined) return known;
  const refs = edges.map((edge, id) => ({ id, edge }));
  const incoming = groupBy(refs, ({ edge }) => edge.target);
  for (const group of incoming.values())
    group.sort((a, b) => a.edge.input - b.edge.input);
  const ends = { incoming, outgoing: groupBy(refs, ({ edge }) => edge.source) };
  knownEnds.set(edges, ends);
  return ends;
}

export function buildTables(snapshot: Snapshot): Tables {
  const writesTo = groupBy(snapshot.writes, (write) => write.storage);
  for (const group of writesTo.values()) group.sort((a, b) => a.version - b.version);
  return {
    snapshot,
    ...endsOf(snapshot),
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
