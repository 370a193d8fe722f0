// Stage 3d: cuts straight lines that make the picture drift sideways.
//
// Each block is straight, and right of its neighbour in one rank and left of another in
// the next; over a thousand ranks such steps add up to a staircase:
//
//     A          Cutting B, so that it may bend between its two neighbours, lets
//     A B        C stand below A again. Only blocks on a longest staircase are cut.
//       B C
import { groupBy, rowOf } from "../graph/build.js";
import { type Alignment, WEIGHT } from "./align.js";
import type { Blocks } from "./blocks.js";
import type { Constraints } from "./compact.js";
import type { Layered, Ordering } from "./local.js";

/** A picture this much wider than its widest rank is not cut. */
const ACCEPTED = 1.6;
const EPSILON = 0.01;

export interface Packed {
  readonly layered: Layered;
  readonly ordering: Ordering;
  readonly alignment: Alignment;
  readonly blocks: Blocks;
  readonly constraints: Constraints;
  readonly x: Float64Array;
}

/** Cut the blocks on the longest staircases to the left and to the right, by changing
 * the alignment. False when the picture is narrow enough, or nothing is left to cut. */
export function cutStairs(packed: Packed): boolean {
  const { x } = packed;
  let leftmost = 0;
  let rightmost = 0;
  for (let block = 1; block < x.length; block++) {
    if ((x[block] ?? 0) < (x[leftmost] ?? 0)) leftmost = block;
    if ((x[block] ?? 0) > (x[rightmost] ?? 0)) rightmost = block;
  }
  const width = (x[rightmost] ?? 0) - (x[leftmost] ?? 0);
  if (x.length === 0 || width <= ACCEPTED * widestRank(packed)) return false;
  const vertices = verticesOfBlocks(packed);
  const left = cutPath(packed, vertices, leftmost, "right");
  const right = cutPath(packed, vertices, rightmost, "left");
  return left || right;
}

/** The least width of the widest rank. */
function widestRank({ ordering, constraints }: Packed): number {
  const width = new Float64Array(ordering.starts.length);
  let widest = 0;
  constraints.gap.forEach((gap, each) => {
    const rank = constraints.rank[each] ?? 0;
    width[rank] = (width[rank] ?? 0) + Math.max(0, gap);
    widest = Math.max(widest, width[rank] ?? 0);
  });
  return widest;
}

/** Per block its vertices from top to bottom, as places in the order of all vertices. */
function verticesOfBlocks({ ordering, blocks }: Packed) {
  return groupBy(
    ordering.order.map((vertex) => blocks.of[vertex] ?? 0),
    blocks.count,
  );
}

/** Follow the tight constraints from a block towards the spine, and cut each block that
 * is entered in one rank and left in another. */
function cutPath(
  packed: Packed,
  vertices: ReturnType<typeof verticesOfBlocks>,
  start: number,
  side: "left" | "right",
): boolean {
  const { constraints, blocks, alignment, ordering, layered, x } = packed;
  const rows = side === "right" ? constraints.right : constraints.left;
  const ends = side === "right" ? constraints.to : constraints.from;
  let block = start;
  let entered = -1;
  let hasCut = false;
  while (block !== blocks.spine) {
    const tight = rowOf(rows, block).find((each) => {
      const span =
        (x[constraints.to[each] ?? 0] ?? 0) - (x[constraints.from[each] ?? 0] ?? 0);
      return span - (constraints.gap[each] ?? 0) < EPSILON;
    });
    if (tight === undefined) break;
    const left = constraints.rank[tight] ?? 0;
    if (entered >= 0 && left !== entered) {
      const between = Array.from(
        rowOf(vertices, block),
        (at) => ordering.order[at] ?? 0,
      ).filter((vertex) => isBetween(layered.rank[vertex] ?? 0, entered, left));
      hasCut = cutWeakest(alignment, between) || hasCut;
    }
    entered = left;
    block = ends[tight] ?? 0;
  }
  return hasCut;
}

/** Whether the segment into a rank lies between two other ranks. */
function isBetween(rank: number, a: number, b: number): boolean {
  return rank > Math.min(a, b) && rank <= Math.max(a, b);
}

function cutWeakest(alignment: Alignment, vertices: readonly number[]): boolean {
  const { segment, weight } = alignment;
  let weakest = WEIGHT.spine as number;
  let found = -1;
  for (const vertex of vertices) {
    const each = segment[vertex] ?? -1;
    if (each < 0 || (weight[each] ?? 0) >= weakest) continue;
    weakest = weight[each] ?? 0;
    found = vertex;
  }
  if (found >= 0) segment[found] = -1;
  return found >= 0;
}
