import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { toWorld } from "../geometry/transform.js";
import { buildGraph } from "../graph/build.js";
import { collapse } from "../graph/collapse.js";
import { bare } from "../graph/snapshots.test-util.js";
import { findShift, isSameGraph, previousX } from "./anchor.js";
import { type FrameTitle, frameTitles } from "./frame-titles.js";
import { buildGrid } from "./grid.js";
import { hitTest, hitTitle } from "./hit.js";
import { mergedEdge } from "./scene.js";
import {
  boxOf,
  boxOfScope,
  closed,
  graph,
  middle,
  open,
  sceneOf,
} from "./scenes.test-util.js";
import { neighbourOf } from "./walk.js";

describe("grid", () => {
  const side = fc.integer({ min: -5000, max: 5000 });
  const rect = fc.record({
    x: side,
    y: side,
    width: fc.nat(8000),
    height: fc.nat(8000),
  });

  test("finds everything that meets a rectangle, in order", () => {
    fc.assert(
      fc.property(fc.array(rect, { maxLength: 40 }), rect, (things, wanted) => {
        const bounds = Float32Array.from(
          things.flatMap(({ x, y, width, height }) => [x, y, x + width, y + height]),
        );
        const found: number[] = [];
        buildGrid(things.length, bounds).query(wanted, (id) => found.push(id));
        expect(found).toEqual([...new Set(found)].sort((a, b) => a - b));
        things.forEach((thing, id) => {
          const meets =
            thing.x <= wanted.x + wanted.width &&
            thing.x + thing.width >= wanted.x &&
            thing.y <= wanted.y + wanted.height &&
            thing.y + thing.height >= wanted.y;
          if (meets) expect(found).toContain(id);
        });
      }),
    );
  });
});

describe("what is under the pointer", () => {
  test("a node, wherever one touches it", () => {
    for (let node = 0; node < 6; node++) {
      expect(hitTest(open, middle(boxOf(open, node)), 4)).toEqual({
        kind: "node",
        node,
      });
    }
  });

  test("a closed scope, and the title of an open one, but not its inside", () => {
    const stack = boxOf(closed, 0);
    const scope = { kind: "scope", scope: 1, isOpen: false, isMarker: false };
    expect(hitTest(closed, middle(stack), 4)).toEqual(scope);
    const frame = open.boxes.find((box) => box.shape === "frame" && box.id === 1);
    if (frame === undefined) throw new Error("fc1 is not open");
    const at = { x: frame.x + 10, y: frame.y + 10 };
    expect(hitTest(open, at, 1)).toMatchObject({
      kind: "scope",
      scope: 1,
      isOpen: true,
    });
    expect(
      hitTest(open, { x: frame.x + 4, y: frame.y + frame.height - 4 }, 1),
    ).toBeNull();
  });

  test("an edge, from as near as its reach", () => {
    const edge = mergedEdge(open, 4);
    const start = open.placement.starts[edge] ?? 0;
    const [x = 0, y = 0] = open.placement.points.subarray(start, start + 2);
    expect(hitTest(open, { x: x + 3, y: y + 6 }, 4)).toEqual({ kind: "edge", edge: 4 });
    expect(hitTest(open, { x: x + 8, y: y + 6 }, 4)).toBeNull();
  });
});

describe("titles of open scopes", () => {
  const screen = { width: 800, height: 600 };

  test("stand at the top of their frame", () => {
    const titles = frameTitles(open, { scale: 1, x: 0, y: 0 }, screen);
    expect(titles.map(({ box }) => box.title)).toEqual(["net", "fc1", "fc2"]);
    expect(titles.some(({ isFloating }) => isFloating)).toBe(false);
  });

  test("stick to the top of the screen while one reads inside", () => {
    const view = { scale: 1, x: 0, y: -boxOf(open, 2).y };
    const titles = frameTitles(open, view, screen);
    const told = titles.map(({ box, isStuck }) => [box.title, isStuck]);
    expect(told).toEqual([
      ["net", true],
      ["fc2", false],
    ]);
    expect(titles[0]?.bar.y).toBe(0);
    const hit = hitTitle(titles, { x: (titles[0]?.bar.x ?? 0) + 20, y: 5 });
    expect(hit).toMatchObject({ kind: "scope", scope: 0, isOpen: true });
  });

  test("leave rather than cover a box", () => {
    const inner = boxOf(open, 2);
    const view = { scale: 1, x: -inner.x, y: -inner.y };
    const titles = frameTitles(open, view, screen);
    expect(titles.map(({ box }) => box.title)).not.toContain("net");
  });

  test("leave when little of their frame is left to hide", () => {
    const view = { scale: 1, x: 0, y: 30 - boxOf(open, 4).y };
    const titles = frameTitles(open, view, screen);
    expect(titles.map(({ box }) => box.title)).not.toContain("fc2");
  });
});

