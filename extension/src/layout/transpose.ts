// Swaps neighbours in a rank wherever that removes crossings.
import type { Neighbours, RankOrder, Sides } from "./crossings.js";

/** Vertices with more segments than this stay where they are: a swap costs their square. */
const DEGREE_LIMIT = 12;
const ROUNDS = 2;

export function transpose(state: RankOrder, sides: Sides): void {
  const { starts, order, position } = state;
  for (let round = 0; round < ROUNDS; round++) {
    let improved = false;
    for (let rank = 0; rank + 1 < starts.length; rank++) {
      const end = (starts[rank + 1] ?? 0) - 1;
      for (let i = starts[rank] ?? 0; i < end; i++) {
        const left = order[i] ?? 0;
        const right = order[i + 1] ?? 0;
        const gain =
          swapGain(sides.up, position, left, right) +
          swapGain(sides.down, position, left, right);
        if (gain <= 0) continue;
        order[i] = right;
        order[i + 1] = left;
        position[right] = (position[right] ?? 0) - 1;
        position[left] = (position[left] ?? 0) + 1;
        improved = true;
      }
    }
    if (!improved) return;
  }
}

/** Crossings between the two vertices' segments now, less those after a swap. */
function swapGain(
  rows: Neighbours,
  position: Int32Array,
  left: number,
  right: number,
): number {
  const leftStart = rows.starts[left] ?? 0;
  const leftEnd = rows.starts[left + 1] ?? 0;
  const rightStart = rows.starts[right] ?? 0;
  const rightEnd = rows.starts[right + 1] ?? 0;
  if (leftEnd - leftStart > DEGREE_LIMIT || rightEnd - rightStart > DEGREE_LIMIT) {
    return 0;
  }
  let gain = 0;
  for (let i = leftStart; i < leftEnd; i++) {
    const a = (position[rows.items[i] ?? 0] ?? 0) + (rows.port[i] ?? 0);
    for (let k = rightStart; k < rightEnd; k++) {
      const b = (position[rows.items[k] ?? 0] ?? 0) + (rows.port[k] ?? 0);
      gain += Math.sign(a - b);
    }
  }
  return gain;
}
