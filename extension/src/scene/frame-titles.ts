// Where the titles of open scopes stand. They stick to the top of the screen while one
// scrolls inside their scope, each below the title of the scope around it, unless they
// would cover a box there.
import { intersects, type Rect } from "../geometry/rect.js";
import { rectToScreen, rectToWorld, type Transform } from "../geometry/transform.js";
import { METRICS } from "./boxes.js";
import type { Box, Scene } from "./scene.js";

export interface FrameTitle {
  readonly box: Box;
  /** In screen space; the whole width of the frame that can be seen. */
  readonly bar: Rect;
  readonly fontSize: number;
  /** It sticks to the top of the screen, away from its place. */
  readonly isStuck: boolean;
  /** The bar lies over the content, because it sticks or because the frame is small. */
  readonly isFloating: boolean;
}

const BAR = { least: 20, most: METRICS.frameTitle };
const FONT = { least: 11, most: 13, world: 12 };
/** CSS pixels from the left end of the bar to the triangle, and its width. */
export const TITLE_MARKER = { left: 10, width: 9 } as const;
/** Frames smaller than this on the screen have no title. */
const LEAST = { width: 64, height: 48 };
/** A title does not stick when less than this of its frame is left: it would hide it. */
const LEAST_LEFT = 110;
/** The mean width of a letter, in parts of the font size. */
const WIDTH_PER_EM = 0.6;

/** In CSS pixels. */
export function barHeight(scale: number): number {
  return Math.min(BAR.most, Math.max(BAR.least, METRICS.frameTitle * scale));
}

export function frameTitles(
  scene: Scene,
  view: Transform,
  screen: { readonly width: number; readonly height: number },
): FrameTitle[] {
  const window = { x: 0, y: 0, ...screen };
  const titles: FrameTitle[] = [];
  const bottomOf = new Map<number, number>();
  const height = barHeight(view.scale);
  const fontSize = Math.min(FONT.most, Math.max(FONT.least, FONT.world * view.scale));
  scene.boxGrid.query(rectToWorld(view, window), (item) => {
    const box = scene.boxes[item];
    if (box === undefined || box.shape !== "frame") return;
    const frame = rectToScreen(view, box);
    if (frame.width < LEAST.width || frame.height < LEAST.height) return;
    if (!intersects(frame, window)) return;
    const above = bottomOf.get(scene.visible.parent[item] ?? -1) ?? 0;
    const y = Math.max(frame.y, above);
    const isStuck = y > frame.y + 1;
    if (isStuck && frame.y + frame.height - y < LEAST_LEFT) return;
    const left = Math.max(0, frame.x);
    const words = { x: left, y, width: wordsWidth(box, fontSize), height };
    if (isStuck && coversBox(scene, rectToWorld(view, words))) return;
    bottomOf.set(item, y + height);
    const right = Math.min(screen.width, frame.x + frame.width);
    titles.push({
      box,
      bar: { x: left, y, width: right - left, height },
      fontSize,
      isStuck,
      isFloating: isStuck || METRICS.frameTitle * view.scale < BAR.least,
    });
  });
  return titles;
}

/** About the room of triangle, title and kind: what is measured exactly is painted. */
function wordsWidth(box: Box, fontSize: number): number {
  const letters = box.title.length + box.subtitle.length;
  return (
    2 * TITLE_MARKER.left + 2 * TITLE_MARKER.width + WIDTH_PER_EM * fontSize * letters
  );
}

function coversBox(scene: Scene, area: Rect): boolean {
  let covers = false;
  scene.boxGrid.query(area, (item) => {
    const box = scene.boxes[item];
    if (box === undefined || box.shape === "frame") return;
    covers ||= intersects(box, area);
  });
  return covers;
}
