// Stage 3: x from straight blocks, y from the heights of the ranks.
import { alignVertices } from "./align.js";
import { collectBlocks } from "./blocks.js";
import { compact, constrain } from "./compact.js";
import type { Coordinates, Layered, Ordering } from "./local.js";
import { shove } from "./shove.js";
import { cutStairs } from "./stairs.js";
import type { LayoutOptions } from "./types.js";

/** A gap grows with the widest sideways step through it, so that fans stay readable. */
const FAN_SHARE = 0.08;
const FAN_LIMIT = 84;
const CUT_ROUNDS = 16;

export function assignCoordinates(
  layered: Layered,
  ordering: Ordering,
  options: LayoutOptions,
): Coordinates {
  const alignment = alignVertices(layered, ordering);
  let blocks = collectBlocks(layered, ordering, alignment);
  let constraints = constrain(layered, ordering, blocks, options.nodeGap);
  let blockX = compact(blocks.count, constraints, blocks.spine);
  for (let round = 0; round < CUT_ROUNDS; round++) {
    const wide = { layered, ordering, alignment, blocks, constraints, x: blockX };
    if (!cutStairs(wide)) break;
    blocks = collectBlocks(layered, ordering, alignment);
    constraints = constrain(layered, ordering, blocks, options.nodeGap);
    blockX = compact(blocks.count, constraints, blocks.spine);
  }
  shove(layered, alignment, blocks, constraints, blockX);
  const x = new Float64Array(layered.count);
  for (let vertex = 0; vertex < layered.count; vertex++) {
    x[vertex] = (blockX[blocks.of[vertex] ?? 0] ?? 0) + (blocks.shift[vertex] ?? 0);
  }
  const ranks = stackRanks(layered, x, options);
  return { x, y: placeInRanks(layered, ranks), ...ranks };
}

/** Centre boxes in their rank; where it is taller, hang leaves next to what they feed
 * and ends next to what feeds them. */
function placeInRanks(
  layered: Layered,
  { top, bottom }: { readonly top: Float64Array; readonly bottom: Float64Array },
): Float64Array {
  const { graph } = layered;
  const hasInput = new Uint8Array(graph.count);
  const hasOutput = new Uint8Array(graph.count);
  for (const vertex of graph.source) hasOutput[vertex] = 1;
  for (const vertex of graph.target) hasInput[vertex] = 1;
  return Float64Array.from({ length: graph.count }, (_, vertex) => {
    const rank = layered.rank[vertex] ?? 0;
    const half = (graph.height[vertex] ?? 0) / 2;
    const above = top[rank] ?? 0;
    const below = bottom[rank] ?? 0;
    if (hasInput[vertex] === 0 && hasOutput[vertex] === 1) return below - half;
    if (hasInput[vertex] === 1 && hasOutput[vertex] === 0) return above + half;
    return (above + below) / 2;
  });
}

function stackRanks(layered: Layered, x: Float64Array, options: LayoutOptions) {
  const { count } = layered.ranking;
  const height = new Float64Array(count);
  const isBorder = new Uint8Array(count);
  for (let vertex = 0; vertex < layered.graph.count; vertex++) {
    const rank = layered.rank[vertex] ?? 0;
    height[rank] = Math.max(height[rank] ?? 0, layered.graph.height[vertex] ?? 0);
    if (layered.graph.pin[vertex] !== 0) isBorder[rank] = 1;
  }
  const step = sidewaysSteps(layered, x);
  const top = new Float64Array(count);
  const bottom = new Float64Array(count);
  let y = 0;
  for (let rank = 0; rank < count; rank++) {
    top[rank] = y;
    bottom[rank] = y + (height[rank] ?? 0);
    const atBorder = isBorder[rank] === 1 || isBorder[rank + 1] === 1;
    const least = atBorder ? options.rankGap / 2 : options.rankGap;
    const fan = Math.min(FAN_LIMIT, FAN_SHARE * (step[rank] ?? 0));
    y = (bottom[rank] ?? 0) + Math.max(least, fan);
  }
  return { top, bottom };
}

function sidewaysSteps(layered: Layered, x: Float64Array): Float64Array {
  const widest = new Float64Array(layered.ranking.count);
  for (let segment = 0; segment < layered.segmentSource.length; segment++) {
    const source = layered.segmentSource[segment] ?? 0;
    const target = layered.segmentTarget[segment] ?? 0;
    const rank = layered.rank[source] ?? 0;
    const step = Math.abs((x[source] ?? 0) - (x[target] ?? 0));
    widest[rank] = Math.max(widest[rank] ?? 0, step);
  }
  return widest;
}