describe("arrow keys", () => {
  test("walk along edges up and down, and to what stands beside", () => {
    expect(neighbourOf(open, 1, "down")).toBe(2);
    expect(neighbourOf(open, 4, "up")).toBe(2);
    expect(neighbourOf(open, 0, "up")).toBeNull();
    const side = boxOf(open, 3).x < boxOf(open, 4).x ? "left" : "right";
    expect(neighbourOf(open, 3, side === "left" ? "right" : "left")).not.toBe(3);
  });

  test("stop at closed scopes, at a node that they hide", () => {
    const both = sceneOf(graph, [2]);
    expect(neighbourOf(both, 2, "down")).toBe(3);
    expect(neighbourOf(both, 5, "up")).toBe(3);
    expect(neighbourOf(both, 3, "down")).toBe(5);
    expect(neighbourOf(both, 4, "up")).toBe(2);
  });
});

describe("keeping the picture in place", () => {
  const size = { width: 800, height: 600 };
  const frame = boxOfScope(open, 1);
  const stack = boxOf(closed, 0);
  const shownBy = (title: FrameTitle | undefined) => {
    if (title === undefined) throw new Error("no title");
    return { x: title.bar.x + 10, y: title.bar.y + title.bar.height / 2 };
  };

  test("the triangle of the scope that was closed stays where it was", () => {
    const look = { view: { scale: 1, x: 20, y: 30 }, size };
    const title = frameTitles(open, look.view, size).find(({ box }) => box === frame);
    const shift = findShift(open, closed, 1, look);
    expect(shift?.from).toEqual(toWorld(look.view, shownBy(title)));
    expect(shift?.to).toEqual({ x: stack.x + 13, y: stack.y + stack.height / 2 });
    const back = findShift(closed, open, 1, look);
    expect(back?.from).toEqual(shift?.to);
    expect(back?.to).toEqual(shift?.from);
  });

  test("so it does when its title sticks to the top of the screen", () => {
    const outer = boxOfScope(open, 0);
    const look = { view: { scale: 1, x: 0, y: -outer.y - 60 }, size };
    const title = frameTitles(open, look.view, size).find(({ box }) => box === outer);
    expect(title?.isStuck).toBe(true);
    const shift = findShift(open, sceneOf(graph, [0]), 0, look);
    expect(shift?.from).toEqual(toWorld(look.view, shownBy(title)));
  });

  test("else what is in the middle stays", () => {
    const around = boxOf(open, 2);
    const { x, y, width, height } = around;
    const look = { view: { scale: 1, x: -x, y: -y }, size: { width, height } };
    const shift = findShift(open, closed, null, look);
    expect(shift?.from).toEqual(middle(around));
    expect(shift?.to).toEqual(middle(boxOf(closed, 2)));
  });

  test("what stays visible is laid out from where it was; what is new is not", () => {
    const visible = collapse(graph, new Set());
    const start = previousX(closed, graph, visible);
    expect(start[visible.itemOfNode[2] ?? -1]).toBeCloseTo(
      middle(boxOf(closed, 2)).x,
      3,
    );
    expect(start[visible.itemOfNode[0] ?? -1]).toBeNaN();
    expect(start[visible.itemOfScope[1] ?? -1]).toBeCloseTo(
      middle(boxOf(closed, 0)).x,
      3,
    );
  });

  test("a graph that grew is the same graph; another one is not", () => {
    const grown = buildGraph(bare(12, []));
    expect(isSameGraph(buildGraph(bare(10, [])), grown)).toBe(true);
    expect(isSameGraph(graph, grown)).toBe(false);
  });
});
