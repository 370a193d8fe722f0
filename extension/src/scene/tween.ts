// The way from one scene to the next: boxes glide, edges follow their ends.
import { center, type Rect } from "../geometry/rect.js";
import { type Box, boxOfNode, type Scene } from "./scene.js";

/** Larger scenes jump: one frame of the way would take too long to prepare. */
const MOST_ITEMS = 600;

interface Move {
  readonly dx: number;
  readonly dy: number;
  readonly dWidth: number;
  readonly dHeight: number;
}

/** The scene after, `share` of the way (0 to 1) from the scene before. */
export type Tween = (share: number) => Scene;

/** Prepare the way between two scenes; null where they have nothing in common or too much
 * to draw. `shift` is how far the world moved with the camera in between. */
export function createTween(
  before: Scene,
  after: Scene,
  shift: { readonly dx: number; readonly dy: number },
): Tween | null {
  if (Math.max(before.boxes.length, after.boxes.length) > MOST_ITEMS) return null;
  if (before.graph.snapshot !== after.graph.snapshot) return null;
  const moves = after.boxes.map((box): Move => {
    const from = placeBefore(before, box);
    return {
      dx: from.x + shift.dx - box.x,
      dy: from.y + shift.dy - box.y,
      dWidth: from.width - box.width,
      dHeight: from.height - box.height,
    };
  });
  return (share) => between(after, moves, 1 - share);
}

/** Where a box comes from: its own place, or the middle of the closed scope that hid it. */
function placeBefore(before: Scene, box: Box): Rect {
  const isScope = box.shape === "frame" || box.shape === "stack";
  const origin = isScope
    ? before.boxes[before.visible.itemOfScope[box.id] ?? -1]
    : boxOfNode(before, box.id);
  if (origin === undefined || origin === null) return box;
  const wasScope = origin.shape === "frame" || origin.shape === "stack";
  if (wasScope === isScope && origin.id === box.id) return origin;
  const { width, height } = box;
  const middle = center(origin);
  return { x: middle.x - width / 2, y: middle.y - height / 2, width, height };
}

function between(after: Scene, moves: readonly Move[], left: number): Scene {
  const boxes = after.boxes.map((box, item) => {
    const move = moves[item];
    if (move === undefined) return box;
    return {
      ...box,
      x: box.x + move.dx * left,
      y: box.y + move.dy * left,
      width: box.width + move.dWidth * left,
      height: box.height + move.dHeight * left,
    };
  });
  const points = movedPoints(after, moves, left);
  return { ...after, boxes, placement: { ...after.placement, points } };
}

/** Each point moves as the ends of its edge do, in proportion to how near it is to them. */
function movedPoints(
  { visible, placement }: Scene,
  moves: readonly Move[],
  left: number,
): Float32Array {
  const { starts } = placement;
  const points = placement.points.slice();
  for (let edge = 0; edge + 1 < starts.length; edge++) {
    const from = endOf(moves[visible.source[edge] ?? -1], 1);
    const to = endOf(moves[visible.target[edge] ?? -1], 0);
    const start = starts[edge] ?? 0;
    const last = (starts[edge + 1] ?? 0) - 2;
    for (let i = start; i <= last; i += 2) {
      const share = last === start ? 0 : (i - start) / (last - start);
      points[i] = (points[i] ?? 0) + left * (from.dx + (to.dx - from.dx) * share);
      points[i + 1] =
        (points[i + 1] ?? 0) + left * (from.dy + (to.dy - from.dy) * share);
    }
  }
  return points;
}

/** How far the bottom (1) or the top (0) of a box moves, in its middle. */
function endOf(move: Move | undefined, side: 0 | 1) {
  if (move === undefined) return { dx: 0, dy: 0 };
  return { dx: move.dx + move.dWidth / 2, dy: move.dy + side * move.dHeight };
}
