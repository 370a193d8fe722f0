// Where very long edges run: beside the level, in lanes of their own, so that they cross
// only what lies between them and their ends.
import { type Coordinates, type Layered, OVERLAY } from "./local.js";

const FIRST = 26; // from the outermost box to the first lane
const SPACING = 10;
/** With more long edges than this the lanes would be wider than the level: those edges
 * are then curves over the picture. */
const MOST_LANES = 24;

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

/** One lane per bundle with long edges, on the side where its ends are. */
export function assignLanes(layered: Layered, coordinates: Coordinates): Lanes {
  const { graph } = layered;
  if (!layered.ranking.style.includes(OVERLAY)) return NO_LANES; // most levels
  const x = new Float64Array(graph.bundleCount).fill(Number.NaN);
  let [left, right] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  const bundles = longBundles(layered);
  if (bundles.size === 0 || bundles.size > MOST_LANES) return { x, left, right };
  const { least, most } = extent(layered, coordinates);
  const middle = (least + most) / 2;
  const shortFirst = [...bundles].sort((a, b) => a[1].span - b[1].span);
  for (const [bundle, { edges }] of shortFirst) {
    let aside = 0;
    for (const edge of edges) {
      aside += (coordinates.x[graph.source[edge] ?? 0] ?? 0) - middle;
      aside += (coordinates.x[graph.target[edge] ?? 0] ?? 0) - middle;
    }
    if (aside < 0) {
      left = Number.isFinite(left) ? left - SPACING : least - FIRST;
      x[bundle] = left;
    } else {
      right = Number.isFinite(right) ? right + SPACING : most + FIRST;
      x[bundle] = right;
    }
  }
  return { x, left, right };
}

interface LongBundle {
  readonly edges: number[];
  /** Of its longest edge, in ranks. */
  span: number;
}

function longBundles({ graph, ranking }: Layered): Map<number, LongBundle> {
  const found = new Map<number, LongBundle>();
  for (let edge = 0; edge < ranking.style.length; edge++) {
    if (ranking.style[edge] !== OVERLAY) continue;
    const bundle = graph.bundle[edge] ?? 0;
    const known = found.get(bundle) ?? { edges: [], span: 0 };
    const from = ranking.rank[graph.source[edge] ?? 0] ?? 0;
    const to = ranking.rank[graph.target[edge] ?? 0] ?? 0;
    known.edges.push(edge);
    known.span = Math.max(known.span, to - from);
    found.set(bundle, known);
  }
  return found;
}

function extent({ width }: Layered, { x }: Coordinates) {
  let least = Number.POSITIVE_INFINITY;
  let most = Number.NEGATIVE_INFINITY;
  for (let vertex = 0; vertex < x.length; vertex++) {
    const half = (width[vertex] ?? 0) / 2;
    least = Math.min(least, (x[vertex] ?? 0) - half);
    most = Math.max(most, (x[vertex] ?? 0) + half);
  }
  return { least, most };
}
