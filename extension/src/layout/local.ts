// One level of the drawing: the boxes in one open scope, before and after dummy points.

/** The vertices of one level: its boxes, and ports on its own top and bottom border. */
export interface LocalGraph {
  readonly count: number;
  readonly width: Float64Array;
  readonly height: Float64Array;
  readonly source: Int32Array;
  readonly target: Int32Array;
  /** Per edge: where it touches its boxes, to the right of their centres. */
  readonly sourceOffset: Float64Array;
  readonly targetOffset: Float64Array;
  /** Per edge: edges with one bundle leave from one point and share their dummies. */
  readonly bundle: Int32Array;
  readonly bundleCount: number;
  /** Per vertex: -1 for a port on the top border, 1 on the bottom border, else 0. */
  readonly pin: Int8Array;
  /** Per vertex: 1 for a port of something computed, where main paths begin. */
  readonly computed: Uint8Array;
  /** Per vertex: 1 where the offsets above are given; elsewhere routing may spread edges. */
  readonly fixed: Uint8Array;
  /** Per vertex: centre in an earlier placement, or NaN. */
  readonly previousX: Float64Array;
}

export const SHORT = 0;
export const OVERLAY = 1;
export const UPWARD = 2;
/** From one column of a wrapped level to another. */
export const WRAPPED = 3;

export interface Ranking {
  /** Per vertex: its rank; edges go from smaller to larger, except the upward ones. */
  readonly rank: Int32Array;
  readonly count: number;
  /** Per edge: SHORT, OVERLAY (spans too many ranks) or UPWARD (closes a cycle). */
  readonly style: Uint8Array;
  /** Per vertex: the length of the longest path to it. */
  readonly reach: Float64Array;
}

/** A level whose segments connect neighbouring ranks; dummies follow the real vertices. */
export interface Layered {
  readonly graph: LocalGraph;
  readonly ranking: Ranking;
  readonly count: number;
  readonly rank: Int32Array;
  readonly width: Float64Array;
  readonly segmentSource: Int32Array;
  readonly segmentTarget: Int32Array;
  readonly segmentSourceOffset: Float64Array;
  readonly segmentTargetOffset: Float64Array;
  /** Per edge: its last segment, or -1 where it has none. */
  readonly lastSegment: Int32Array;
  /** Per vertex: for a dummy the segment that enters it, else -1. */
  readonly segmentInto: Int32Array;
  /** Per bundle: its first dummy, or -1; the others follow, rank by rank. */
  readonly firstDummy: Int32Array;
}

/** The vertices of each rank from left to right. */
export interface Ordering {
  readonly starts: Int32Array;
  readonly order: Int32Array;
  /** Per vertex: its place in its rank. */
  readonly position: Int32Array;
  readonly crossings: number;
}

export interface Coordinates {
  /** Per vertex: centre. */
  readonly x: Float64Array;
  /** Per real vertex: centre. */
  readonly y: Float64Array;
  /** Per rank. */
  readonly top: Float64Array;
  readonly bottom: Float64Array;
}
