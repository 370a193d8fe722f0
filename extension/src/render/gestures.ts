// Pointer, wheel and pinch become pans, zooms, hovers and clicks.
import type { Point } from "../geometry/transform.js";

export interface GestureEvents {
  /** Whether the wheel is ours without Ctrl; else it scrolls what is around. */
  takesWheel(): boolean;
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
  const place = (event: MouseEvent): Point => {
    const bounds = element.getBoundingClientRect();
    return { x: event.clientX - bounds.left, y: event.clientY - bounds.top };
  };
  const pressed = new Pressed(events);
  const listen = <Name extends keyof HTMLElementEventMap>(
    name: Name,
    handle: (event: HTMLElementEventMap[Name]) => void,
    passive = true,
  ) => element.addEventListener(name, handle, { signal, passive });

  listen("pointerdown", (event) => {
    if (event.pointerType === "mouse" && event.button > 1) return;
    pressed.begin(event.pointerId, place(event));
    element.setPointerCapture?.(event.pointerId);
  });
  listen("pointermove", (event) => {
    if (pressed.has(event.pointerId)) pressed.move(event.pointerId, place(event));
    else if (event.pointerType === "mouse") events.onHover(place(event));
  });
  listen("pointerup", (event) => {
    if (pressed.end(event.pointerId) && event.button === 0)
      events.onClick(place(event));
  });
  listen("pointercancel", (event) => pressed.end(event.pointerId));
  listen("pointerleave", () => events.onHover(null));
  listen("dblclick", (event) => events.onDoubleClick(place(event)));
  listen("wheel", (event) => onWheel(event, place(event), events), false);
}

/** The pointers that are down, and whether they have moved far enough to be no click. */
class Pressed {
  private readonly pointers = new Map<number, Point>();
  private hasDragged = false;

  constructor(private readonly events: GestureEvents) {}

  has(id: number): boolean {
    return this.pointers.has(id);
  }

  begin(id: number, at: Point): void {
    if (this.pointers.size === 0) this.hasDragged = false;
    this.pointers.set(id, at);
  }

  move(id: number, to: Point): void {
    const before = this.pointers.get(id);
    if (before === undefined) return;
    const isFar = Math.hypot(to.x - before.x, to.y - before.y) >= CLICK_SLOP;
    if (!this.hasDragged && !isFar && this.pointers.size === 1) return;
    this.hasDragged = true;
    this.events.onDragging(true);
    if (this.pointers.size > 1) pinch(this.pointers, id, to, this.events);
    else this.events.onPan(to.x - before.x, to.y - before.y);
    this.pointers.set(id, to);
  }

  /** True when the pointer went up where it went down, more or less: a click. */
  end(id: number): boolean {
    if (!this.pointers.delete(id)) return false;
    if (this.pointers.size === 0) this.events.onDragging(false);
    return !this.hasDragged;
  }
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
 * trackpad pan. A pinch on a trackpad comes with Ctrl. */
function onWheel(event: WheelEvent, at: Point, events: GestureEvents): void {
  const isZoom = event.ctrlKey || event.metaKey;
  if (!isZoom && !events.takesWheel()) return;
  event.preventDefault();
  const unit = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? LINE_HEIGHT : 1;
  const dx = event.deltaX * unit;
  const dy = event.deltaY * unit;
  if (isZoom) {
    const step = Math.max(-WHEEL_LIMIT, Math.min(WHEEL_LIMIT, dy));
    events.onZoom(Math.exp(-step * PINCH_ZOOM), at);
  } else if (event.shiftKey || dx !== 0 || isTrackpad(event)) {
    events.onPan(event.shiftKey && dx === 0 ? -dy : -dx, event.shiftKey ? 0 : -dy);
  } else {
    events.onZoom(Math.exp(-dy * WHEEL_ZOOM), at);
  }
}

/** A trackpad tells whole pixels, and the older property thrice as many of them; the
 * notches of a wheel have a size of their own there. */
function isTrackpad(event: WheelEvent): boolean {
  const { deltaMode, deltaY } = event;
  const { wheelDeltaY } = event as { readonly wheelDeltaY?: number };
  if (deltaMode !== WheelEvent.DOM_DELTA_PIXEL || wheelDeltaY === undefined)
    return false;
  return wheelDeltaY !== 0 && wheelDeltaY === -3 * deltaY && Number.isInteger(deltaY);
}
