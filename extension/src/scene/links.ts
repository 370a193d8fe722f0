// Links between boxes whose tensors look into the same memory: views, in-place results.
import type { Graph } from "../graph/build.js";
import type { VisibleGraph } from "../graph/collapse.js";
import { eachDrawn } from "../graph/shown.js";
import type { Box } from "./scene.js";

export interface StorageLink {
  /** Items: who has the memory first, and who looks into it too. */
  readonly from: number;
  readonly to: number;
  readonly storage: number;
}

/** A memory that everything looks into is drawn for its first views only. */
const MOST_LINKS = 60;

/** From the first box of each shared memory to the others, in the order of the nodes. */
export function storageLinks(graph: Graph, visible: VisibleGraph): StorageLink[] {
  const users = storageUsers(graph);
  const links: StorageLink[] = [];
  for (const [storage, nodes] of users) {
    const drawn = nodes.map((node) => visible.itemOfNode[node] ?? -1);
    const items = [...new Set(drawn.filter((item) => item >= 0))];
    const [from = -1, ...others] = items;
    for (const to of others.slice(0, MOST_LINKS)) links.push({ from, to, storage });
  }
  return links;
}

/** How many nodes have an output that shares its memory with another node's. */
export function countSharing(graph: Graph): number {
  let count = 0;
  for (const nodes of storageUsers(graph).values()) count += nodes.length;
  return count;
}

/** Per storage that several nodes' outputs look into: those nodes. */
function storageUsers({ snapshot }: Graph): Map<number, number[]> {
  const users = new Map<number, number[]>();
  eachDrawn(snapshot, (node, id) => {
    const storages = new Set(
      node.outputs.map((output) => snapshot.tensors[output]?.storage ?? -1),
    );
    for (const storage of storages) {
      if (storage < 0) continue;
      const known = users.get(storage);
      if (known === undefined) users.set(storage, [id]);
      else known.push(id);
    }
  });
  for (const [storage, nodes] of users) if (nodes.length < 2) users.delete(storage);
  return users;
}

/** A curve from the right side of a box to the right side of another, around what stands
 * between them: start, two controls, end. */
export function linkCurve(from: Box, to: Box): readonly number[] {
  const right = Math.max(from.x + from.width, to.x + to.width);
  const y0 = from.y + from.height / 2;
  const y1 = to.y + to.height / 2;
  const bulge = right + 26 + Math.min(140, 0.16 * Math.abs(y1 - y0));
  return [from.x + from.width, y0, bulge, y0, bulge, y1, to.x + to.width, y1];
}
