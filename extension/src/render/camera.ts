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
import type { Room } from "../layout/types.js";

const MAX_SCALE = 4;
const SMALLEST_SCALE = 0.02;
const FIT_MAX_SCALE = 1.15;
const FIT_MARGIN = 28;
/** Below this, names cannot be read: the first look is then at the top of the graph. */
const READABLE_SCALE = 0.7;
const LEAST_WIDTH_SCALE = 0.42;
const REVEAL_SCALE = 0.8;
const REVEAL_MARGIN = 48;
const MOVE_MILLIS = 260;

export interface CameraOptions {
  /** Called when the view changed or a move began: draw a frame. */
  readonly onChange: () => void;
  readonly prefersReducedMotion: () => boolean;
  readonly now: () => number;
}

interface Move {
  readonly from: Transform;
  readonly to: Transform;
  readonly begin: number;
}

/** What a window shows at once, whatever its size; a lower one holds less. */
const ROOM: Room = { width: 1200, height: 700 };
const ROOM_STEP = 50; // a window that is being resized lays out a few times only

/** How large a picture may be whose names can be read in a window of a size. */
export function roomIn(window: Room): Room {
  const fits = (pixels: number) => {
    const room = Math.max(0, pixels - 2 * FIT_MARGIN) / READABLE_SCALE;
    return Math.max(ROOM_STEP, Math.floor(room / ROOM_STEP) * ROOM_STEP);
  };
  const height = fits(window.height);
  const isKnown = window.width > 1 && window.height > 1;
  return !isKnown || height >= ROOM.height
    ? ROOM
    : { width: fits(window.width), height };
}

export class Camera {
  view: Transform = IDENTITY;
  private size = { width: 1, height: 1 };
  private smallest = SMALLEST_SCALE;
  private move: Move | null = null;

  constructor(private readonly options: CameraOptions) {}

  /** Keep the middle in the middle. */
  resize(width: number, height: number): void {
    const dx = (width - this.size.width) / 2;
    const dy = (height - this.size.height) / 2;
    this.size = { width: Math.max(1, width), height: Math.max(1, height) };
    const { move } = this;
    this.pan(dx, dy);
    // A move that runs goes on, to the same place in the new middle.
    if (move !== null) {
      const shift = (view: Transform) => ({ ...view, x: view.x + dx, y: view.y + dy });
      this.move = { ...move, from: shift(move.from), to: shift(move.to) };
    }
  }

  /** Set at once. */
  jump(view: Transform): void {
    this.move = null;
    this.view = view;
    this.options.onChange();
  }

  pan(dx: number, dy: number): void {
    const shift = (view: Transform) => ({ ...view, x: view.x + dx, y: view.y + dy });
    this.jump(shift(this.view));
  }

  zoom(factor: number, at: Point): void {
    this.jump(zoomAbout(this.view, at, factor, this.limits()));
  }

  fit(world: Rect): void {
    this.glide(this.whole(world));
  }

  /** Fit a picture again that has become small: many modules were closed at once. */
  fitIfSmall(world: Rect): void {
    const { width, height } = rectToScreen(this.view, world);
    const isSmall = width < this.size.width / 2 && height < this.size.height / 2;
    if (isSmall && this.view.scale < READABLE_SCALE) this.fit(world);
  }

  /** The whole graph if its names can be read then, else its top, around the entry: as
   * near to it as leaves no room empty beside the graph. */
  firstLook(world: Rect, entry: Rect): void {
    const whole = this.whole(world);
    if (whole.scale >= READABLE_SCALE) {
      this.jump(whole);
      return;
    }
    const area = this.screen(FIT_MARGIN);
    const byWidth = area.width / Math.max(world.width, 1);
    const scale = Math.min(1, Math.max(READABLE_SCALE, byWidth));
    const reach = Math.max(0, world.width - area.width / scale) / 2;
    const { x: middle } = center(world);
    const near = Math.min(middle + reach, Math.max(middle - reach, center(entry).x));
    const x = center(area).x - near * scale;
    this.jump({ scale, x, y: area.y - world.y * scale });
  }

