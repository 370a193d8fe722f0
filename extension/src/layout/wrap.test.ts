import fc from "fast-check";
import { expect, test } from "vitest";
import { expectGood, expectSound } from "./checks.test-util.js";
import { chain, fromPairs, uniformSizes } from "./graphs.test-util.js";
import { layout } from "./index.js";

const WRAP = { room: { width: 1200, height: 700 } };

/** Blocks of three nodes in a row, each open, the first one and the last one by an edge. */
function blocks(count: number) {
  const nodes = Array.from({ length: 3 * count }, (_, i) => Math.floor(i / 3) + 1);
  const pairs = nodes.slice(1).map((_, i) => [i, i + 1] as [number, number]);
  return fromPairs(Array(count).fill(0), nodes, [...pairs, [0, 3 * count - 1]]);
}

test("a long chain becomes columns, and nothing lies on anything", () => {
  const graph = chain(200);
  const sizes = uniformSizes(graph);
  const { bounds } = layout(graph, sizes);
  const columns = layout(graph, sizes, WRAP);
  expect(bounds.height / bounds.width).toBeGreaterThan(50);
  expect(columns.bounds.height / columns.bounds.width).toBeLessThan(2);
  expectGood(graph, columns);
  const across = columns.overlay.filter((each) => each === 2).length;
  expect(across).toBe(new Set(columns.x).size - 1); // one edge from each to the next
});

test("a chain of open modules does so too, with the edge over all of them", () => {
  const graph = blocks(30);
  const columns = layout(graph, uniformSizes(graph), WRAP);
  const { width, height } = columns.bounds;
  expect(height / width).toBeLessThan(3);
  expectSound(graph, columns);
});

test("what is low, or broad, stays as it is", () => {
  const graph = chain(8);
  expect(layout(graph, uniformSizes(graph), WRAP)).toEqual(
    layout(graph, uniformSizes(graph)),
  );
});

test("in a low window a chain that would not fit becomes columns", () => {
  const graph = chain(12);
  const [high, low] = [700, 330].map((height) => {
    const { bounds } = layout(graph, uniformSizes(graph), {
      room: { width: 1200, height },
    });
    return bounds;
  });
  expect(low?.height).toBeLessThan(0.8 * (high?.height ?? 0));
  expect(low?.width).toBeLessThan(1200);
});

test("whatever hangs on the chain, boxes stay apart and edges end at them", () => {
  const numbers = fc.array(fc.nat(1000), { minLength: 60, maxLength: 90 });
  const pairs = fc.array(fc.tuple(fc.nat(1000), fc.nat(1000)), { maxLength: 12 });
  fc.assert(
    fc.property(numbers, pairs, (nodes, extra) => {
      const spine = nodes.slice(1).map((_, i) => [i, i + 1] as [number, number]);
      const graph = fromPairs([], nodes, [...spine, ...extra]);
      expectSound(graph, layout(graph, uniformSizes(graph), WRAP));
    }),
    { numRuns: 40 },
  );
});
