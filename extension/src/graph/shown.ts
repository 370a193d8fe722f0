// Which nodes of a snapshot are drawn: of several steps of a training, those of one. Rows
// keep their numbers, so that all that points at a row goes on pointing at it.
import type { OpNode, Snapshot } from "../ir/types.js";

/** Per node 1 where it is drawn. */
export type Shown = Uint8Array;

const shownOf = new WeakMap<Snapshot, Shown>();

/** What is drawn of a snapshot; null: all of it. */
export function shownNodes(snapshot: Snapshot): Shown | null {
  return shownOf.get(snapshot) ?? null;
}

/** Remember what is to be drawn of a snapshot. */
export function withShown(snapshot: Snapshot, shown: Shown | null): Snapshot {
  if (shown !== null) shownOf.set(snapshot, shown);
  return snapshot;
}

/** The nodes that are drawn, with their rows. */
export function* drawnNodes(
  snapshot: Snapshot,
): Generator<readonly [node: OpNode, id: number]> {
  const shown = shownNodes(snapshot);
  for (const [id, node] of snapshot.nodes.entries()) {
    if (shown === null || shown[id] === 1) yield [node, id];
  }
}

/** How many nodes are drawn. */
export function countDrawn(snapshot: Snapshot): number {
  const shown = shownNodes(snapshot);
  if (shown === null) return snapshot.nodes.length;
  return shown.reduce((sum, each) => sum + each, 0);
}
