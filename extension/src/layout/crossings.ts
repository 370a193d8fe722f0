// Counts crossings between neighbouring ranks with an accumulator tree, in O(E log V).
import type { Rows } from "../graph/build.js";

/** Per vertex: its neighbours in one direction, and where on them the segments end. */
export interface Neighbours extends Rows {
  /** Per entry: from -0.5 (left end of the neighbour) to 0.5 (right end). */
  readonly port: Float64Array;
  /** Per entry: the same on the vertex itself. */
  readonly ownPort: Float64Array;
}

/** Per vertex: its neighbours in the rank above and in the rank below. */
export interface Sides {
  readonly up: Neighbours;
  readonly down: Neighbours;
}

export interface RankOrder {
  readonly starts: Int32Array;
  readonly order: Int32Array;
  readonly position: Int32Array;
}

export function countCrossings(state: RankOrder, sides: Sides): number {
  const { starts } = state;
  let widest = 0;
  for (let rank = 0; rank + 1 < starts.length; rank++) {
    widest = Math.max(widest, (starts[rank + 1] ?? 0) - (starts[rank] ?? 0));
  }
  const tree = new Int32Array(widest + 2);
  let crossings = 0;
  for (let rank = 0; rank + 2 < starts.length; rank++) {
    const below = (starts[rank + 2] ?? 0) - (starts[rank + 1] ?? 0);
    const here = (starts[rank + 1] ?? 0) - (starts[rank] ?? 0);
    if (below < 2 || here < 2) continue;
    tree.fill(0, 0, below + 1);
    crossings += crossingsBelow(state, sides.down, rank, below, tree);
  }
  return crossings;
}

/** Segments come by their upper end; each crosses those before it that end further right.
 * Those from one port do not cross each other: they are counted first, then added. */
function crossingsBelow(
  { starts, order, position }: RankOrder,
  down: Neighbours,
  rank: number,
  below: number,
  tree: Int32Array,
): number {
  const { items, ownPort } = down;
  let crossings = 0;
  let total = 0;
  for (let i = starts[rank] ?? 0; i < (starts[rank + 1] ?? 0); i++) {
    const vertex = order[i] ?? 0;
    const end = down.starts[vertex + 1] ?? 0;
    let first = down.starts[vertex] ?? 0;
    while (first < end) {
      let next = first;
      for (; next < end && ownPort[next] === ownPort[first]; next++) {
        let notRight = 0;
        let at = (position[items[next] ?? 0] ?? 0) + 1;
        for (; at > 0; at -= at & -at) notRight += tree[at] ?? 0;
        crossings += total - notRight;
      }
      total += next - first;
      for (; first < next; first++) {
        let at = (position[items[first] ?? 0] ?? 0) + 1;
        for (; at <= below; at += at & -at) tree[at] = (tree[at] ?? 0) + 1;
      }
    }
  }
  return crossings;
}
