// What stays in place when the picture is laid out anew.
import { center, contains, type Rect } from "../geometry/rect.js";
import {
  type Point,
  rectToWorld,
  type Transform,
  toWorld,
} from "../geometry/transform.js";
import type { Graph } from "../graph/build.js";
import type { VisibleGraph } from "../graph/collapse.js";
import { METRICS } from "./boxes.js";
import { barHeight, frameTitles, TITLE_MARKER } from "./frame-titles.js";
import { type Box, boxOfNode, type Scene } from "./scene.js";

const MARKER_INSET = TITLE_MARKER.left;

/** How far a world point moved from one scene to the next. */
export interface Shift {
  readonly from: { readonly x: number; readonly y: number };
  readonly to: { readonly x: number; readonly y: number };
}

/** What the camera shows of a scene. */
export interface Look {
  readonly view: Transform;
  /** CSS pixels. */
  readonly size: { readonly width: number; readonly height: number };
}

/** The triangle of the scope that was opened or closed stays under the pointer; else
 * what is nearest to the middle of the screen. Null when the scenes share nothing. */
export function findShift(
  before: Scene,
  after: Scene,
  toggled: number | null,
  look: Look,
): Shift | null {
  if (toggled !== null) {
    const from = boxOfScope(before, toggled);
    const to = boxOfScope(after, toggled);
    if (from !== null && to !== null) {
      return {
        from: seenMarker(before, from, look),
        to: markerOf(to, look.view.scale),
      };
    }
  }
  const from = nearestBox(before, rectToWorld(look.view, { x: 0, y: 0, ...look.size }));
  if (from === null) return null;
  const isScope = from.shape === "stack" || from.shape === "frame";
  const to = isScope ? boxOfScope(after, from.id) : boxOfNode(after, from.id);
  if (to === null) return null;
  const isSame = to.shape === from.shape;
  return isSame
    ? { from: center(from), to: center(to) }
    : { from: topOf(from), to: topOf(to) };
}

function boxOfScope(scene: Scene, scope: number): Box | null {
  return scene.boxes[scene.visible.itemOfScope[scope] ?? -1] ?? null;
}

/** Where the triangle of a scope is drawn: an open scope's may stick to the screen. */
function seenMarker(scene: Scene, box: Box, { view, size }: Look): Point {
  const titles = box.shape === "frame" ? frameTitles(scene, view, size) : [];
  const bar = titles.find((title) => title.box.item === box.item)?.bar;
  if (bar === undefined) return markerOf(box, view.scale);
  return toWorld(view, { x: bar.x + MARKER_INSET, y: bar.y + bar.height / 2 });
}

/** Where the triangle of a scope stands by itself, in world space. */
function markerOf(box: Box, scale: number): Point {
  if (box.shape === "stack") {
    return { x: box.x + METRICS.markerLeft, y: box.y + box.height / 2 };
  }
  return { x: box.x + MARKER_INSET / scale, y: box.y + barHeight(scale) / 2 / scale };
}

function topOf(box: Rect) {
  return { x: box.x + box.width / 2, y: box.y };
}

function nearestBox(scene: Scene, world: Rect): Box | null {
  const middle = center(world);
  let best = Number.POSITIVE_INFINITY;
  let found: Box | null = null;
  scene.boxGrid.query(world, (item) => {
    const box = scene.boxes[item];
    if (box === undefined || box.shape === "frame" || item >= scene.half) return;
    const at = center(box);
    if (!contains(world, at.x, at.y)) return;
    const distance = Math.hypot(at.x - middle.x, at.y - middle.y);
    if (distance >= best) return;
    best = distance;
    found = box;
  });
  return found;
}

/** Where each item of the next picture was in the last one: the layout's warm start.
 * Scopes that open or close keep their place; what is new has none (NaN). */
export function previousX(
  before: Scene,
  graph: Graph,
  visible: VisibleGraph,
): Float32Array {
  const { snapshot } = before.graph;
  const isSame = snapshot === graph.snapshot;
  return Float32Array.from(visible.node, (node, item) => {
    const scope = visible.scope[item] ?? -1;
    const known = scope >= 0 ? snapshot.scopes[scope] : snapshot.nodes[node];
    const now = scope >= 0 ? graph.snapshot.scopes[scope] : graph.snapshot.nodes[node];
    if (!isSame && known?.name !== now?.name) return Number.NaN;
    const old =
      scope >= 0 ? before.visible.itemOfScope[scope] : before.visible.itemOfNode[node];
    const box = before.boxes[old ?? -1];
    if (box === undefined) return Number.NaN;
    const isShown = scope >= 0 ? box.id === scope : box.id === node;
    return isShown ? box.x + box.width / 2 : Number.NaN;
  });
}

/** Whether two snapshots are two moments of one graph: most nodes have the same name. */
export function isSameGraph(before: Graph, after: Graph): boolean {
  if (before.snapshot === after.snapshot) return true;
  const a = before.snapshot.nodes;
  const b = after.snapshot.nodes;
  const shared = Math.min(a.length, b.length);
  let same = 0;
  for (let node = 0; node < shared; node++) {
    if (a[node]?.name === b[node]?.name) same++;
  }
  return same > 0 && 2 * same >= Math.max(a.length, b.length);
}
