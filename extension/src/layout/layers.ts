// Between stages 1 and 2: dummy points, so that segments connect neighbouring ranks.
import { type Layered, type LocalGraph, type Ranking, SHORT } from "./local.js";

const DUMMY_WIDTH = 6;

/** Add one chain of dummies per bundle: edges from one point share it. */
export function addDummies(graph: LocalGraph, ranking: Ranking): Layered {
  const { rank, style } = ranking;
  const firstDummy = new Int32Array(graph.bundleCount).fill(-1);
  const length = chainLengths(graph, ranking);
  let count = graph.count;
  for (let bundle = 0; bundle < graph.bundleCount; bundle++) {
    const dummies = length[bundle] ?? 0;
    if (dummies > 0) firstDummy[bundle] = count;
    count += dummies;
  }
  const allRanks = new Int32Array(count);
  allRanks.set(rank);
  const width = new Float64Array(count).fill(DUMMY_WIDTH);
  width.set(graph.width);
  const segments = new SegmentList();
  const segmentInto = new Int32Array(count).fill(-1);
  const lastSegment = new Int32Array(style.length).fill(-1);
  const started = new Uint8Array(graph.bundleCount);
  for (let edge = 0; edge < style.length; edge++) {
    if (style[edge] !== SHORT) continue;
    const source = graph.source[edge] ?? 0;
    const target = graph.target[edge] ?? 0;
    const bundle = graph.bundle[edge] ?? 0;
    const first = firstDummy[bundle] ?? -1;
    const sourceOffset = graph.sourceOffset[edge] ?? 0;
    if (first >= 0 && started[bundle] === 0) {
      started[bundle] = 1;
      segmentInto[first] = segments.add(source, first, sourceOffset, 0);
      const dummies = length[bundle] ?? 0;
      for (let step = 0; step < dummies; step++) {
        allRanks[first + step] = (rank[source] ?? 0) + 1 + step;
        if (step === 0) continue;
        segmentInto[first + step] = segments.add(first + step - 1, first + step, 0, 0);
      }
    }
    const between = (rank[target] ?? 0) - (rank[source] ?? 0) - 1;
    const targetOffset = graph.targetOffset[edge] ?? 0;
    lastSegment[edge] =
      between === 0
        ? segments.add(source, target, sourceOffset, targetOffset)
        : segments.add(first + between - 1, target, 0, targetOffset);
  }
  return {
    graph,
    ranking,
    count,
    rank: allRanks,
    width,
    segmentSource: Int32Array.from(segments.source),
    segmentTarget: Int32Array.from(segments.target),
    segmentSourceOffset: Float64Array.from(segments.sourceOffset),
    segmentTargetOffset: Float64Array.from(segments.targetOffset),
    lastSegment,
    segmentInto,
    firstDummy,
  };
}

class SegmentList {
  readonly source: number[] = [];
  readonly target: number[] = [];
  readonly sourceOffset: number[] = [];
  readonly targetOffset: number[] = [];

  add(
    source: number,
    target: number,
    sourceOffset: number,
    targetOffset: number,
  ): number {
    this.target.push(target);
    this.sourceOffset.push(sourceOffset);
    this.targetOffset.push(targetOffset);
    return this.source.push(source) - 1;
  }
}

/** Per bundle: the dummies that its longest edge needs. */
function chainLengths(graph: LocalGraph, ranking: Ranking): Int32Array {
  const length = new Int32Array(graph.bundleCount);
  for (let edge = 0; edge < ranking.style.length; edge++) {
    if (ranking.style[edge] !== SHORT) continue;
    const from = ranking.rank[graph.source[edge] ?? 0] ?? 0;
    const between = (ranking.rank[graph.target[edge] ?? 0] ?? 0) - from - 1;
    const bundle = graph.bundle[edge] ?? 0;
    if (between > (length[bundle] ?? 0)) length[bundle] = between;
  }
  return length;
}
