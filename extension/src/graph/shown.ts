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

/** Do something with every node that is drawn, and its row. */
export function eachDrawn(
  snapshot: Snapshot,
  act: (node: OpNode, id: number) => void,
): void {
  const shown = shownNodes(snapshot);
  snapshot.nodes.forEach((node, id) => {
    if (shown === null || shown[id] === 1) act(node, id);
  });
}

/** How many nodes are drawn. */
export function countDrawn(snapshot: Snapshot): number {
  const shown = shownNodes(snapshot);
  if (shown === null) return snapshot.nodes.length;
  return shown.reduce((sum, each) => sum + each, 0);
}
