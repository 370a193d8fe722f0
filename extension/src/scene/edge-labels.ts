// Where the words beside edges stand: on free ground, or nowhere.
import { controls, cubicAt } from "../geometry/curve.js";
import { inflate, intersects, type Rect } from "../geometry/rect.js";
import { drawnArea, METRICS, type Measure } from "./boxes.js";
import type { Scene } from "./scene.js";

export const EDGE_LABEL = { size: 10, height: 13, padding: 2 } as const;

/** From the line to the words, and from the end of the line to their middle. */
const ASIDE = 5;
const ALONG = [11, 15, 19, 27, 39] as const;
/** Free space around the words: half of the thickest line. */
const CLEARANCE = 2.5;
const SAMPLES = 8;

/** The labels of one scene. Places are found when asked for and kept, so that nothing
 * jumps while one pans. */
export interface EdgeLabels {
  /** Where the label of an edge stands; null where it has none, or no room. */
  areaOf(edge: number): Rect | null;
}

/** The items that have the ring of a mark. */
type Ringed = Pick<ReadonlySet<number>, "has">;
const NONE: Ringed = new Set();

/** Say which tensor an edge carries: where it leaves, once for all edges of that tensor;
 * where it arrives, when its source has several. */
export function createEdgeLabels(
  scene: Scene,
  measure: Measure,
  ringed: Ringed = NONE,
): EdgeLabels {
  const areas = new Map<number, Rect | null>();
  const written = new Set<string>();
  const placed: Rect[] = [];
  const place = (edge: number): Rect | null => {
    const label = scene.edges[edge]?.label ?? "";
    const source = scene.visible.source[edge] ?? -1;
    if (label === "" || scene.boxes[source]?.subtitle === label) return null;
    const atStart = hasOneLabel(scene, source);
    const key = atStart ? `${source}` : `${source} ${scene.visible.target[edge]}`;
    if (written.has(key)) return null;
    const width = measure(label, EDGE_LABEL.size, false) + 2 * EDGE_LABEL.padding;
    for (const area of candidates(scene, edge, width, atStart)) {
      if (!isFree(scene, area, placed, ringed)) continue;
      written.add(key);
      placed.push(area);
      return area;
    }
    return null;
  };
  return {
    areaOf(edge) {
      const known = areas.get(edge);
      if (known !== undefined) return known;
      const area = place(edge);
      areas.set(edge, area);
      return area;
    },
  };
}

function hasOneLabel(scene: Scene, item: number): boolean {
  let label: string | null = null;
  for (const edge of scene.edgesOfItem.get(item) ?? []) {
    if (scene.visible.source[edge] !== item) continue;
    const own = scene.edges[edge]?.label ?? "";
    if (label !== null && own !== label) return false;
    label = own;
  }
  return true;
}

/** Beside the line's first or last stretch, first on the side that it does not bend to. */
function candidates(
  scene: Scene,
  edge: number,
  width: number,
  atStart: boolean,
): Rect[] {
  const { points, starts } = scene.placement;
  const end = starts[edge + 1] ?? 0;
  const at = atStart ? (starts[edge] ?? 0) : end - 2;
  const next = atStart ? at + 2 : at - 2;
  const x = points[at] ?? 0;
  const y = points[at + 1] ?? 0;
  const right = x + ASIDE;
  const left = x - ASIDE - width;
  const bendsRight = (points[next] ?? 0) > x + 1;
  const { height } = EDGE_LABEL;
  return ALONG.flatMap((along) =>
    (bendsRight ? [left, right] : [right, left]).map((side) => {
      const middle = y + (atStart ? along : -along);
      return { x: side, y: middle - height / 2, width, height };
    }),
  );
}

function isFree(
  scene: Scene,
  area: Rect,
  placed: readonly Rect[],
  ringed: Ringed,
): boolean {
  if (placed.some((other) => intersects(area, other))) return false;
  const needed = inflate(area, CLEARANCE);
  let isTaken = false;
  // Sheets hang out below their box, and rings around it: also ask for boxes beside.
  scene.boxGrid.query(inflate(needed, METRICS.sheets + METRICS.rings), (item) => {
    const box = scene.boxes[item];
    if (isTaken || box === undefined) return;
    const ring = ringed.has(box.item % scene.half) ? METRICS.rings : 0;
    if (!intersects(inflate(drawnArea(box), ring), needed)) return;
    isTaken = box.shape !== "frame" || !isInside(needed, box);
  });
  return !isTaken && !isCrossed(scene, needed);
}

/** Whether an edge passes through an area. */
export function isCrossed(scene: Scene, area: Rect): boolean {
  let found = false;
  scene.edgeGrid.query(area, (edge) => {
    found ||= passes(scene, edge, area);
  });
  return found;
}

/** Within an open scope, clear of its border and its title. */
function isInside(area: Rect, frame: Rect): boolean {
  return (
    area.x >= frame.x &&
    area.x + area.width <= frame.x + frame.width &&
    area.y >= frame.y + METRICS.frameTitle &&
    area.y + area.height <= frame.y + frame.height
  );
}

/** Whether the path of an edge comes into an area. */
function passes({ placement }: Scene, edge: number, area: Rect): boolean {
  const { points, starts } = placement;
  const end = starts[edge + 1] ?? 0;
  for (let i = starts[edge] ?? 0; i + 3 < end; i += 2) {
    const [x0 = 0, y0 = 0, x3 = 0, y3 = 0] = points.subarray(i, i + 4);
    const { x1, y1, x2, y2 } = controls(x0, y0, x3, y3);
    let before = { x: x0, y: y0 };
    for (let sample = 1; sample <= SAMPLES; sample++) {
      const t = sample / SAMPLES;
      const at = { x: cubicAt(x0, x1, x2, x3, t), y: cubicAt(y0, y1, y2, y3, t) };
      if (intersects(around(before, at), area)) return true;
      before = at;
    }
  }
  return false;
}

interface At {
  readonly x: number;
  readonly y: number;
}

function around(a: At, b: At): Rect {
  return {
    x: Math.min(a.x, b.x),
    y: Math.min(a.y, b.y),
    width: Math.abs(a.x - b.x),
    height: Math.abs(a.y - b.y),
  };
}
