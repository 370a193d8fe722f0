import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { controls, cubicAt, distanceToLine, distanceToPath } from "./curve.js";
import { center, contains, inflate, intersects } from "./rect.js";
import {
  fitInto,
  interpolate,
  rectToScreen,
  toScreen,
  toWorld,
  zoomAbout,
} from "./transform.js";

const number = fc.double({ min: -1e4, max: 1e4, noNaN: true });
const length = fc.double({ min: 1, max: 1e4, noNaN: true });
const scale = fc.double({ min: 0.02, max: 4, noNaN: true });
const view = fc.record({ scale, x: number, y: number });
const point = fc.record({ x: number, y: number });
const rect = fc.record({ x: number, y: number, width: length, height: length });

describe("transform", () => {
  test("to the screen and back is the same place", () => {
    fc.assert(
      fc.property(view, point, (any, place) => {
        const back = toWorld(any, toScreen(any, place));
        expect(back.x).toBeCloseTo(place.x, 6);
        expect(back.y).toBeCloseTo(place.y, 6);
      }),
    );
  });

  test("a zoom leaves the place under the pointer where it is", () => {
    const limits = { min: 0.02, max: 4 };
    fc.assert(
      fc.property(
        view,
        point,
        fc.double({ min: 0.1, max: 10, noNaN: true }),
        (any, pointer, factor) => {
          const zoomed = zoomAbout(any, pointer, factor, limits);
          expect(zoomed.scale).toBeGreaterThanOrEqual(0.02);
          expect(zoomed.scale).toBeLessThanOrEqual(4);
          const before = toWorld(any, pointer);
          const after = toScreen(zoomed, before);
          expect(after.x).toBeCloseTo(pointer.x, 4);
          expect(after.y).toBeCloseTo(pointer.y, 4);
        },
      ),
    );
  });

  test("what is fitted lies inside, in the middle", () => {
    fc.assert(
      fc.property(rect, rect, (world, screen) => {
        const fitted = rectToScreen(fitInto(world, screen, 4), world);
        expect(fitted.width).toBeLessThanOrEqual(screen.width * 1.0001);
        expect(fitted.height).toBeLessThanOrEqual(screen.height * 1.0001);
        expect(center(fitted).x).toBeCloseTo(center(screen).x, 4);
        expect(center(fitted).y).toBeCloseTo(center(screen).y, 4);
      }),
    );
  });

  test("a move begins and ends where it should", () => {
    fc.assert(
      fc.property(view, view, (from, to) => {
        for (const [share, goal] of [
          [0, from],
          [1, to],
        ] as const) {
          const at = interpolate(from, to, share);
          expect(at.scale).toBeCloseTo(goal.scale, 6);
          expect(at.x).toBeCloseTo(goal.x, 3);
          expect(at.y).toBeCloseTo(goal.y, 3);
        }
      }),
    );
  });
});

describe("rect", () => {
  test("a rectangle meets what shares a point with it", () => {
    const a = { x: 0, y: 0, width: 10, height: 10 };
    expect(intersects(a, { x: 10, y: 10, width: 1, height: 1 })).toBe(true);
    expect(intersects(a, { x: 11, y: 0, width: 1, height: 1 })).toBe(false);
    expect(contains(a, 10, 0)).toBe(true);
    expect(contains(a, 10.1, 0)).toBe(false);
  });

  test("shrinking stops at the centre", () => {
    expect(inflate({ x: 0, y: 0, width: 4, height: 10 }, -3)).toEqual({
      x: 2,
      y: 3,
      width: 0,
      height: 4,
    });
  });
});

describe("curves", () => {
  test("leave and arrive vertically", () => {
    expect(controls(0, 0, 100, 40)).toEqual({ x1: 0, y1: 20, x2: 100, y2: 20 });
  });

  test("upwards, they go around on the right", () => {
    const { x1, x2, y1, y2 } = controls(0, 100, 10, 0);
    expect(Math.min(x1, x2)).toBeGreaterThan(10);
    expect([y1 > 100, y2 < 0]).toEqual([true, true]);
  });

  test("a point on a curve is near its path", () => {
    fc.assert(
      fc.property(fc.double({ min: 0, max: 1, noNaN: true }), (t) => {
        const { x1, y1, x2, y2 } = controls(0, 0, 60, 40);
        const x = cubicAt(0, x1, x2, 60, t);
        const y = cubicAt(0, y1, y2, 40, t);
        const points = Float32Array.of(0, 0, 60, 40, 60, 90);
        expect(distanceToPath(points, 0, 6, x, y)).toBeLessThan(1);
      }),
    );
  });

  test("distance to a line is to its nearest point, ends included", () => {
    expect(distanceToLine(0, 0, 10, 0, 5, 3)).toBe(3);
    expect(distanceToLine(0, 0, 10, 0, 13, 4)).toBe(5);
    expect(distanceToLine(2, 2, 2, 2, 2, 5)).toBe(3);
  });
});
