import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  CHAIN,
  CYCLE,
  chain,
  DIAMOND,
  fromPairs,
  LAYERS,
  NESTED,
  parseGraph,
  RESIDUAL,
  type TestGraph,
  typed,
  uniformSizes,
  wide,
} from "./graphs.test-util.js";
import {
  type LayoutGraph,
  type LayoutOptions,
  layout,
  type Placement,
} from "./index.js";

const SLACK = 0.1; // positions are float32

function place(text: string, options: Partial<LayoutOptions> = {}) {
  const test = parseGraph(text);
  return { ...test, placement: layout(test.graph, uniformSizes(test.graph), options) };
}

function at({ names }: TestGraph, placement: Placement, name: string) {
  const item = names.indexOf(name);
  return { x: placement.x[item] ?? Number.NaN, y: placement.y[item] ?? Number.NaN };
}

interface Box {
  left: number;
  top: number;
  right: number;
  bottom: number;
}

function boxOf(placement: Placement, item: number): Box {
  const halfWidth = (placement.width[item] ?? 0) / 2;
  const halfHeight = (placement.height[item] ?? 0) / 2;
  const x = placement.x[item] ?? Number.NaN;
  const y = placement.y[item] ?? Number.NaN;
  return {
    left: x - halfWidth,
    top: y - halfHeight,
    right: x + halfWidth,
    bottom: y + halfHeight,
  };
}

/** Siblings do not overlap, children lie in their parents, all numbers are finite. */
function expectSound(graph: LayoutGraph, placement: Placement): void {
  const siblings = new Map<number, number[]>();
  for (let item = 0; item < graph.parent.length; item++) {
    const parent = graph.parent[item] ?? -1;
    siblings.set(parent, [...(siblings.get(parent) ?? []), item]);
    const box = boxOf(placement, item);
    expect(Object.values(box).every(Number.isFinite)).toBe(true);
    if (parent < 0) continue;
    const around = boxOf(placement, parent);
    expect(box.left).toBeGreaterThanOrEqual(around.left - SLACK);
    expect(box.right).toBeLessThanOrEqual(around.right + SLACK);
    expect(box.top).toBeGreaterThanOrEqual(around.top - SLACK);
    expect(box.bottom).toBeLessThanOrEqual(around.bottom + SLACK);
  }
  for (const items of siblings.values()) expectApart(items, placement);
}

function expectApart(items: readonly number[], placement: Placement): void {
  const boxes = items.map((item) => boxOf(placement, item));
  boxes.sort((a, b) => a.top - b.top);
  for (let i = 0; i < boxes.length; i++) {
    for (let k = i + 1; k < boxes.length; k++) {
      const a = boxes[i] as Box;
      const b = boxes[k] as Box;
      if (b.top >= a.bottom - SLACK) break;
      const apart = a.right <= b.left + SLACK || b.right <= a.left + SLACK;
      expect(apart, `boxes overlap: ${JSON.stringify([a, b])}`).toBe(true);
    }
  }
}

/** Edges begin at the bottom of their source and end at the top of their target. */
function expectConnected(graph: LayoutGraph, placement: Placement): void {
  const { points, starts } = placement;
  graph.source.forEach((source, edge) => {
    const from = boxOf(placement, source);
    const to = boxOf(placement, graph.target[edge] ?? -1);
    const start = starts[edge] ?? 0;
    const end = starts[edge + 1] ?? 0;
    expect(points[start + 1]).toBeCloseTo(from.bottom, 0);
    expect(points[end - 1]).toBeCloseTo(to.top, 0);
    expect(points[end - 2]).toBeGreaterThanOrEqual(to.left - SLACK);
    expect(points[end - 2]).toBeLessThanOrEqual(to.right + SLACK);
  });
}

/** The straight (vertical) parts of edges pass no box; between ranks there are none. */
function expectClear(graph: LayoutGraph, placement: Placement): void {
  const { points, starts, overlay } = placement;
  const leaves = Array.from(graph.open.keys()).filter((item) => graph.open[item] === 0);
  for (let edge = 0; edge < graph.source.length; edge++) {
    if (overlay[edge] === 1) continue;
    for (let i = starts[edge] ?? 0; i + 3 < (starts[edge + 1] ?? 0); i += 2) {
      const [x0 = 0, y0 = 0, x1 = 0, y1 = 0] = points.subarray(i, i + 4);
      if (x0 !== x1) continue;
      for (const item of leaves) {
        const box = boxOf(placement, item);
        const isInside = x0 > box.left + SLACK && x0 < box.right - SLACK;
        const passes = y0 < box.bottom - SLACK && y1 > box.top + SLACK;
        expect(isInside && passes, `edge ${edge} runs through item ${item}`).toBe(
          false,
        );
      }
    }
  }
}

function expectGood(graph: LayoutGraph, placement: Placement): void {
  expectSound(graph, placement);
  expectConnected(graph, placement);
  expectClear(graph, placement);
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

  test("a long edge over more ranks than allowed becomes a curve, without dummies", () => {
    const line = chain(200);
    const graph = typed(
      [...line.parent],
      [...line.open],
      [...line.source, 0],
      [...line.target, 199],
    );
    const placement = layout(graph, uniformSizes(graph));
    expect(placement.overlay[199]).toBe(1);
    const points = (placement.starts[200] ?? 0) - (placement.starts[199] ?? 0);
    expect(points).toBe(4);
    const routed = layout(graph, uniformSizes(graph), { maxSpan: 500 });
    expect(routed.overlay[199]).toBe(0);
    expectClear(graph, routed);
  });
});

describe("random graphs", () => {
  const numbers = fc.array(fc.nat(1000), { minLength: 1, maxLength: 24 });
  const scopes = fc.array(fc.nat(1000), { maxLength: 6 });
  const pairs = fc.array(fc.tuple(fc.nat(1000), fc.nat(1000)), { maxLength: 60 });

  test("flat: nothing overlaps, edges go down and around the boxes", () => {
    fc.assert(
      fc.property(
        numbers,
        pairs,
        fc.infiniteStream(fc.nat(60)),
        (nodes, edges, extra) => {
          const graph = fromPairs([], nodes, edges);
          const sizes = uniformSizes(graph);
          sizes.width.forEach((_, i) => {
            sizes.width[i] = 40 + (extra.next().value ?? 0);
            sizes.height[i] = 20 + (extra.next().value ?? 0);
          });
          const placement = layout(graph, sizes);
          expectGood(graph, placement);
          expect(placement.stats.upward).toBe(0);
        },
      ),
      { numRuns: 150 },
    );
  });

  test("nested: children stay inside and siblings apart", () => {
    fc.assert(
      fc.property(scopes, numbers, pairs, (outer, nodes, edges) => {
        const graph = fromPairs(outer, nodes, edges);
        expectSound(graph, layout(graph, uniformSizes(graph)));
      }),
      { numRuns: 150 },
    );
  });

  test("the same input gives the same picture", () => {
    fc.assert(
      fc.property(scopes, numbers, pairs, (outer, nodes, edges) => {
        const graph = fromPairs(outer, nodes, edges);
        const first = layout(graph, uniformSizes(graph));
        expect(layout(graph, uniformSizes(graph))).toEqual(first);
      }),
      { numRuns: 30 },
    );
  });
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
