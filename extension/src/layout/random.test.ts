import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { expectGood, expectSound } from "./checks.test-util.js";
import { fromPairs, uniformSizes } from "./graphs.test-util.js";
import { layout } from "./index.js";

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
