// The camera's mapping between world space (the layout) and screen space (CSS pixels).
import { center, type Rect } from "./rect.js";

/** screen = world * scale + (x, y) */
export interface Transform {
  readonly scale: number;
  readonly x: number;
  readonly y: number;
}

export const IDENTITY: Transform = { scale: 1, x: 0, y: 0 };

export interface Point {
  readonly x: number;
  readonly y: number;
}

export function toScreen(view: Transform, world: Point): Point {
  return { x: world.x * view.scale + view.x, y: world.y * view.scale + view.y };
}

export function toWorld(view: Transform, screen: Point): Point {
  return { x: (screen.x - view.x) / view.scale, y: (screen.y - view.y) / view.scale };
}

export function rectToScreen(view: Transform, world: Rect): Rect {
  return {
    ...toScreen(view, world),
    width: world.width * view.scale,
    height: world.height * view.scale,
  };
}

export function rectToWorld(view: Transform, screen: Rect): Rect {
  return {
    ...toWorld(view, screen),
    width: screen.width / view.scale,
    height: screen.height / view.scale,
  };
}

/** Zoom so that the world point under `screenPoint` stays where it is. */
export function zoomAbout(
  view: Transform,
  screenPoint: Point,
  factor: number,
  limits: { readonly min: number; readonly max: number },
): Transform {
  const scale = Math.min(limits.max, Math.max(limits.min, view.scale * factor));
  const applied = scale / view.scale;
  return {
    scale,
    x: screenPoint.x + (view.x - screenPoint.x) * applied,
    y: screenPoint.y + (view.y - screenPoint.y) * applied,
  };
}

/** Show the whole of a world rectangle centred in a screen rectangle. */
export function fitInto(world: Rect, screen: Rect, maxScale: number): Transform {
  const scale = Math.min(
    maxScale,
    screen.width / Math.max(world.width, 1),
    screen.height / Math.max(world.height, 1),
  );
  const from = center(world);
  const to = center(screen);
  return { scale, x: to.x - from.x * scale, y: to.y - from.y * scale };
}

/** Between two views: the scale in equal ratios, the fixed point of the move unmoved. */
export function interpolate(from: Transform, to: Transform, share: number): Transform {
  const scale = from.scale * (to.scale / from.scale) ** share;
  const ratio = to.scale - from.scale;
  const moved =
    Math.abs(ratio) < 1e-9 * to.scale ? share : (scale - from.scale) / ratio;
  return {
    scale,
    x: from.x + (to.x - from.x) * moved,
    y: from.y + (to.y - from.y) * moved,
  };
}
