// Stage 3a: decides which segments are straight, without crossings among them.
import { groupBy, type Rows } from "../graph/build.js";
import type { Layered, Ordering } from "./local.js";
import { markSpine, markStrands } from "./spine.js";

/** What a segment is worth when two want to be straight and only one can be. */
export const WEIGHT = {
  /** From a vertex that nothing enters: parameters sit beside the main path. */
  leaf: 0,
  /** Between a box and a dummy: where a long edge begins and ends. */
  bend: 1,
  /** Between boxes: the main path. */
  main: 2,
  /** On a path that is the longest beside the spine. */
  strand: 3,
  /** Between dummies: long edges are straight. */
  inner: 4,
  /** On the longest path: the level's backbone. */
  spine: 5,
} as const;
const CLASSES = Object.values(WEIGHT).reverse();

export interface Alignment {
  /** Per vertex: the segment from above along which it is straight, or -1. */
  readonly segment: Int32Array;
  /** Per segment: its class. */
  readonly weight: Uint8Array;
  /** The vertex at the end of the main path. */
  readonly spineEnd: number;
}

/** Align vertices along the heaviest segments that do not cross an aligned one. */
export function alignVertices(layered: Layered, ordering: Ordering): Alignment {
  const spine = markSpine(layered, ordering);
  const weight = weighSegments(layered, spine, markStrands(layered, ordering, spine));
  const aligner = new Aligner(layered, ordering, weight);
  for (let rank = 0; rank + 2 < ordering.starts.length; rank++) aligner.alignRank(rank);
  const spineEnd = layered.segmentTarget[spine.lastIndexOf(1)] ?? 0;
  return { segment: aligner.alignedSegment, weight, spineEnd };
}

function weighSegments(
  layered: Layered,
  spine: Uint8Array,
  strands: Uint8Array,
): Uint8Array {
  const real = layered.graph.count;
  const hasInput = new Uint8Array(layered.count);
  for (const target of layered.segmentTarget) hasInput[target] = 1;
  return Uint8Array.from(layered.segmentSource, (source, segment) => {
    if (spine[segment] === 1) return WEIGHT.spine;
    const toDummy = (layered.segmentTarget[segment] ?? 0) >= real;
    if (source >= real && toDummy) return WEIGHT.inner;
    if (strands[segment] === 1) return WEIGHT.strand;
    if (hasInput[source] === 0 && layered.graph.pin[source] === 0) return WEIGHT.leaf;
    return toDummy || source >= real ? WEIGHT.bend : WEIGHT.main;
  });
}

class Aligner {
  /** Per vertex: the segment from above that it is aligned along, or -1. */
  readonly alignedSegment: Int32Array;
  private readonly alignedBelow: Int32Array;
  private readonly up: Rows;
  private readonly down: Rows;
  private readonly classesBelow: Uint8Array;
  private readonly leftMost: Int32Array;
  private readonly rightMost: Int32Array;

  constructor(
    private readonly layered: Layered,
    private readonly ordering: Ordering,
    private readonly weight: Uint8Array,
  ) {
    const { count, rank, segmentSource, segmentTarget } = layered;
    this.alignedSegment = new Int32Array(count).fill(-1);
    this.alignedBelow = new Int32Array(count).fill(-1);
    const { position } = ordering;
    this.up = sortRows(groupBy(segmentTarget, count), segmentSource, position);
    this.down = sortRows(groupBy(segmentSource, count), segmentTarget, position);
    this.classesBelow = new Uint8Array(layered.ranking.count);
    for (let segment = 0; segment < weight.length; segment++) {
      const above = rank[segmentSource[segment] ?? 0] ?? 0;
      const bit = 1 << (weight[segment] ?? 0);
      this.classesBelow[above] = (this.classesBelow[above] ?? 0) | bit;
    }
    const widest = ordering.starts.reduce(
      (most, start, i) => Math.max(most, start - (ordering.starts[i - 1] ?? 0)),
      0,
    );
    this.leftMost = new Int32Array(widest + 1);
    this.rightMost = new Int32Array(widest + 1);
  }

  /** Align a rank with the one below: heavy segments first, mutual medians first. */
  alignRank(rank: number): void {
    for (const wanted of CLASSES) {
      if (((this.classesBelow[rank] ?? 0) & (1 << wanted)) === 0) continue;
      for (const mutual of [true, false]) {
        this.findFree(rank);
        this.alignClass(rank, wanted, mutual);
      }
    }
  }

  /** Where each vertex of the rank may be aligned without crossing an aligned pair. */
  private findFree(rank: number): void {
    const { starts, order, position } = this.ordering;
    const first = starts[rank] ?? 0;
    const size = (starts[rank + 1] ?? 0) - first;
    let bound = -1;
    for (let i = 0; i < size; i++) {
      this.leftMost[i] = bound;
      const below = this.alignedBelow[order[first + i] ?? 0] ?? -1;
      if (below >= 0) bound = position[below] ?? 0;
    }
    bound = 0x7fffffff;
    for (let i = size - 1; i >= 0; i--) {
      this.rightMost[i] = bound;
      const below = this.alignedBelow[order[first + i] ?? 0] ?? -1;
      if (below >= 0) bound = position[below] ?? 0;
    }
  }

  private alignClass(rank: number, wanted: number, mutual: boolean): void {
    const { starts, order, position } = this.ordering;
    const first = starts[rank + 1] ?? 0;
    const end = starts[rank + 2] ?? 0;
    let lastAbove = -1;
    for (let i = first; i < end; i++) {
      const vertex = order[i] ?? 0;
      if ((this.alignedSegment[vertex] ?? -1) >= 0) continue;
      for (const segment of this.medians(this.up, vertex, wanted)) {
        const above = this.layered.segmentSource[segment] ?? 0;
        const place = position[above] ?? 0;
        if ((this.alignedBelow[above] ?? -1) >= 0 || place <= lastAbove) continue;
        const here = i - first;
        if (here <= (this.leftMost[place] ?? 0)) continue;
        if (here >= (this.rightMost[place] ?? 0)) continue;
        if (mutual && !this.medians(this.down, above, wanted).includes(segment))
          continue;
        this.alignedSegment[vertex] = segment;
        this.alignedBelow[above] = vertex;
        lastAbove = place;
        break;
      }
    }
  }

  /** The one or two middle segments of a class at a vertex. */
  private medians(rows: Rows, vertex: number, wanted: number): readonly number[] {
    const start = rows.starts[vertex] ?? 0;
    const end = rows.starts[vertex + 1] ?? 0;
    let size = 0;
    for (let i = start; i < end; i++) {
      if (this.weight[rows.items[i] ?? 0] === wanted) size++;
    }
    if (size === 0) return [];
    const lower = (size - 1) >> 1;
    const upper = size >> 1;
    const found: number[] = [];
    let index = 0;
    for (let i = start; i < end && index <= upper; i++) {
      const segment = rows.items[i] ?? 0;
      if (this.weight[segment] !== wanted) continue;
      if (index === lower || index === upper) found.push(segment);
      index++;
    }
    return found;
  }
}

/** Sort the segments in each row by the position of their other end. */
function sortRows(rows: Rows, end: Int32Array, position: Int32Array): Rows {
  const { starts, items } = rows;
  const key = (segment: number) => position[end[segment] ?? 0] ?? 0;
  for (let row = 0; row + 1 < starts.length; row++) {
    const size = (starts[row + 1] ?? 0) - (starts[row] ?? 0);
    if (size > 1)
      items.subarray(starts[row], starts[row + 1]).sort((a, b) => key(a) - key(b));
  }
  return rows;
}
