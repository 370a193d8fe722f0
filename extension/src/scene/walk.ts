// Walks from box to box with the arrow keys: along edges up and down, by place sideways.
import { center } from "../geometry/rect.js";
import { type Box, boxOfNode, type Scene } from "./scene.js";

export type Direction = "up" | "down" | "left" | "right";

/** What lies off the line of the step counts as so much further away: going up from an
 * op, its input is nearer than the parameters beside it. */
const SLANT = 3;

/** The node of the nearest box in a direction, or null at the border of the picture. A
 * closed scope answers with its first node: selecting it marks the scope, to be opened. */
export function neighbourOf(
  scene: Scene,
  node: number,
  direction: Direction,
): number | null {
  const from = boxOfNode(scene, node);
  if (from === null) return null;
  if (direction === "up" || direction === "down") {
    const along = nearestOf(from, connected(scene, from, direction), direction);
    if (along !== null) return nodeOf(scene, along);
  }
  const boxes = scene.boxes.slice(0, scene.half).filter((box) => box.shape !== "frame");
  const nearest = nearestOf(from, boxes, direction);
  return nearest === null ? null : nodeOf(scene, nearest);
}

function nodeOf(scene: Scene, box: Box): number {
  return box.shape === "stack" ? scene.visible.itemOfNode.indexOf(box.item) : box.id;
}

/** The boxes at the other ends of the edges in or out. */
function connected(scene: Scene, from: Box, direction: "up" | "down"): Box[] {
  const { source, target } = scene.visible;
  const [here, there] = direction === "up" ? [target, source] : [source, target];
  return (scene.edgesOfItem.get(from.item) ?? []).flatMap((edge) => {
    const box = here[edge] === from.item ? scene.boxes[there[edge] ?? -1] : undefined;
    return box === undefined ? [] : [box];
  });
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
