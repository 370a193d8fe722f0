// Forward and backward side by side: every box has a twin in a column that mirrors the
// first one, at the same height, with the gradients flowing up: its edges keep their paths
// and turn their arrows.
//
//     Forward        Backward
//      [w]                  [w]
//       ↓                    ↑
//     [mul]            [MulBackward0]
import { type Graph, type Rows, rowOf } from "../graph/build.js";
import type { VisibleGraph } from "../graph/collapse.js";
import { gradientNorm, incomingGradients } from "../graph/gradients.js";
import type { Snapshot } from "../ir/types.js";
import type { Placement, Sizes } from "../layout/index.js";
import { type BoxContent, type Measure, measureBoxes } from "./boxes.js";
import { formatShort } from "./labels.js";
import { buildScene, type Scene } from "./scene.js";

const GAP = 90; // between the columns

/** What the twins of boxes show: the backward function, and the gradient that came in. */
export function describeTwins(
  { snapshot }: Graph,
  visible: VisibleGraph,
  contents: readonly BoxContent[],
): BoxContent[] {
  const flows = flowsOf(snapshot, visible);
  return contents.map((content, item) => {
    if (content.shape === "frame") return { ...content, subtitle: "backward" };
    const { norm, nans, infs, count } = flows[item] ?? NO_FLOW;
    const isBad = nans + infs > 0;
    const text = nans > 0 && infs > 0 ? "NaN Inf" : nans > 0 ? "NaN" : "Inf";
    const size = norm === null ? "no gradient" : `|g| ${formatShort(norm)}`;
    const node = content.shape === "stack" ? undefined : snapshot.nodes[content.id];
    const isLeaf = node?.kind === "accumulate" || node?.kind === "leaf";
    const own = node?.kind === "cut" ? "cut" : node?.name;
    return {
      ...content,
      title: isLeaf ? content.title : (own ?? content.title), // every leaf's is the same
      subtitle: norm !== null && count > 1 ? `largest ${size}` : size,
      badges: isBad ? [{ text, isBad, severity: null }] : [],
      isBad,
      region: null,
    };
  });
}

/** The gradients that came into the nodes of an item. */
interface ItemFlow {
  /** The largest one's norm. */
  norm: number | null;
  nans: number;
  infs: number;
  count: number;
}

const NO_FLOW: Readonly<ItemFlow> = { norm: null, nans: 0, infs: 0, count: 0 };

function flowsOf(snapshot: Snapshot, visible: VisibleGraph): ItemFlow[] {
  const flows = Array.from(visible.node, (): ItemFlow => ({ ...NO_FLOW }));
  snapshot.nodes.forEach((node, id) => {
    const flow = flows[visible.itemOfNode[id] ?? -1];
    if (flow === undefined) return;
    flow.count++;
    const norm = gradientNorm(snapshot, node);
    if (norm !== null) flow.norm = Math.max(flow.norm ?? 0, norm);
    for (const { nans, infs } of incomingGradients(snapshot, node)) {
      flow.nans += nans;
      flow.infs += infs;
    }
  });
  return flows;
}

/** Room for the words of a box and of its twin. */
export function measurePairs(
  contents: readonly BoxContent[],
  twins: readonly BoxContent[],
  measure: Measure,
): Sizes {
  const a = measureBoxes(contents, measure);
  const b = measureBoxes(twins, measure);
  return {
    width: a.width.map((width, item) => Math.max(width, b.width[item] ?? 0)),
    height: a.height.map((height, item) => Math.max(height, b.height[item] ?? 0)),
  };
}

/** The scene of a laid-out forward graph and its mirror image. */
export function buildTwinScene(
  graph: Graph,
  visible: VisibleGraph,
  contents: readonly BoxContent[],
  twins: readonly BoxContent[],
  placement: Placement,
): Scene {
  const kept = keptEdges(graph, visible);
  const both = doubleVisible(visible, kept);
  const mirrored = doublePlacement(placement, kept);
  const half = contents.length;
  return buildScene(graph, both, [...contents, ...twins], mirrored, "both", half);
}

/** The edges along which a gradient can flow back. */
function keptEdges({ snapshot }: Graph, visible: VisibleGraph): Int32Array {
  const kept: number[] = [];
  for (let edge = 0; edge < visible.source.length; edge++) {
    const members = rowOf(visible.members, edge);
    if (members.some((id) => snapshot.edges[id]?.kind !== "cut")) kept.push(edge);
  }
  return Int32Array.from(kept);
}

function doubleVisible(visible: VisibleGraph, kept: Int32Array): VisibleGraph {
  const count = visible.node.length;
  const ends = (of: Int32Array) =>
    Int32Array.from([...of, ...kept.map((edge) => (of[edge] ?? 0) + count)]);
  const twice = (items: Int32Array) => Int32Array.from([...items, ...items]);
  const moved = visible.parent.map((item) => (item < 0 ? -1 : item + count));
  return {
    node: twice(visible.node),
    scope: twice(visible.scope),
    open: Uint8Array.from([...visible.open, ...visible.open]),
    parent: Int32Array.from([...visible.parent, ...moved]),
    source: ends(visible.source),
    target: ends(visible.target),
    members: addRows(visible.members, kept),
    itemOfNode: visible.itemOfNode,
    itemOfScope: visible.itemOfScope,
  };
}

function addRows(rows: Rows, kept: Int32Array): Rows {
  const starts = [...rows.starts];
  const items = [...rows.items];
  for (const row of kept) {
    items.push(...rowOf(rows, row));
    starts.push(items.length);
  }
  return { starts: Int32Array.from(starts), items: Int32Array.from(items) };
}

function doublePlacement(placement: Placement, kept: Int32Array): Placement {
  const { x, y, width, height, points, starts, overlay, bounds } = placement;
  const far = 2 * bounds.width + GAP;
  const join = (a: Float32Array, b: Float32Array) => {
    const both = new Float32Array(a.length + b.length);
    both.set(a);
    both.set(b, a.length);
    return both;
  };
  const path: number[] = [];
  const ends = [...starts];
  for (const edge of kept) {
    for (let i = starts[edge] ?? 0; i < (starts[edge + 1] ?? 0); i += 2) {
      path.push(far - (points[i] ?? 0), points[i + 1] ?? 0);
    }
    ends.push(points.length + path.length);
  }
  return {
    ...placement,
    x: join(
      x,
      x.map((each) => far - each),
    ),
    y: join(y, y),
    width: join(width, width),
    height: join(height, height),
    points: join(points, Float32Array.from(path)),
    starts: Int32Array.from(ends),
    overlay: Uint8Array.from([...overlay, ...kept.map((edge) => overlay[edge] ?? 0)]),
    bounds: { width: far, height: bounds.height },
  };
}
