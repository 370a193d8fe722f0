import { describe, expect, test } from "vitest";
import { expectClear, expectGood, expectSound } from "./checks.test-util.js";
import {
  CHAIN,
  CYCLE,
  chain,
  DIAMOND,
  LAYERS,
  NESTED,
  parseGraph,
  RESIDUAL,
  type TestGraph,
  typed,
  uniformSizes,
  wide,
} from "./graphs.test-util.js";
import { type LayoutOptions, layout, type Placement } from "./index.js";

function place(text: string, options: Partial<LayoutOptions> = {}) {
  const test = parseGraph(text);
  return { ...test, placement: layout(test.graph, uniformSizes(test.graph), options) };
}

function at({ names }: TestGraph, placement: Placement, name: string) {
  const item = names.indexOf(name);
  return { x: placement.x[item] ?? Number.NaN, y: placement.y[item] ?? Number.NaN };
}

describe("named graphs", () => {
  test("a chain is a straight line, top to bottom", () => {
    const { placement, ...graph } = place(CHAIN);
    const [a, b, c] = ["a", "b", "c"].map((name) => at(graph, placement, name));
    expect([b?.x, c?.x]).toEqual([a?.x, a?.x]);
    expect(a?.y).toBeLessThan(b?.y ?? 0);
    expect(b?.y).toBeLessThan(c?.y ?? 0);
    expect(placement.bounds).toEqual({ width: 80, height: 3 * 40 + 2 * 36 });
  });

  test("a diamond has its sides in one rank and nothing crosses", () => {
    const { placement, ...graph } = place(DIAMOND);
    const b = at(graph, placement, "b");
    const c = at(graph, placement, "c");
    expect(b.y).toBe(c.y);
    expect(Math.abs(b.x - c.x)).toBeGreaterThanOrEqual(80 + 22);
    expect(placement.stats.crossings).toBe(0);
    expectGood(graph.graph, placement);
  });

  test("the main path of a residual block is straight and the short cut runs beside", () => {
    const { placement, ...graph } = place(RESIDUAL);
    const xs = ["a", "b", "c", "d", "e"].map((name) => at(graph, placement, name).x);
    expect(new Set(xs).size).toBe(1);
    expectGood(graph.graph, placement);
  });

  test("parameters stand directly above what they feed", () => {
    const { placement, ...graph } = place(LAYERS);
    const y = (name: string) => at(graph, placement, name).y;
    expect(y("v")).toBe(y("l"));
    expect(y("c")).toBe(y("l"));
    expect(y("w")).toBe(y("x"));
    expect(placement.stats.crossings).toBe(0);
    expectGood(graph.graph, placement);
  });

  test("open scopes hold their children and edges cross their borders straight", () => {
    const { placement, ...graph } = place(NESTED);
    expectGood(graph.graph, placement);
    const edge = graph.graph.source.indexOf(graph.names.indexOf("b"));
    const path = placement.points.subarray(
      placement.starts[edge],
      placement.starts[edge + 1],
    );
    expect(path.length).toBe(4); // one vertical line through the border of Q
  });

  test("boxes in a cycle are drawn, with the closing edge marked", () => {
    const { placement, graph } = place(CYCLE);
    expectSound(graph, placement);
    expect(placement.stats.upward).toBe(1);
    expect(Array.from(placement.overlay)).toEqual([0, 0, 1, 0]);
  });

  test("an edge from an item to itself is drawn over the picture", () => {
    const graph = typed([-1], [0], [0], [0]);
    const placement = layout(graph, uniformSizes(graph));
    expect(placement.overlay[0]).toBe(1);
    expectSound(graph, placement);
  });

  test("an empty graph has no size", () => {
    const graph = typed([], [], [], []);
    expect(layout(graph, uniformSizes(graph)).bounds).toEqual({ width: 0, height: 0 });
  });

  test("an open scope without children keeps the size of its title", () => {
    const graph = typed([-1], [1], [], []);
    const placement = layout(graph, uniformSizes(graph, 120, 30));
    expect(placement.width[0]).toBe(120);
  });
});

describe("large graphs", () => {
  test("a chain of 10,000 nodes is straight", () => {
    const graph = chain(10_000);
    const { x, y } = layout(graph, uniformSizes(graph));
    expect(new Set(x).size).toBe(1);
    expect(y[9999]).toBeCloseTo(9999 * 76 + 20, -1);
  });

  test("nine nodes side by side are in one rank, around the middle", () => {
    const graph = wide(9);
    const placement = layout(graph, uniformSizes(graph));
    const row = Array.from(placement.y.subarray(1, 10));
    expect(new Set(row).size).toBe(1);
    expect(placement.x[0]).toBeCloseTo(placement.bounds.width / 2, 0);
    expect(placement.stats.crossings).toBe(0);
    expectGood(graph, placement);
  });

  test("a long edge over more ranks than allowed runs in a lane beside the boxes", () => {
    const line = chain(200);
    const graph = typed(
      [...line.parent],
      [...line.open],
      [...line.source, 0],
      [...line.target, 199],
    );
    const placement = layout(graph, uniformSizes(graph));
    expect(placement.overlay[199]).toBe(1);
    const path = placement.points.subarray(
      placement.starts[199],
      placement.starts[200],
    );
    const across = path.filter((_, i) => i % 2 === 0);
    expect(across.length).toBeLessThanOrEqual(6);
    const right = Math.max(
      ...placement.x.map((x, i) => x + (placement.width[i] ?? 0) / 2),
    );
    expect(Math.max(...across)).toBeGreaterThan(right);
    expect(Math.max(...across)).toBeLessThanOrEqual(placement.bounds.width);
    const routed = layout(graph, uniformSizes(graph), { maxSpan: 500 });
    expect(routed.overlay[199]).toBe(0);
    expectClear(graph, routed);
  });
});

