// The far view: modules with their names, as large as they are legible. Paints on the screen.

import type { Rect } from "../geometry/rect.js";
import { rectToScreen } from "../geometry/transform.js";
import { type FrameTitle, frameTitles } from "../scene/frame-titles.js";
import { visibleText } from "../state/visible-text.js";
import { type Frame, isFaded } from "./frame.js";
import type { Pen } from "./pen.js";

const SIZE = { least: 9, most: 20 }; // CSS pixels
const MARGIN = 4;
const PLATE_RADIUS = 4;
/** An open module wider than this share of the window is a place to be in, with a title;
 * the modules inside of it are what is looked at. */
const LARGE = 1 / 3;

interface Room {
  readonly item: number;
  readonly words: string;
  readonly size: number;
  readonly area: Rect;
}

/** The outermost modules that are small enough to be looked at, and the titles of those
 * around them. */
function roomsOf(frame: Frame): { rooms: Room[]; titles: FrameTitle[] } {
  const { scene, view, text, size: screen } = frame;
  const inside = new Uint8Array(scene.boxes.length); // of a room that has its name
  const rooms: Room[] = [];
  scene.boxGrid.query(frame.world, (item) => {
    const box = scene.boxes[item];
    if (box?.shape !== "frame" && box?.shape !== "stack") return;
    const parent = scene.visible.parent[item] ?? -1;
    if (parent >= 0 && inside[parent] === 1) {
      inside[item] = 1;
      return;
    }
    const area = rectToScreen(view, box);
    if (box.shape === "frame" && area.width > screen.width * LARGE) return;
    const words = visibleText(box.title);
    const full = text.measure(words, SIZE.most, true);
    const fits = (SIZE.most * (area.width - 2 * MARGIN)) / Math.max(full, 1);
    const size = Math.floor(Math.min(SIZE.most, fits, area.height - 2));
    if (size < SIZE.least) return;
    inside[item] = 1;
    rooms.push({ item, words, size, area });
  });
  const titles = frameTitles(scene, view, screen).filter(
    ({ box }) => inside[box.item] === 0,
  );
  return { rooms, titles };
}

/** Paint the names of rooms; the answer is the titles that are still to be painted. */
export function paintRooms(context: Pen, frame: Frame): FrameTitle[] {
  const { text, theme } = frame;
  const { rooms, titles } = roomsOf(frame);
  context.textAlign = "center";
  context.textBaseline = "middle";
  for (const { item, words, size, area } of rooms) {
    const [x, y] = [area.x + area.width / 2, area.y + area.height / 2];
    context.font = text.font(size, true);
    const wide = text.measure(words, size, true) + 2 * MARGIN;
    context.beginPath();
    context.roundRect(x - wide / 2, y - size * 0.7, wide, size * 1.4, PLATE_RADIUS);
    context.fillStyle = theme.badge;
    context.fill();
    context.fillStyle = isFaded(frame, item) ? theme.muted : theme.text;
    context.fillText(words, x, y + 0.5);
  }
  return titles;
}
