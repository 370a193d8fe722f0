import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { distanceToPath } from "../geometry/curve.js";
import { inflate, intersects, type Rect } from "../geometry/rect.js";
import { buildGraph } from "../graph/build.js";
import { bare } from "../graph/snapshots.test-util.js";
import { METRICS } from "./boxes.js";
import { createEdgeLabels } from "./edge-labels.js";
import { mergedEdge, type Scene } from "./scene.js";
import {
  boxOfScope,
  closed,
  graph,
  measure,
  open,
  sceneOf,
} from "./scenes.test-util.js";

function areasOf(scene: Scene): Rect[] {
  const labels = createEdgeLabels(scene, measure);
  return scene.edges.flatMap((_, edge) => labels.areaOf(edge) ?? []);
}

describe("labels of edges", () => {
  test("say what a closed scope gives, and not what a box says already", () => {
    const labels = createEdgeLabels(closed, measure);
    expect(closed.edges[mergedEdge(closed, 1)]?.label).toBe("64×8");
    expect(labels.areaOf(mergedEdge(closed, 1))).not.toBeNull();
    expect(createEdgeLabels(open, measure).areaOf(mergedEdge(open, 1))).toBeNull();
  });

  test("stay where they are once they are placed", () => {
    const labels = createEdgeLabels(closed, measure);
    const edge = mergedEdge(closed, 1);
    expect(labels.areaOf(edge)).toBe(labels.areaOf(edge));
  });

  test("lie on nothing: no box, no edge, no other label", () => {
    const count = 14;
    const node = fc.nat(count - 1);
    const edge = fc.tuple(node, node).filter(([from, to]) => from < to);
    fc.assert(
      fc.property(
        fc.uniqueArray(edge, { maxLength: 24, selector: String }),
        (pairs) => {
          const scene = sceneOf(buildGraph(bare(count, pairs, tensors(pairs))));
          const areas = areasOf(scene);
          areas.forEach((area, i) => {
            for (const other of areas.slice(i + 1)) {
              expect(intersects(area, other)).toBe(false);
            }
            for (const box of scene.boxes) expect(intersects(area, box)).toBe(false);
            for (const corner of cornersOf(inflate(area, 1))) {
              for (let at = 0; at < scene.edges.length; at++) {
                expect(distanceTo(scene, at, corner)).toBeGreaterThan(0.5);
              }
            }
          });
        },
      ),
      { numRuns: 60 },
    );
  });

  test("keep clear of the sheets below a closed scope", () => {
    const scene = sceneOf(graph, [0]);
    const [area] = areasOf(scene);
    const stack = boxOfScope(scene, 0);
    expect(area?.y).toBeGreaterThan(stack.y + stack.height + METRICS.sheets);
  });

  test("keep clear of the rings of marks", () => {
    const source = closed.visible.source[mergedEdge(closed, 1)] ?? -1;
    const free = createEdgeLabels(closed, measure);
    const ringed = createEdgeLabels(closed, measure, new Set([source]));
    const [before, after] = [free, ringed].map((labels) =>
      labels.areaOf(mergedEdge(closed, 1)),
    );
    const ring = inflate(closed.boxes[source] as Rect, METRICS.rings);
    expect(before && intersects(before, ring)).toBe(true);
    expect(after && intersects(after, ring)).toBe(false);
  });

  test("keep clear of the titles of open scopes", () => {
    for (const scene of [open, closed, sceneOf(graph, [2])]) {
      for (const area of areasOf(scene)) {
        for (const frame of scene.boxes.filter(({ shape }) => shape === "frame")) {
          expect(intersects(area, { ...frame, height: 30 })).toBe(false);
        }
      }
    }
  });
});

/** Every edge carries a tensor of its own shape, so that every edge wants a label. */
function tensors(pairs: readonly (readonly [number, number])[]) {
  const edges = pairs.map(([source, target], tensor) => ({
    source,
    target,
    output: 0,
    input: 0,
    tensor,
  }));
  const rows = pairs.map((_, i) => ({
    shape: [i + 1, 64],
    strides: [64, 1],
    offset: 0,
    dtype: "float32",
    device: "cpu",
  }));
  return { edges, tensors: rows };
}

function cornersOf({ x, y, width, height }: Rect) {
  return [
    { x, y },
    { x: x + width, y },
    { x, y: y + height },
    { x: x + width, y: y + height },
  ];
}

function distanceTo({ placement }: Scene, edge: number, at: { x: number; y: number }) {
  const { points, starts } = placement;
  return distanceToPath(points, starts[edge] ?? 0, starts[edge + 1] ?? 0, at.x, at.y);
}
