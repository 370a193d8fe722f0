// @vitest-environment jsdom
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { listenToGestures } from "./gestures.js";

let element: HTMLElement;
let lifetime: AbortController;
let takesWheel = true;
const events = {
  takesWheel: () => takesWheel,
  onPan: vi.fn(),
  onZoom: vi.fn(),
  onHover: vi.fn(),
  onClick: vi.fn(),
  onDoubleClick: vi.fn(),
  onDragging: vi.fn(),
};

beforeEach(() => {
  element = document.createElement("div");
  lifetime = new AbortController();
  takesWheel = true;
  listenToGestures(element, events, lifetime.signal);
});
afterEach(() => {
  lifetime.abort();
  vi.clearAllMocks();
});

function pointer(type: string, x: number, y: number, id = 1, pointerType = "mouse") {
  const event = new MouseEvent(type, { clientX: x, clientY: y, button: 0 });
  element.dispatchEvent(Object.assign(event, { pointerId: id, pointerType }));
}

function wheel(init: WheelEventInit): WheelEvent {
  const event = new WheelEvent("wheel", { cancelable: true, ...init });
  element.dispatchEvent(event);
  return event;
}

test("a press that hardly moves is a click", () => {
  pointer("pointerdown", 10, 10);
  pointer("pointermove", 11, 11);
  pointer("pointerup", 11, 11);
  expect(events.onClick).toHaveBeenCalledExactlyOnceWith({ x: 11, y: 11 });
  expect(events.onPan).not.toHaveBeenCalled();
});

test("a drag pans by as much as the pointer went, and is no click", () => {
  pointer("pointerdown", 10, 10);
  pointer("pointermove", 40, 30);
  pointer("pointermove", 45, 30);
  pointer("pointerup", 45, 30);
  const sum = events.onPan.mock.calls.reduce(
    ([x, y], [dx, dy]) => [x + dx, y + dy],
    [0, 0],
  );
  expect(sum).toEqual([35, 20]);
  expect(events.onClick).not.toHaveBeenCalled();
  expect(events.onDragging.mock.calls.at(-1)).toEqual([false]);
});

test("two fingers that part zoom in about their middle", () => {
  pointer("pointerdown", 100, 100, 1, "touch");
  pointer("pointerdown", 200, 100, 2, "touch");
  pointer("pointermove", 300, 100, 2, "touch");
  expect(events.onZoom).toHaveBeenCalledExactlyOnceWith(2, { x: 200, y: 100 });
  expect(events.onPan).toHaveBeenCalledWith(50, 0);
});

test("the wheel zooms about the pointer and does not scroll the page", () => {
  const event = wheel({ deltaY: -100, clientX: 7, clientY: 9 });
  expect(event.defaultPrevented).toBe(true);
  const [factor, at] = events.onZoom.mock.calls[0] ?? [];
  expect(factor).toBeGreaterThan(1);
  expect(at).toEqual({ x: 7, y: 9 });
});

test("the wheel with Shift and two fingers on a trackpad pan", () => {
  wheel({ deltaY: 30, shiftKey: true });
  wheel({ deltaX: 5, deltaY: 10 });
  expect(events.onPan.mock.calls).toEqual([
    [-30, 0],
    [-5, -10],
  ]);
  expect(events.onZoom).not.toHaveBeenCalled();
});

test("a wheel that is not ours scrolls what is around; with Ctrl it zooms", () => {
  takesWheel = false;
  expect(wheel({ deltaY: -100 }).defaultPrevented).toBe(false);
  expect(wheel({ deltaX: 5, deltaY: 10 }).defaultPrevented).toBe(false);
  expect(events.onZoom).not.toHaveBeenCalled();
  expect(events.onPan).not.toHaveBeenCalled();
  expect(wheel({ deltaY: -5, ctrlKey: true }).defaultPrevented).toBe(true);
  expect(events.onZoom).toHaveBeenCalledOnce();
});

test("two fingers that move straight down pan, the notches of a wheel zoom", () => {
  const turn = (deltaY: number, wheelDeltaY: number) => {
    const event = new WheelEvent("wheel", { cancelable: true, deltaY });
    Object.defineProperty(event, "wheelDeltaY", { value: wheelDeltaY });
    element.dispatchEvent(event);
  };
  turn(7, -21);
  expect(events.onPan.mock.calls).toEqual([[-0, -7]]);
  turn(100, -120);
  expect(events.onZoom).toHaveBeenCalledOnce();
});

test("hovering is told, leaving too, and nothing after the end", () => {
  pointer("pointermove", 5, 6);
  pointer("pointerleave", 5, 6);
  expect(events.onHover.mock.calls).toEqual([[{ x: 5, y: 6 }], [null]]);
  lifetime.abort();
  pointer("pointermove", 5, 6);
  expect(events.onHover).toHaveBeenCalledTimes(2);
});
