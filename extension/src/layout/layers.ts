// Between stages 1 and 2: dummy points, so that segments connect neighbouring ranks.
import { type Layered, type LocalGraph, type Ranking, SHORT } from "./local.js";

const DUMMY_WIDTH = 6;

/** Add one chain of dummies per bundle: edges from one point share it. */
export function addDummies(graph: LocalGraph, ranking: Ranking): Layered {
  const builder = new Builder(graph, ranking);
  for (let edge = 0; edge < ranking.style.length; edge++) {
    if (ranking.style[edge] === SHORT) builder.addEdge(edge);
  }
  return builder.finish();
}

class Builder {
  private readonly length: Int32Array;
  private readonly firstDummy: Int32Array;
  private readonly isStarted: Uint8Array;
  private readonly rank: Int32Array;
  private readonly segmentInto: Int32Array;
  private readonly lastSegment: Int32Array;
  private readonly source: number[] = [];
  private readonly target: number[] = [];
  private readonly sourceOffset: number[] = [];
  private readonly targetOffset: number[] = [];

  constructor(
    private readonly graph: LocalGraph,
    private readonly ranking: Ranking,
  ) {
    this.length = chainLengths(graph, ranking);
    this.firstDummy = new Int32Array(graph.bundleCount).fill(-1);
    this.isStarted = new Uint8Array(graph.bundleCount);
    let count = graph.count;
    for (let bundle = 0; bundle < graph.bundleCount; bundle++) {
      const dummies = this.length[bundle] ?? 0;
      if (dummies > 0) this.firstDummy[bundle] = count;
      count += dummies;
    }
    this.rank = new Int32Array(count);
    this.rank.set(ranking.rank);
    this.segmentInto = new Int32Array(count).fill(-1);
    this.lastSegment = new Int32Array(ranking.style.length).fill(-1);
  }

  addEdge(edge: number): void {
    const { graph, rank } = this;
    const source = graph.source[edge] ?? 0;
    const target = graph.target[edge] ?? 0;
    const bundle = graph.bundle[edge] ?? 0;
    const offset = graph.sourceOffset[edge] ?? 0;
    const first = this.firstDummy[bundle] ?? -1;
    if (first >= 0 && this.isStarted[bundle] === 0)
      this.addChain(bundle, source, offset);
    const between = (rank[target] ?? 0) - (rank[source] ?? 0) - 1;
    const arrival = graph.targetOffset[edge] ?? 0;
    this.lastSegment[edge] =
      between === 0
        ? this.addSegment(source, target, offset, arrival)
        : this.addSegment(first + between - 1, target, 0, arrival);
  }

  finish(): Layered {
    const { graph, ranking, rank, lastSegment, segmentInto, firstDummy } = this;
    const width = new Float64Array(rank.length).fill(DUMMY_WIDTH);
    width.set(graph.width);
    return {
      graph,
      ranking,
      count: rank.length,
      rank,
      width,
      segmentSource: Int32Array.from(this.source),
      segmentTarget: Int32Array.from(this.target),
      segmentSourceOffset: Float64Array.from(this.sourceOffset),
      segmentTargetOffset: Float64Array.from(this.targetOffset),
      lastSegment,
      segmentInto,
      firstDummy,
    };
  }

  private addChain(bundle: number, source: number, offset: number): void {
    this.isStarted[bundle] = 1;
    const first = this.firstDummy[bundle] ?? 0;
    const end = first + (this.length[bundle] ?? 0);
    for (let dummy = first; dummy < end; dummy++) {
      this.rank[dummy] = (this.rank[source] ?? 0) + 1 + dummy - first;
      this.segmentInto[dummy] =
        dummy === first
          ? this.addSegment(source, dummy, offset, 0)
          : this.addSegment(dummy - 1, dummy, 0, 0);
    }
  }

  private addSegment(
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