  /** All of the width where names can nearly be read then, from the top. */
  lookAtWidth(world: Rect): void {
    const area = this.screen(FIT_MARGIN);
    const byWidth = area.width / Math.max(world.width, 1);
    const scale = Math.min(1, Math.max(LEAST_WIDTH_SCALE, byWidth));
    const x = center(area).x - center(world).x * scale;
    this.glide({ scale, x, y: area.y - world.y * scale });
  }

  /** Whether a rectangle can be in view as a whole with its names readable. */
  canShow(world: Rect): boolean {
    const area = this.screen(REVEAL_MARGIN);
    return (
      world.width * REVEAL_SCALE <= area.width &&
      world.height * REVEAL_SCALE <= area.height
    );
  }

  /** Bring a rectangle into view, with the least move that does; one from far away into
   * the middle, as near to it as leaves no room empty beside the picture. */
  reveal(world: Rect, picture: Rect = world): void {
    const from = this.move?.to ?? this.view;
    const scale = Math.max(this.largestFor(world, from.scale), REVEAL_SCALE);
    const about = { x: this.size.width / 2, y: this.size.height / 2 };
    const near = zoomAbout(from, about, scale / from.scale, this.limits());
    const target = rectToScreen(near, world);
    const area = this.screen(REVEAL_MARGIN);
    const isFar = !intersects(target, { x: 0, y: 0, ...this.size });
    let dx = isFar ? about.x - center(target).x : inward(target, area, "x", "width");
    let dy = isFar ? about.y - center(target).y : inward(target, area, "y", "height");
    if (isFar) {
      const { x, y, width, height } = rectToScreen(near, picture);
      dx = filling(x, width, dx, area.x, area.width);
      dy = filling(y, height, dy, area.y, area.height);
    }
    if (dx !== 0 || dy !== 0 || near.scale !== from.scale) {
      this.glide({ scale: near.scale, x: near.x + dx, y: near.y + dy });
    }
  }

  /** The present scale, or less if the rectangle would not be in view as a whole. */
  private largestFor(world: Rect, scale: number): number {
    const area = this.screen(REVEAL_MARGIN);
    const byWidth = area.width / Math.max(world.width, 1);
    return Math.min(scale, byWidth, area.height / Math.max(world.height, 1));
  }

  /** Advance a running move; true while it runs. */
  step(now: number): boolean {
    if (this.move === null) return false;
    const { from, to, begin } = this.move;
    const share = Math.min(1, Math.max(0, (now - begin) / MOVE_MILLIS));
    this.view = share < 1 ? interpolate(from, to, easeOut(share)) : to;
    if (share === 1) this.move = null;
    return this.move !== null;
  }

  /** Move there, at once where no motion is wanted. */
  glide(to: Transform): void {
    if (this.options.prefersReducedMotion()) {
      this.jump(to);
      return;
    }
    this.move = { from: this.view, to, begin: this.options.now() };
    this.options.onChange();
  }

  private limits() {
    return { min: this.smallest, max: MAX_SCALE };
  }

  /** The view of all of a rectangle; zooming out goes a little further than that. */
  private whole(world: Rect): Transform {
    const view = fitInto(world, this.screen(FIT_MARGIN), FIT_MAX_SCALE);
    this.smallest = Math.min(SMALLEST_SCALE, view.scale / 2);
    return view;
  }

  private screen(margin: number): Rect {
    const { width, height } = this.size;
    const least = Math.min(margin, width / 4, height / 4);
    return inflate({ x: 0, y: 0, width, height }, -least);
  }
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

/** The shift nearest to one that leaves none of an area empty beside a longer span. */
function filling(
  start: number,
  length: number,
  shift: number,
  areaStart: number,
  areaLength: number,
): number {
  const least = areaStart + areaLength - (start + length);
  const most = areaStart - start;
  return least > most ? shift : Math.min(most, Math.max(least, shift));
}

/** Fast at first, then slower until it rests. */
export function easeOut(share: number): number {
  return 1 - (1 - share) ** 3;
}