/** A chain, and more edges over it. */
function chainWith(count: number, long: readonly (readonly [number, number])[]) {
  const line = chain(count);
  return typed(
    [...line.parent],
    [...line.open],
    [...line.source, ...long.map(([from]) => from)],
    [...line.target, ...long.map(([, to]) => to)],
  );
}

/** The x of the lane in which an edge runs. */
function laneOf({ points, starts }: Placement, edge: number): number {
  const across = points.subarray(starts[edge], starts[edge + 1]);
  expect(across.length).toBe(8);
  return across[2] ?? Number.NaN;
}

describe("lanes of long edges", () => {
  test("an edge over another one runs outside of it", () => {
    const graph = chainWith(400, [
      [0, 399],
      [100, 300],
      [10, 390],
    ]);
    const placement = layout(graph, uniformSizes(graph));
    const aside = [399, 400, 401].map((edge) =>
      Math.abs(laneOf(placement, edge) - (placement.x[0] ?? 0)),
    );
    expect(aside[0]).toBeGreaterThan(Math.max(...aside.slice(1)));
  });

  test("edges one below another share a lane", () => {
    const graph = chainWith(400, [
      [0, 100],
      [120, 220],
      [240, 340],
    ]);
    const placement = layout(graph, uniformSizes(graph));
    const lanes = [399, 400, 401].map((edge) => laneOf(placement, edge));
    expect(new Set(lanes).size).toBe(1);
  });

  test("hundreds that lie in one another do not cross", () => {
    const count = 800;
    const long = Array.from({ length: 300 }, (_, i) => [i, count - 1 - i] as const);
    const graph = chainWith(count, long);
    const placement = layout(graph, uniformSizes(graph));
    const sides: number[][] = [[], []];
    long.forEach((_, i) => {
      const lane = laneOf(placement, count - 1 + i) - (placement.x[0] ?? 0);
      sides[lane < 0 ? 0 : 1]?.push(Math.abs(lane));
    });
    for (const side of sides) expect(side).toEqual([...side].sort((a, b) => b - a));
    expect(sides[0]?.length).toBe(150);
  });

  test("thousands are curves over the picture", () => {
    const long = Array.from({ length: 1100 }, (_, i) => [i, i + 100] as const);
    const graph = chainWith(1300, long);
    const { points, starts, overlay } = layout(graph, uniformSizes(graph));
    expect(points.length).toBeGreaterThan(0);
    expect(overlay[1299]).toBe(1);
    expect((starts[1300] ?? 0) - (starts[1299] ?? 0)).toBe(4);
  });
});

test("turns of a loop stand below one another, whatever else they share", () => {
  // Each cell takes w through one more step than what the cell before it hands on.
  const cells = "C.t C.m C.n D.u D.o D.p E.v E.q E.r";
  const edges = "g>h w>t t>m h>m m>n w>u u>o n>o o>p w>v v>q p>q q>r";
  const { placement, ...graph } = place(`C[] D[] E[] w g h ${cells} ${edges}`);
  const xs = ["m", "n", "o", "p", "q", "r"].map((name) => at(graph, placement, name).x);
  for (const x of xs) expect(x).toBeCloseTo(xs[0] ?? Number.NaN, 3);
  expectGood(graph.graph, placement);
});

describe("warm start", () => {
  test("nodes keep their order from left to right", () => {
    const graph = wide(9);
    const mirrored = Float32Array.from({ length: 11 }, (_, i) => -100 * i);
    const placement = layout(graph, uniformSizes(graph), { previousX: mirrored });
    const row = Array.from(placement.x.subarray(1, 10));
    expect(row).toEqual([...row].sort((a, b) => b - a));
  });

  test("a graph that grew keeps its shape", () => {
    const small = wide(8);
    const before = layout(small, uniformSizes(small));
    const large = wide(9);
    const previousX = new Float32Array(11).fill(Number.NaN);
    previousX.set(before.x.subarray(0, 9));
    const after = layout(large, uniformSizes(large), { previousX });
    const order = Array.from(after.x.subarray(1, 9));
    expect(order).toEqual([...order].sort((a, b) => a - b));
  });
});
