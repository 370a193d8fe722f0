// What lies under the pointer.
import { distanceToPath } from "../geometry/curve.js";
import { contains, type Rect } from "../geometry/rect.js";
import type { Point } from "../geometry/transform.js";
import { rowOf } from "../graph/build.js";
import { METRICS } from "./boxes.js";
import { type FrameTitle, TITLE_MARKER } from "./frame-titles.js";
import type { Box, Scene } from "./scene.js";

export type Hit =
  | { readonly kind: "node"; readonly node: number }
  /** A closed scope, or the title of an open one. */
  | {
      readonly kind: "scope";
      readonly scope: number;
      readonly isOpen: boolean;
      /** On the triangle that opens and closes it. */
      readonly isMarker: boolean;
    }
  | { readonly kind: "edge"; readonly edge: number };

/** Find the topmost thing at a world point; `reach` is how far an edge may be. */
export function hitTest(scene: Scene, world: Point, reach: number): Hit | null {
  const box = topmostBox(scene, world);
  const isMarker = box !== null && world.x < box.x + markerEnd(box, reach);
  if (box !== null && box.shape !== "frame") return hitOfBox(box, isMarker);
  const edge = nearestEdge(scene, world, reach);
  if (edge >= 0) {
    const first = rowOf(scene.visible.members, edge)[0];
    if (first !== undefined) return { kind: "edge", edge: first };
  }
  return box === null ? null : hitOfBox(box, isMarker);
}

/** How far the triangle of a scope reaches into its box: that of a frame is as large on
 * the screen at every zoom, as is the reach. */
function markerEnd({ shape }: Box, reach: number): number {
  return shape === "stack" ? METRICS.markerLeft + METRICS.markerWidth / 2 : 4 * reach;
}

function hitOfBox(box: Box, isMarker: boolean): Hit {
  const { id: scope } = box;
  if (box.shape === "stack") return { kind: "scope", scope, isOpen: false, isMarker };
  if (box.shape === "frame") return { kind: "scope", scope, isOpen: true, isMarker };
  return { kind: "node", node: box.id };
}

/** Frames count only by their title: their inside belongs to what they hold. */
function topmostBox(scene: Scene, { x, y }: Point): Box | null {
  let found: Box | null = null;
  scene.boxGrid.query({ x, y, width: 0, height: 0 }, (item) => {
    const box = scene.boxes[item];
    if (box === undefined) return;
    const area: Rect =
      box.shape === "frame" ? { ...box, height: METRICS.frameTitle } : box;
    if (contains(area, x, y)) found = box;
  });
  return found;
}

function nearestEdge(scene: Scene, { x, y }: Point, reach: number): number {
  const { points, starts } = scene.placement;
  let best = reach;
  let found = -1;
  const around = {
    x: x - reach,
    y: y - reach,
    width: 2 * reach,
    height: 2 * reach,
  };
  scene.edgeGrid.query(around, (edge) => {
    const [left = 0, top = 0, right = 0, bottom = 0] = scene.edgeBounds.subarray(
      4 * edge,
      4 * edge + 4,
    );
    const isNear =
      x >= left - reach &&
      x <= right + reach &&
      y >= top - reach &&
      y <= bottom + reach;
    if (!isNear) return;
    const start = starts[edge] ?? 0;
    const end = starts[edge + 1] ?? 0;
    const distance = distanceToPath(points, start, end, x, y);
    if (distance >= best) return;
    best = distance;
    found = edge;
  });
  return found;
}

/** Floating titles lie over the boxes; this much of their bar reacts. */
const FLOATING_WIDTH = 180;

/** The open scope whose floating title is at a screen point. */
export function hitTitle(titles: readonly FrameTitle[], screen: Point): Hit | null {
  for (const { box, bar, isFloating } of titles) {
    if (!isFloating) continue;
    const area = { ...bar, width: Math.min(bar.width, FLOATING_WIDTH) };
    const isMarker = screen.x < bar.x + 2 * TITLE_MARKER.left + TITLE_MARKER.width;
    if (contains(area, screen.x, screen.y)) return hitOfBox(box, isMarker);
  }
  return null;
}
