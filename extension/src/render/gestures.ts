// Pointer, wheel and pinch become pans, zooms, hovers and clicks.
import type { Point } from "../geometry/transform.js";

export interface GestureEvents {
  onPan(dx: number, dy: number): void;
  onZoom(factor: number, at: Point): void;
  onHover(at: Point | null): void;
  onClick(at: Point): void;
  onDoubleClick(at: Point): void;
  onDragging(isDragging: boolean): void;
}

/** A press that moves less than this is a click. */
const CLICK_SLOP = 4;
const LINE_HEIGHT = 16;
const WHEEL_ZOOM = 0.0022;
const WHEEL_LIMIT = 60; // one notch of a mouse wheel is 100 or more
const PINCH_ZOOM = 0.01; // a trackpad's pinch comes as small wheel steps with Ctrl

export function listenToGestures(
  element: HTMLElement,
  events: GestureEvents,
  signal: AbortSignal,
): void {
  const pointers = new Map<number, Point>();
  let travelled = 0;
  const place = (event: MouseEvent): Point => {
    const bounds = element.getBoundingClientRect();
    return { x: event.clientX - bounds.left, y: event.clientY - bounds.top };
  };
  const listen = <Name extends keyof HTMLElementEventMap>(
    name: Name,
    handle: (event: HTMLElementEventMap[Name]) => void,
    passive = true,
  ) => element.addEventListener(name, handle, { signal, passive });

  listen("pointerdown", (event) => {
    if (event.pointerType === "mouse" && event.button > 1) return;
    if (pointers.size === 0) travelled = 0;
    pointers.set(event.pointerId, place(event));
    element.setPointerCapture?.(event.pointerId);
  });
  listen("pointermove", (event) => {
    const now = place(event);
    const before = pointers.get(event.pointerId);
    if (before === undefined) {
      if (event.pointerType === "mouse") events.onHover(now);
      return;
    }
    travelled += Math.hypot(now.x - before.x, now.y - before.y);
    if (pointers.size > 1) pinch(pointers, event.pointerId, now, events);
    else if (travelled >= CLICK_SLOP) {
      events.onDragging(true);
      events.onPan(now.x - before.x, now.y - before.y);
    }
    if (travelled >= CLICK_SLOP || pointers.size > 1)
      pointers.set(event.pointerId, now);
  });
  const release = (event: PointerEvent, isClick: boolean) => {
    if (!pointers.delete(event.pointerId)) return;
    if (isClick && travelled < CLICK_SLOP && event.button === 0) {
      events.onClick(place(event));
    }
    if (pointers.size === 0) events.onDragging(false);
  };
  listen("pointerup", (event) => release(event, true));
  listen("pointercancel", (event) => release(event, false));
  listen("pointerleave", () => events.onHover(null));
  listen("dblclick", (event) => events.onDoubleClick(place(event)));
  listen("wheel", (event) => onWheel(event, place(event), events), false);
}

/** The middle of two fingers pans, their distance zooms. */
function pinch(
  pointers: ReadonlyMap<number, Point>,
  moved: number,
  now: Point,
  events: GestureEvents,
): void {
  const before = pointers.get(moved);
  const other = Array.from(pointers).find(([id]) => id !== moved)?.[1];
  if (before === undefined || other === undefined) return;
  const distance = (p: Point) => Math.max(1, Math.hypot(p.x - other.x, p.y - other.y));
  events.onPan((now.x - before.x) / 2, (now.y - before.y) / 2);
  const middle = { x: (now.x + other.x) / 2, y: (now.y + other.y) / 2 };
  events.onZoom(distance(now) / distance(before), middle);
}

/** The wheel zooms about the pointer; with Shift it scrolls sideways; two fingers on a
 * trackpad, which move in both directions at once, pan. */
function onWheel(event: WheelEvent, at: Point, events: GestureEvents): void {
  event.preventDefault();
  const unit = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? LINE_HEIGHT : 1;
  const dx = event.deltaX * unit;
  const dy = event.deltaY * unit;
  if (event.ctrlKey || event.metaKey) {
    const step = Math.max(-WHEEL_LIMIT, Math.min(WHEEL_LIMIT, dy));
    events.onZoom(Math.exp(-step * PINCH_ZOOM), at);
  } else if (event.shiftKey || dx !== 0) {
    events.onPan(event.shiftKey && dx === 0 ? -dy : -dx, event.shiftKey ? 0 : -dy);
  } else {
    events.onZoom(Math.exp(-dy * WHEEL_ZOOM), at);
  }
}
