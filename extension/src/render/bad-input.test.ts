// @vitest-environment jsdom
// What a graph view says when it cannot draw: a sentence, never nothing.
import { expect, test } from "vitest";
import type { Placement } from "../layout/index.js";
import { Surface } from "./canvas.js";
import {
  MOST_ITEMS,
  pendingSentence,
  placementProblem,
  tooManySentence,
} from "./picture-parts.js";

function placement(x: readonly number[], points: readonly number[] = []): Placement {
  const zeros = new Float32Array(x.length);
  return {
    x: Float32Array.from(x),
    y: zeros,
    width: zeros,
    height: zeros,
    points: Float32Array.from(points),
    starts: Int32Array.from([0, points.length]),
    overlay: new Uint8Array(1),
    bounds: { width: 1, height: 1 },
    stats: { ranks: 1, crossings: 0, upward: 0 },
  };
}

test("positions that are no numbers are counted in a sentence", () => {
  const bad = placement([1, Number.NaN, Number.POSITIVE_INFINITY]);
  expect(placementProblem(bad)).toBe("The layout found no place for 2 boxes.");
  expect(placementProblem(placement([Number.NaN]))).toBe(
    "The layout found no place for 1 box.",
  );
  expect(placementProblem(placement([1], [0, 0, Number.NaN, 1]))).toBe(
    "The layout lost the way of an edge.",
  );
  expect(placementProblem(placement([1, 2], [0, 0, 1, 1]))).toBeNull();
});

test("large graphs say that they take a moment, too large ones what to do", () => {
  expect(pendingSentence(200_000)).toBe("Laying out 200,000 boxes…");
  expect(tooManySentence(MOST_ITEMS + 1)).toBe(
    "Drawing 500,001 boxes at once is too much: " +
      "close all modules and open those you need.",
  );
});

test("a tab that wakes up paints again", () => {
  const host = document.createElement("div");
  document.body.append(host);
  const lifetime = new AbortController();
  const context = {} as CanvasRenderingContext2D;
  HTMLCanvasElement.prototype.getContext = (() =>
    context) as unknown as HTMLCanvasElement["getContext"];
  const asked: FrameRequestCallback[] = [];
  window.requestAnimationFrame = (call) => asked.push(call);
  const events = { onResize: () => {}, onFrame: () => {} };
  const surface = new Surface(host, lifetime.signal, events);
  expect(asked).toHaveLength(0);
  document.dispatchEvent(new Event("visibilitychange"));
  expect(asked).toHaveLength(1);
  lifetime.abort();
  surface.dispose();
});
