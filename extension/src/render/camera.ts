// Where the view looks, and its smooth moves. Knows no pointer and no canvas.
import { center, inflate, intersects, type Rect } from "../geometry/rect.js";
import {
  fitInto,
  IDENTITY,
  interpolate,
  type Point,
  rectToScreen,
  type Transform,
  zoomAbout,
} from "../geometry/transform.js";

export const MAX_SCALE = 4;
const FIT_MAX_SCALE = 1.15;
const FIT_MARGIN = 28;
/** Below this, names cannot be read: the first look is then at the top of the graph. */
const READABLE_SCALE = 0.62;
const REVEAL_SCALE = 0.8;
const REVEAL_MARGIN = 48;
const MOVE_MILLIS = 260;

export interface Camera {
  readonly view: Transform;
  resize(width: number, height: number): void;
  /** Set at once. */
  jump(view: Transform): void;
  pan(dx: number, dy: number): void;
  zoom(factor: number, at: Point): void;
  fit(world: Rect): void;
  /** The whole graph if its names can be read then, else its top, at the entry's x. */
  firstLook(world: Rect, entry: Rect): void;
  /** Bring a rectangle into view, with the least move that does. */
  reveal(world: Rect): void;
  /** Advance a running move; true while it runs. */
  step(now: number): boolean;
}

export interface CameraOptions {
  /** Called when the view changed or a move began: draw a frame. */
  readonly onChange: () => void;
  readonly prefersReducedMotion: () => boolean;
  readonly now: () => number;
}

export function createCamera(options: CameraOptions): Camera {
  let view = IDENTITY;
  let size = { width: 1, height: 1 };
  let smallest = 0.02;
  let move: { from: Transform; to: Transform; begin: number } | null = null;

  const screen = (margin: number): Rect =>
    inflate(
      { x: 0, y: 0, ...size },
      -Math.min(margin, size.width / 4, size.height / 4),
    );
  const jump = (to: Transform) => {
    move = null;
    view = to;
    options.onChange();
  };
  const glide = (to: Transform) => {
    if (options.prefersReducedMotion()) return jump(to);
    move = { from: view, to, begin: options.now() };
    options.onChange();
  };
  const goal = () => move?.to ?? view;
  const fitted = (world: Rect) => fitInto(world, screen(FIT_MARGIN), FIT_MAX_SCALE);

  return {
    get view() {
      return view;
    },
    resize(width, height) {
      size = { width: Math.max(1, width), height: Math.max(1, height) };
      options.onChange();
    },
    jump,
    pan(dx, dy) {
      jump({ ...view, x: view.x + dx, y: view.y + dy });
    },
    zoom(factor, at) {
      jump(zoomAbout(view, at, factor, { min: smallest, max: MAX_SCALE }));
    },
    fit(world) {
      const to = fitted(world);
      smallest = Math.min(0.02, to.scale / 2);
      glide(to);
    },
    firstLook(world, entry) {
      const whole = fitted(world);
      smallest = Math.min(0.02, whole.scale / 2);
      if (whole.scale >= READABLE_SCALE) return jump(whole);
      const area = screen(FIT_MARGIN);
      const byWidth = area.width / Math.max(world.width, 1);
      const scale = Math.min(1, Math.max(READABLE_SCALE, byWidth));
      const middle = center(byWidth >= scale ? world : entry).x;
      const x = area.x + area.width / 2 - middle * scale;
      jump({ scale, x, y: area.y - world.y * scale });
    },
    reveal(world) {
      const from = goal();
      const scale = Math.max(from.scale, REVEAL_SCALE);
      const about = { x: size.width / 2, y: size.height / 2 };
      const near = zoomAbout(from, about, scale / from.scale, {
        min: smallest,
        max: MAX_SCALE,
      });
      const target = rectToScreen(near, world);
      const area = screen(REVEAL_MARGIN);
      const isFar = !intersects(target, { x: 0, y: 0, ...size });
      const dx = isFar
        ? about.x - center(target).x
        : inward(target, area, "x", "width");
      const dy = isFar
        ? about.y - center(target).y
        : inward(target, area, "y", "height");
      if (dx !== 0 || dy !== 0 || near.scale !== from.scale) {
        glide({ scale: near.scale, x: near.x + dx, y: near.y + dy });
      }
    },
    step(now) {
      if (move === null) return false;
      const share = Math.min(1, (now - move.begin) / MOVE_MILLIS);
      view = interpolate(move.from, move.to, easeOut(share));
      if (share >= 1) {
        view = move.to;
        move = null;
      }
      return move !== null;
    },
  };
}

/** The shift that brings a span into another, or its start where it is too long. */
function inward(
  rect: Rect,
  area: Rect,
  start: "x" | "y",
  length: "width" | "height",
): number {
  const before = area[start] - rect[start];
  const after = rect[start] + rect[length] - (area[start] + area[length]);
  if (before > 0 || rect[length] > area[length]) return before;
  return after > 0 ? -after : 0;
}

function easeOut(share: number): number {
  return 1 - (1 - share) ** 3;
}
