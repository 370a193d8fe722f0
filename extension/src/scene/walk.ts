// Walks from box to box with the arrow keys: along edges up and down, by place sideways.
import { center } from "../geometry/rect.js";
import { type Box, boxOfNode, type Scene } from "./scene.js";

export type Direction = "up" | "down" | "left" | "right";

/** What lies off the line of the step counts as so much further away: going up from an
 * op, its input is nearer than the parameters beside it. */
const SLANT = 3;

/** The nearest visible node in a direction, or null at the border of the picture. */
export function neighbourOf(
  scene: Scene,
  node: number,
  direction: Direction,
): number | null {
  const from = boxOfNode(scene, node);
  if (from === null) return null;
  if (direction === "up" || direction === "down") {
    const along = nearestOf(from, connected(scene, from, direction), direction);
    if (along !== null) return along.id;
  }
  return nearestOf(from, nodesOf(scene), direction)?.id ?? null;
}

function nodesOf(scene: Scene): Box[] {
  return scene.boxes.filter((box) => box.shape !== "frame" && box.shape !== "stack");
}

/** The nodes at the other ends of the edges in or out; closed scopes are passed over. */
function connected(scene: Scene, from: Box, direction: "up" | "down"): Box[] {
  const { source, target } = scene.visible;
  const [here, there] = direction === "up" ? [target, source] : [source, target];
  const found: Box[] = [];
  const seen = new Set([from.item]);
  const queue = [from.item];
  for (let head = 0; head < queue.length; head++) {
    const item = queue[head] ?? -1;
    for (const edge of scene.edgesOfItem.get(item) ?? []) {
      const next = there[edge] ?? -1;
      const box = scene.boxes[next];
      if (here[edge] !== item || box === undefined || seen.has(next)) continue;
      seen.add(next);
      if (box.shape === "stack") queue.push(next);
      else found.push(box);
    }
  }
  return found;
}

function nearestOf(from: Box, boxes: readonly Box[], direction: Direction): Box | null {
  const start = center(from);
  const isVertical = direction === "up" || direction === "down";
  const sign = direction === "up" || direction === "left" ? -1 : 1;
  let best = Number.POSITIVE_INFINITY;
  let found: Box | null = null;
  for (const box of boxes) {
    if (box.item === from.item) continue;
    const to = center(box);
    const ahead = sign * (isVertical ? to.y - start.y : to.x - start.x);
    const aside = Math.abs(isVertical ? to.x - start.x : to.y - start.y);
    if (ahead <= 1 || (!isVertical && aside > ahead * SLANT)) continue;
    const distance = ahead + aside * SLANT;
    if (distance >= best) continue;
    best = distance;
    found = box;
  }
  return found;
}
