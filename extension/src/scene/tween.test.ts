import { describe, expect, test } from "vitest";
import { buildGraph } from "../graph/build.js";
import { bare } from "../graph/snapshots.test-util.js";
import {
  boxOf,
  boxOfScope,
  closed,
  graph,
  middle,
  open,
  sceneOf,
} from "./scenes.test-util.js";
import { createTween } from "./tween.js";

const still = { dx: 0, dy: 0 };

function tweenTo(after: typeof open, before: typeof open, shift = still) {
  const tween = createTween(before, after, shift);
  if (tween === null) throw new Error("there is no way");
  return tween;
}

describe("the way from one scene to the next", () => {
  test("ends at the next scene", () => {
    const end = tweenTo(open, closed)(1);
    expect(end.boxes).toEqual(open.boxes);
    expect(end.placement.points).toEqual(open.placement.points);
  });

  test("begins where boxes were; what was hidden comes out of its closed scope", () => {
    const begin = tweenTo(open, closed)(0);
    expect(middle(boxOf(begin, 2))).toEqual(middle(boxOf(closed, 2)));
    expect(middle(boxOf(begin, 1))).toEqual(middle(boxOfScope(closed, 1)));
    const { x, y, width, height } = boxOfScope(closed, 1);
    expect(boxOfScope(begin, 1)).toMatchObject({ x, y, width, height });
  });

  test("closing begins with the box as large as its frame was", () => {
    const { x, y, width, height } = boxOfScope(open, 1);
    const begin = tweenTo(closed, open)(0);
    expect(boxOfScope(begin, 1)).toMatchObject({ x, y, width, height });
  });

  test("edges stay at their boxes all the way", () => {
    for (const share of [0, 0.3, 1]) {
      const { boxes, visible, placement } = tweenTo(open, closed)(share);
      visible.source.forEach((source, edge) => {
        const start = placement.starts[edge] ?? 0;
        const end = placement.starts[edge + 1] ?? 0;
        const from = boxes[source];
        const to = boxes[visible.target[edge] ?? -1];
        if (from === undefined || to === undefined) throw new Error("no ends");
        expect(placement.points[start + 1]).toBeCloseTo(from.y + from.height, 3);
        expect(placement.points[end - 1]).toBeCloseTo(to.y, 3);
      });
    }
  });

  test("a shift of the world is part of the way", () => {
    const begin = tweenTo(open, closed, { dx: 40, dy: -7 })(0);
    const was = middle(boxOf(closed, 2));
    expect(middle(boxOf(begin, 2))).toEqual({ x: was.x + 40, y: was.y - 7 });
  });

  test("there is none between different graphs, nor for very many boxes", () => {
    const many = sceneOf(buildGraph(bare(601, [])));
    expect(createTween(open, sceneOf(buildGraph(bare(2, []))), still)).toBeNull();
    expect(createTween(many, many, still)).toBeNull();
    expect(createTween(sceneOf(graph), open, still)).not.toBeNull();
  });
});
