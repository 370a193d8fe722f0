import { describe, expect, test } from "vitest";
import { localGraph, typed, uniformSizes } from "./graphs.test-util.js";
import { LayoutError, layout } from "./index.js";
import { addDummies } from "./layers.js";
import { orderVertices } from "./order.js";
import { rankVertices } from "./rank.js";
import {
  checkCoordinates,
  checkInput,
  checkOrder,
  checkRanks,
  checkRoutes,
} from "./validate.js";

function stageOf(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    if (error instanceof LayoutError) return error.stage;
    throw error;
  }
  return "none";
}

describe("each validator blames its stage", () => {
  const graph = localGraph("a>b b>c a>c");
  const ranking = rankVertices(graph, 64);
  const layered = addDummies(graph, ranking);
  const ordering = orderVertices(layered, 4);

  test("the stages' own results pass", () => {
    checkRanks(graph, ranking);
    checkOrder(layered, ordering);
  });

  test("rank: an edge within one rank", () => {
    const rank = new Int32Array(3);
    expect(stageOf(() => checkRanks(graph, { ...ranking, rank }))).toBe("rank");
  });

  test("order: a vertex at another's place", () => {
    const position = ordering.position.map((place) => place + 1);
    expect(stageOf(() => checkOrder(layered, { ...ordering, position }))).toBe("order");
  });

  test("coord: two vertices at one place", () => {
    const coordinates = {
      x: new Float64Array(layered.count),
      y: new Float64Array(3),
      top: Float64Array.of(0, 100, 200),
      bottom: Float64Array.of(40, 140, 240),
    };
    const run = () => checkCoordinates(layered, ordering, coordinates);
    expect(stageOf(run)).toBe("coord");
    expect(run).toThrow(
      /The layout's coord stage failed: vertices \d and \d overlap\./,
    );
  });

  test("route: a path that rises, unless it may", () => {
    const points = Float32Array.of(0, 10, 0, 0);
    const starts = Int32Array.of(0, 4);
    const run = (isFree: number) =>
      stageOf(() => checkRoutes(points, starts, Uint8Array.of(isFree)));
    expect(run(0)).toBe("route");
    expect(run(1)).toBe("none");
  });

  test("input: an edge to an open item, a child before its parent, a missing size", () => {
    const open = typed([-1, 0], [1, 0], [1], [0]);
    expect(stageOf(() => checkInput(open, uniformSizes(open)))).toBe("input");
    const early = typed([1, -1], [0, 1], [], []);
    expect(stageOf(() => layout(early, uniformSizes(early)))).toBe("input");
    const fine = typed([-1], [0], [], []);
    const sizes = { width: Float32Array.of(Number.NaN), height: Float32Array.of(1) };
    expect(stageOf(() => layout(fine, sizes))).toBe("input");
  });
});
