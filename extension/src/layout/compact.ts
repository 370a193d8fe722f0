// Stage 3c: keeps blocks apart. Packs them around the spine.
import { groupBy, type Rows } from "../graph/build.js";
import type { Blocks } from "./blocks.js";
import type { Layered, Ordering } from "./local.js";
import { LayoutError } from "./types.js";

/** Constraint c: x[to[c]] - x[from[c]] >= gap[c]. */
export interface Constraints {
  readonly from: Int32Array;
  readonly to: Int32Array;
  readonly gap: Float64Array;
  /** The rank in which the two blocks are neighbours. */
  readonly rank: Int32Array;
  /** Per block: constraints that leave it (neighbours on its right) and enter it. */
  readonly right: Rows;
  readonly left: Rows;
  /** Blocks, each after all those on its left. */
  readonly order: Int32Array;
}

export function constrain(
  layered: Layered,
  ordering: Ordering,
  blocks: Blocks,
  nodeGap: number,
): Constraints {
  const from: number[] = [];
  const to: number[] = [];
  const gap: number[] = [];
  const ranks: number[] = [];
  const real = layered.graph.count;
  for (let rank = 0; rank + 1 < ordering.starts.length; rank++) {
    const end = (ordering.starts[rank + 1] ?? 0) - 1;
    for (let i = ordering.starts[rank] ?? 0; i < end; i++) {
      const a = ordering.order[i] ?? 0;
      const b = ordering.order[i + 1] ?? 0;
      const free = a >= real && b >= real ? nodeGap / 2 : nodeGap;
      const half = ((layered.width[a] ?? 0) + (layered.width[b] ?? 0)) / 2;
      ranks.push(rank);
      from.push(blocks.of[a] ?? 0);
      to.push(blocks.of[b] ?? 0);
      gap.push(half + free + (blocks.shift[a] ?? 0) - (blocks.shift[b] ?? 0));
    }
  }
  const fromBlocks = Int32Array.from(from);
  const toBlocks = Int32Array.from(to);
  const right = groupBy(fromBlocks, blocks.count);
  return {
    from: fromBlocks,
    to: toBlocks,
    gap: Float64Array.from(gap),
    rank: Int32Array.from(ranks),
    right,
    left: groupBy(toBlocks, blocks.count),
    order: leftToRight(blocks.count, toBlocks, right),
  };
}

function leftToRight(count: number, to: Int32Array, right: Rows): Int32Array {
  const waiting = new Int32Array(count);
  for (const block of to) waiting[block] = (waiting[block] ?? 0) + 1;
  const order = new Int32Array(count);
  let tail = 0;
  for (let block = 0; block < count; block++) {
    if (waiting[block] === 0) order[tail++] = block;
  }
  for (let head = 0; head < tail; head++) {
    const block = order[head] ?? 0;
    for (let i = right.starts[block] ?? 0; i < (right.starts[block + 1] ?? 0); i++) {
      const other = to[right.items[i] ?? 0] ?? 0;
      const left = (waiting[other] ?? 0) - 1;
      waiting[other] = left;
      if (left === 0) order[tail++] = other;
    }
  }
  if (tail < count) throw new LayoutError("coord", "aligned vertices cross");
  return order;
}

/** Pack the blocks against the spine, from both sides.
 *
 * Blocks left of the spine go as far right as they can, the others as far left; those
 * that nothing holds on their left go next to what is on their right. */
export function compact(
  count: number,
  constraints: Constraints,
  spine: number,
): Float64Array {
  const x = new Float64Array(count).fill(Number.NaN);
  if (count === 0) return x;
  x[spine] = 0;
  packRight(constraints, x);
  packLeft(constraints, x);
  packRight(constraints, x, 0);
  return x;
}

/** Put blocks without a place as far right as their settled right neighbours allow;
 * those without such neighbours at `otherwise`, or leave them. */
function packRight(
  { order, right, to, gap }: Constraints,
  x: Float64Array,
  otherwise = Number.NaN,
): void {
  for (let index = order.length - 1; index >= 0; index--) {
    const block = order[index] ?? 0;
    if (!Number.isNaN(x[block])) continue;
    let most = Number.POSITIVE_INFINITY;
    for (let i = right.starts[block] ?? 0; i < (right.starts[block + 1] ?? 0); i++) {
      const each = right.items[i] ?? 0;
      const limit = (x[to[each] ?? 0] ?? 0) - (gap[each] ?? 0);
      if (limit < most) most = limit; // never for NaN: that neighbour has no place yet
    }
    x[block] = most === Number.POSITIVE_INFINITY ? otherwise : most;
  }
}

/** Put blocks without a place as far left as their settled left neighbours allow. */
function packLeft({ order, left, from, gap }: Constraints, x: Float64Array): void {
  for (const block of order) {
    if (!Number.isNaN(x[block])) continue;
    let least = Number.NEGATIVE_INFINITY;
    for (let i = left.starts[block] ?? 0; i < (left.starts[block + 1] ?? 0); i++) {
      const each = left.items[i] ?? 0;
      const limit = (x[from[each] ?? 0] ?? 0) + (gap[each] ?? 0);
      if (limit > least) least = limit;
    }
    if (least > Number.NEGATIVE_INFINITY) x[block] = least;
  }
}
