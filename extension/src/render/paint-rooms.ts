// The far view: modules with their names, as large as they are legible. Paints on the screen.
import { rectToScreen } from "../geometry/transform.js";
import { visibleText } from "../state/visible-text.js";
import { DETAIL, type Frame, isFaded } from "./frame.js";
import type { Pen } from "./pen.js";

const SIZE = { least: 9, most: 20 }; // CSS pixels
const MARGIN = 4;
const PLATE_RADIUS = 4;

/** The name of every module that has room for it, unless modules inside have it. */
export function paintRooms(context: Pen, frame: Frame): void {
  const { scene, view, text, theme } = frame;
  if (view.scale >= DETAIL.names) return;
  const named = new Set<number>();
  const rooms: { item: number; words: string; size: number }[] = [];
  const items: number[] = [];
  scene.boxGrid.query(frame.world, (item) => {
    const shape = scene.boxes[item]?.shape;
    if (shape === "frame" || shape === "stack") items.push(item);
  });
  // What is inside comes after what is around it, and is named first.
  for (const item of items.reverse()) {
    const box = scene.boxes[item];
    if (box === undefined) continue;
    const { width, height } = rectToScreen(view, box);
    const words = visibleText(box.title);
    const room = width - 2 * MARGIN;
    const full = text.measure(words, SIZE.most, true);
    const size = Math.min(
      SIZE.most,
      (SIZE.most * room) / Math.max(full, 1),
      height - 2,
    );
    const isInside = named.has(item);
    if (size < SIZE.least && !isInside) continue;
    const parent = scene.visible.parent[item] ?? -1;
    if (parent >= 0) named.add(parent);
    if (!isInside) rooms.push({ item, words, size: Math.floor(size) });
  }
  context.textAlign = "center";
  context.textBaseline = "middle";
  for (const { item, words, size } of rooms) {
    const box = scene.boxes[item];
    if (box === undefined) continue;
    const { x, y, width, height } = rectToScreen(view, box);
    const [middle, center] = [x + width / 2, y + height / 2];
    context.font = text.font(size, true);
    const wide = text.measure(words, size, true) + 2 * MARGIN;
    context.beginPath();
    context.roundRect(
      middle - wide / 2,
      center - size * 0.7,
      wide,
      size * 1.4,
      PLATE_RADIUS,
    );
    context.fillStyle = theme.badge;
    context.fill();
    context.fillStyle = isFaded(frame, item) ? theme.muted : theme.text;
    context.fillText(words, middle, center + 0.5);
  }
}
