// The draw list: placed boxes and edges, with grids to find them by place.
import type { Rect } from "../geometry/rect.js";
import type { Graph } from "../graph/build.js";
import type { VisibleGraph } from "../graph/collapse.js";
import type { Flow } from "../graph/drawing.js";
import type { Placement, Sizes } from "../layout/index.js";
import type { BoxContent } from "./boxes.js";
import { describeEdges, type EdgeLook } from "./edges.js";
import { buildGrid, type Grid } from "./grid.js";

export interface Box extends BoxContent, Rect {
  readonly item: number;
}

export interface Scene {
  readonly graph: Graph;
  readonly visible: VisibleGraph;
  readonly placement: Placement;
  /** Per item; frames come before what they hold. */
  readonly boxes: readonly Box[];
  /** Per merged edge. */
  readonly edges: readonly EdgeLook[];
  /** Per merged edge: left, top, right, bottom of its path. */
  readonly edgeBounds: Float32Array;
  /** Per item: its merged edges, in and out. */
  readonly edgesOfItem: ReadonlyMap<number, readonly number[]>;
  readonly boxGrid: Grid;
  readonly edgeGrid: Grid;
  readonly bounds: Rect;
  /** Items from here on are the backward twins of the first ones; without twins it is the
   * number of all items. */
  readonly half: number;
}

/** Room for a curve that leaves the straight line between its points. */
const CURVE_MARGIN = 100;

export function buildScene(
  graph: Graph,
  visible: VisibleGraph,
  contents: readonly BoxContent[],
  placement: Placement,
  flow: Flow = "forward",
  half = contents.length,
): Scene {
  const boxes = contents.map((content, item) => placeBox(content, item, placement));
  const boxBounds = new Float32Array(4 * boxes.length);
  boxes.forEach(({ x, y, width, height }, item) => {
    setBounds(boxBounds, item, x, y, x + width, y + height);
  });
  const edgeBounds = boundsOfEdges(placement);
  return {
    graph,
    visible,
    placement,
    boxes,
    edges: describeEdges(graph, visible, flow, half),
    edgeBounds,
    edgesOfItem: groupByItem(visible),
    boxGrid: buildGrid(boxes.length, boxBounds),
    edgeGrid: buildGrid(visible.source.length, edgeBounds),
    bounds: boundsOf(placement, half < boxes.length),
    half,
  };
}

/** Room for the names of two columns. */
const HEADING = 34;

function boundsOf({ bounds }: Placement, hasTwins: boolean): Rect {
  const above = hasTwins ? HEADING : 0;
  return { x: 0, y: -above, width: bounds.width, height: bounds.height + above };
}

/** The same places with other words, badges and edge looks: only numbers have changed. */
export function renumberScene(
  scene: Scene,
  graph: Graph,
  contents: readonly BoxContent[],
  flow: Flow,
): Scene {
  const { placement, visible, half } = scene;
  return {
    ...scene,
    graph,
    boxes: contents.map((content, item) => placeBox(content, item, placement)),
    edges: describeEdges(graph, visible, flow, half),
  };
}

/** Whether boxes of these sizes are those that are drawn. */
export function fitsScene({ boxes }: Scene, sizes: Sizes): boolean {
  return boxes.every(({ shape, width, height }, item) => {
    if (shape === "frame") return true;
    return (
      Math.abs(width - (sizes.width[item] ?? 0)) < 0.5 &&
      Math.abs(height - (sizes.height[item] ?? 0)) < 0.5
    );
  });
}

/** Written out, because spreading the content takes ten times as long. */
function placeBox(content: BoxContent, item: number, placement: Placement): Box {
  const width = placement.width[item] ?? 0;
  const height = placement.height[item] ?? 0;
  const { shape, id, title, subtitle, badges } = content;
  const { isBad, isRoot, isLayer, region } = content;
  return {
    shape,
    id,
    title,
    subtitle,
    badges,
    isBad,
    isRoot,
    isLayer,
    region,
    item,
    x: (placement.x[item] ?? 0) - width / 2,
    y: (placement.y[item] ?? 0) - height / 2,
    width,
    height,
  };
}

/** The box that shows a node: its own, or that of the closed scope that hides it. */
export function boxOfNode(scene: Scene, node: number): Box | null {
  return scene.boxes[scene.visible.itemOfNode[node] ?? -1] ?? null;
}

/** The topmost box that is no frame: where reading begins. */
export function entryBox(scene: Scene): Box | null {
  let top: Box | null = null;
  for (const box of scene.boxes) {
    if (box.shape !== "frame" && (top === null || box.y < top.y)) top = box;
  }
  return top;
}

/** The merged edge that stands for an edge of the snapshot, or -1. */
export function mergedEdge(scene: Scene, edge: number): number {
  const { visible, graph, edgesOfItem } = scene;
  const item = visible.itemOfNode[graph.source[edge] ?? -1] ?? -1;
  const target = visible.itemOfNode[graph.target[edge] ?? -1] ?? -1;
  for (const index of edgesOfItem.get(item) ?? []) {
    if (visible.source[index] === item && visible.target[index] === target)
      return index;
  }
  return -1;
}

function groupByItem(visible: VisibleGraph): Map<number, number[]> {
  const edges = new Map<number, number[]>();
  const add = (item: number, edge: number) => {
    const known = edges.get(item);
    if (known === undefined) edges.set(item, [edge]);
    else if (known[known.length - 1] !== edge) known.push(edge);
  };
  for (let edge = 0; edge < visible.source.length; edge++) {
    add(visible.source[edge] ?? 0, edge);
    add(visible.target[edge] ?? 0, edge);
  }
  return edges;
}

function boundsOfEdges({ points, starts, overlay }: Placement): Float32Array {
  const edges = starts.length - 1;
  const bounds = new Float32Array(4 * edges);
  for (let edge = 0; edge < edges; edge++) {
    let left = Number.POSITIVE_INFINITY;
    let top = Number.POSITIVE_INFINITY;
    let right = Number.NEGATIVE_INFINITY;
    let bottom = Number.NEGATIVE_INFINITY;
    for (let i = starts[edge] ?? 0; i < (starts[edge + 1] ?? 0); i += 2) {
      left = Math.min(left, points[i] ?? 0);
      right = Math.max(right, points[i] ?? 0);
      top = Math.min(top, points[i + 1] ?? 0);
      bottom = Math.max(bottom, points[i + 1] ?? 0);
    }
    const margin = overlay[edge] === 1 ? CURVE_MARGIN : 0;
    setBounds(
      bounds,
      edge,
      left - margin,
      top - margin,
      right + margin,
      bottom + margin,
    );
  }
  return bounds;
}

function setBounds(
  bounds: Float32Array,
  index: number,
  left: number,
  top: number,
  right: number,
  bottom: number,
): void {
  bounds[4 * index] = left;
  bounds[4 * index + 1] = top;
  bounds[4 * index + 2] = right;
  bounds[4 * index + 3] = bottom;
}
