// Stage 3b: vertices on straight segments form a block, which moves as one.
import type { Alignment } from "./align.js";
import type { Layered, Ordering } from "./local.js";

export interface Blocks {
  readonly count: number;
  /** Per vertex: its block, and its centre relative to the block's x. */
  readonly of: Int32Array;
  readonly shift: Float64Array;
  /** The block of the main path's end. */
  readonly spine: number;
}

export function collectBlocks(
  layered: Layered,
  ordering: Ordering,
  alignment: Alignment,
): Blocks {
  const of = new Int32Array(layered.count);
  const shift = new Float64Array(layered.count);
  let count = 0;
  for (const vertex of ordering.order) {
    const segment = alignment.segment[vertex] ?? -1;
    if (segment < 0) {
      of[vertex] = count++;
      continue;
    }
    const above = layered.segmentSource[segment] ?? 0;
    of[vertex] = of[above] ?? 0;
    shift[vertex] =
      (shift[above] ?? 0) +
      (layered.segmentSourceOffset[segment] ?? 0) -
      (layered.segmentTargetOffset[segment] ?? 0);
  }
  return { count, of, shift, spine: of[alignment.spineEnd] ?? 0 };
}
