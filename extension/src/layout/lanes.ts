// Where very long edges run: beside the boxes, in lanes of their own, so that they cross
// only what lies between them and their ends.
import { type Coordinates, type Layered, type Ordering, OVERLAY } from "./local.js";

const FIRST = 26; // from the outermost box to the first lane
const SPACING = 10;
const DENSE_SPACING = 5;
/** With more long edges than this the lanes move closer together. */
const DENSE = 48;
/** With more than this the lanes would be wider than the boxes, and take long to place:
 * those edges are then curves over the picture. */
const MOST_LANES = 1000;

export interface Lanes {
  /** Per bundle of edges: the x of its lane, NaN where it has none. */
  readonly x: Float64Array;
  /** The outermost lanes; infinite where there are none. */
  readonly left: number;
  readonly right: number;
}

const NO_LANES: Lanes = {
  x: new Float64Array(0),
  left: Number.POSITIVE_INFINITY,
  right: Number.NEGATIVE_INFINITY,
};

/** One lane per bundle with long edges, on the side where its ends have fewer neighbours
 * to cross. Short ones come first, so that a lane lies outside those that it spans;
 * lanes one below another share their x. */
export function assignLanes(
  layered: Layered,
  ordering: Ordering,
  coordinates: Coordinates,
): Lanes {
  if (!layered.ranking.style.includes(OVERLAY)) return NO_LANES; // most levels
  const bundles = longBundles(layered);
  const x = new Float64Array(layered.graph.bundleCount).fill(Number.NaN);
  if (bundles.length > MOST_LANES) return { ...NO_LANES, x };
  const spacing = bundles.length > DENSE ? DENSE_SPACING : SPACING;
  const left = skyline(layered, coordinates, -1, spacing);
  const right = skyline(layered, coordinates, 1, spacing);
  for (const long of bundles) {
    const balance = rightward(layered, ordering, long);
    const atLeft = left.level(long);
    const atRight = right.level(long);
    const isLeft = balance === 0 ? atLeft + 0.5 < atRight : balance > 0;
    x[long.bundle] = isLeft ? -left.add(long, atLeft) : right.add(long, atRight);
  }
  return { x, left: -left.outermost(), right: right.outermost() };
}

/** Edges of one bundle that span many ranks: from their source's to the last target's. */
interface LongBundle {
  readonly bundle: number;
  readonly edges: number[];
  readonly from: number;
  to: number;
}

/** Those with the fewest ranks first. */
function longBundles({ graph, ranking }: Layered): LongBundle[] {
  const found = new Map<number, LongBundle>();
  for (let edge = 0; edge < ranking.style.length; edge++) {
    if (ranking.style[edge] !== OVERLAY) continue;
    const bundle = graph.bundle[edge] ?? 0;
    const from = ranking.rank[graph.source[edge] ?? 0] ?? 0;
    const known = found.get(bundle) ?? { bundle, edges: [], from, to: from };
    known.edges.push(edge);
    known.to = Math.max(known.to, ranking.rank[graph.target[edge] ?? 0] ?? 0);
    found.set(bundle, known);
  }
  return [...found.values()].sort((a, b) => a.to - a.from - (b.to - b.from));
}

/** What lies to the right of the ends in their ranks, less what lies to the left. */
function rightward(
  { graph, rank }: Layered,
  { starts, position }: Ordering,
  { edges }: LongBundle,
): number {
  const of = (vertex: number) => {
    const row = rank[vertex] ?? 0;
    const size = (starts[row + 1] ?? 0) - (starts[row] ?? 0);
    return size - 1 - 2 * (position[vertex] ?? 0);
  };
  return edges.reduce(
    (sum, edge) => sum + of(graph.target[edge] ?? 0),
    of(graph.source[edges[0] ?? 0] ?? 0),
  );
}

/** How far each rank reaches to one side, lanes included. */
function skyline(
  { rank, width, ranking }: Layered,
  { x }: Coordinates,
  side: -1 | 1,
  spacing: number,
) {
  const reach = new Float64Array(ranking.count).fill(Number.NEGATIVE_INFINITY);
  for (let vertex = 0; vertex < x.length; vertex++) {
    const row = rank[vertex] ?? 0;
    const end = side * (x[vertex] ?? 0) + (width[vertex] ?? 0) / 2 + FIRST - spacing;
    reach[row] = Math.max(reach[row] ?? 0, end);
  }
  let outermost = Number.NEGATIVE_INFINITY;
  return {
    /** Where a lane past these ranks has free ground. */
    level({ from, to }: LongBundle): number {
      let most = Number.NEGATIVE_INFINITY;
      for (let row = from; row <= to; row++) most = Math.max(most, reach[row] ?? 0);
      return most + spacing;
    },
    add({ from, to }: LongBundle, at: number): number {
      reach.fill(at, from, to + 1);
      outermost = Math.max(outermost, at);
      return at;
    },
    outermost: () => outermost,
  };
}
