import { describe, expect, test } from "vitest";
import { buildGraph } from "../graph/build.js";
import { collapse } from "../graph/collapse.js";
import { FLOWS } from "../graph/drawing.js";
import { parseSnapshot } from "../ir/parse.js";
import { layout } from "../layout/index.js";
import { describeBoxes } from "./boxes.js";
import { countSharing, linkCurve, storageLinks } from "./links.js";
import { buildScene, type Scene } from "./scene.js";
import { boxOf, graph, measure, open } from "./scenes.test-util.js";
import { toneItems } from "./tones.js";
import { toneNodes } from "./toning.js";
import { buildTwinScene, describeTwins, measurePairs } from "./twins.js";
import { neighbourOf } from "./walk.js";

function twinScene(closed: readonly number[] = []): Scene {
  const visible = collapse(graph, new Set(closed));
  const contents = describeBoxes(graph, visible);
  const twins = describeTwins(graph, visible, contents);
  const placement = layout(visible, measurePairs(contents, twins, measure));
  return buildTwinScene(graph, visible, contents, twins, placement);
}

describe("forward and backward side by side", () => {
  const scene = twinScene();
  const { half, boxes } = scene;

  test("every box has a twin at its height, mirrored", () => {
    expect(boxes).toHaveLength(2 * half);
    boxes.slice(0, half).forEach((box, item) => {
      const twin = boxes[item + half];
      expect(twin).toMatchObject({ id: box.id, shape: box.shape, y: box.y });
      const { x = 0, width = 0 } = twin ?? {};
      expect(x + width + box.x).toBeCloseTo(scene.bounds.width, 2);
      expect(x).toBeGreaterThanOrEqual(box.x);
    });
  });

  test("twins name the backward function and the gradient that came in", () => {
    const op = boxOf(scene, 2);
    const { name } = graph.snapshot.nodes[2] ?? {};
    expect(boxes[op.item + half]?.title).toBe(name);
    expect(boxes[op.item + half]?.subtitle).toMatch(/^(\|g\| [\d.e-]+|no gradient)$/);
  });

  test("twins of leaves keep the names of their tensors", () => {
    const leaf = graph.snapshot.nodes.findIndex(({ kind }) => kind === "accumulate");
    const own = boxOf(scene, leaf);
    expect(own.title).not.toBe("AccumulateGrad");
    expect(boxes[own.item + half]?.title).toBe(own.title);
  });

  test("gradients turn the arrows, cut edges have no twin", () => {
    const { source } = scene.visible;
    scene.edges.forEach((edge, index) => {
      const isTwin = (source[index] ?? 0) >= half;
      expect(edge.isTurned).toBe(isTwin);
      if (isTwin) expect(edge.kind).not.toBe("cut");
    });
    expect(scene.edges.some(({ isTurned }) => isTurned)).toBe(true);
  });

  test("tones and walks are those of the forward column", () => {
    const tones = toneItems(scene.visible, toneNodes(graph, "family"), half);
    expect(tones.slice(half)).toEqual(tones.slice(0, half));
    for (const node of [0, 2, 4]) {
      for (const direction of ["left", "right", "up", "down"] as const) {
        expect(neighbourOf(scene, node, direction)).not.toBe(node);
      }
    }
  });

  test("closed scopes have twins as well", () => {
    const closed = twinScene([1]);
    expect(closed.boxes.filter(({ shape }) => shape === "stack")).toHaveLength(2);
  });
});

test("drawn backward, the arrows of one column turn and say the gradient", () => {
  const { visible, placement } = open;
  const scene = buildScene(graph, visible, open.boxes, placement, "backward");
  expect(scene.boxes).toHaveLength(open.boxes.length);
  expect(scene.edges.filter(({ isTurned }) => isTurned).length).toBeGreaterThan(0);
  expect(scene.edges.map(({ label }) => label).join()).toContain("|g| ");
  expect(FLOWS).toEqual(["forward", "backward", "both"]);
});

describe("links of shared memory", () => {
  const tensor = (storage: number) => ({
    shape: [2],
    strides: [1],
    offset: 0,
    dtype: "float32",
    device: "cpu",
    storage,
  });
  const shared = buildGraph(
    parseSnapshot({
      format: "gradviz",
      schema: [1, 2],
      producer: "test",
      nodes: [0, 1, 2, 3].map((output) => ({
        name: "Op",
        kind: "op",
        outputs: [output],
        scope: output > 1 ? 0 : null,
      })),
      tensors: [tensor(0), tensor(0), tensor(1), tensor(0)],
      storages: [
        { nbytes: 8, device: "cpu", itemsize: 4 },
        { nbytes: 8, device: "cpu", itemsize: 4 },
      ],
      scopes: [{ path: "a", name: "a", kind: "A" }],
    }),
  );

  test("lead from the first box to the others, closed scopes included", () => {
    const visible = collapse(shared, new Set([0]));
    const item = (node: number) => visible.itemOfNode[node] ?? -1;
    expect(storageLinks(shared, visible)).toEqual([
      { from: item(0), to: item(1), storage: 0 },
      { from: item(0), to: item(3), storage: 0 },
    ]);
    expect(countSharing(shared)).toBe(3);
  });

  test("go around what stands between", () => {
    const [from, to] = [boxOf(open, 0), boxOf(open, 4)];
    const [x0 = 0, , bulge = 0, , , , x3 = 0] = linkCurve(from, to);
    expect(bulge).toBeGreaterThan(Math.max(x0, x3));
  });
});
