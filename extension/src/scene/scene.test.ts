import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { buildGraph, type Graph } from "../graph/build.js";
import { collapse } from "../graph/collapse.js";
import { bare, twoLayers } from "../graph/snapshots.test-util.js";
import { parseSnapshot } from "../ir/decode.js";
import { layout } from "../layout/index.js";
import { findShift, isSameGraph, previousX } from "./anchor.js";
import { describeBoxes, measureBoxes } from "./boxes.js";
import { familyOf } from "./families.js";
import { frameTitles } from "./frame-titles.js";
import { buildGrid } from "./grid.js";
import { hitTest, hitTitle } from "./hit.js";
import { boxOfNode, buildScene, entryBox, mergedEdge, type Scene } from "./scene.js";
import { logRange, PLAIN, shareOf, toneItems, toneNodes } from "./tones.js";
import { neighbourOf } from "./walk.js";

const measure = (text: string, size: number) => text.length * size * 0.6;

function sceneOf(graph: Graph, closed: readonly number[] = []): Scene {
  const visible = collapse(graph, new Set(closed));
  const contents = describeBoxes(graph, visible);
  return buildScene(
    graph,
    visible,
    contents,
    layout(visible, measureBoxes(contents, measure)),
  );
}

const graph = buildGraph(twoLayers());
const open = sceneOf(graph);
const closed = sceneOf(graph, [1]);
const middle = (box: { x: number; y: number; width: number; height: number }) => ({
  x: box.x + box.width / 2,
  y: box.y + box.height / 2,
});

function boxOf(scene: Scene, node: number) {
  const box = boxOfNode(scene, node);
  if (box === null) throw new Error(`no box shows node ${node}`);
  return box;
}

describe("families", () => {
  test.each([
    ["ConvolutionBackward0", "linear"],
    ["AddmmBackward0", "linear"],
    ["NativeBatchNormBackward0", "norm"],
    ["NativeLayerNormBackward0", "norm"],
    ["LinalgVectorNormBackward0", "norm"],
    ["SoftmaxBackward0", "activation"],
    ["LogSoftmaxBackward0", "activation"],
    ["ReluBackward0", "activation"],
    ["MaxPool2DWithIndicesBackward0", "reduce"],
    ["NllLossBackward0", "reduce"],
    ["SumBackward1", "reduce"],
    ["MaximumBackward0", "reduce"],
    ["ViewBackward0", "shape"],
    ["TBackward0", "shape"],
    ["CatBackward0", "shape"],
    ["TransposeBackward0", "shape"],
    ["MulBackward0", "math"],
    ["PowBackward0", "math"],
  ])("%s is %s", (name, family) => {
    const { nodes } = parseSnapshot({
      format: "gradviz",
      schema: [1, 0],
      producer: "test",
      nodes: [{ name, kind: "op" }],
    });
    expect(nodes.map(familyOf)).toEqual([family]);
  });

  test("kinds go before names", () => {
    const [weight] = graph.snapshot.nodes;
    expect(weight && familyOf(weight)).toBe("leaf");
  });
});

describe("boxes", () => {
  test("say what they show", () => {
    expect(boxOf(open, 0)).toMatchObject({
      shape: "pill",
      title: "weight",
      subtitle: "8×4",
    });
    expect(boxOf(open, 4)).toMatchObject({ title: "linear", subtitle: "64×2 f64" });
    expect(boxOf(open, 5)).toMatchObject({ subtitle: "scalar", isRoot: true });
    expect(boxOf(closed, 0)).toMatchObject({
      shape: "stack",
      title: "fc1",
      subtitle: "Linear · 2 nodes",
    });
  });

  test("warn of NaN, and a closed scope warns of what it hides", () => {
    expect(boxOf(open, 3)).toMatchObject({ isBad: true, badges: [{ text: "NaN" }] });
    expect(boxOf(open, 2).badges.map(({ text }) => text)).toEqual(["hook"]);
    const hidden = boxOf(sceneOf(graph, [0]), 3);
    expect(hidden.isBad).toBe(true);
    expect(hidden.badges.map(({ text }) => text)).toEqual(["NaN", "modified"]);
  });

  test("are wide enough for their words, up to a limit", () => {
    const long = buildGraph(
      bare(1, [], { nodes: [{ name: "X", kind: "op", call: "x".repeat(500) }] }),
    );
    expect(boxOf(sceneOf(long), 0).width).toBe(232);
  });
});

describe("edges", () => {
  test("are as thick as their gradient is large", () => {
    const width = (edge: number) => open.edges[mergedEdge(open, edge)]?.width ?? 0;
    expect(width(1)).toBeLessThan(width(0));
    expect(width(0)).toBeLessThan(width(4));
    expect(width(2)).toBeLessThanOrEqual(width(4));
  });

  test("with NaN are bad, and carry their tensor's shape", () => {
    expect(open.edges[mergedEdge(open, 3)]).toMatchObject({
      kind: "bad",
      label: "2×8",
    });
  });

  test("that are hidden have no merged edge", () => {
    expect(mergedEdge(closed, 0)).toBe(-1);
    expect(mergedEdge(closed, 1)).toBeGreaterThanOrEqual(0);
  });
});

describe("tones", () => {
  test("norms are on a logarithmic ramp; zero is its beginning", () => {
    const range = logRange([null, 0.01, 100, Number.NaN, 0, Number.POSITIVE_INFINITY]);
    expect(range).toEqual({ low: 0.01, high: 100 });
    expect([0, 0.01, 1, 100].map((norm) => shareOf(range, norm))).toEqual([
      0, 0, 0.5, 1,
    ]);
    expect(logRange([0, null])).toBeNull();
  });

  test("a closed scope takes the strongest gradient inside", () => {
    const toning = toneNodes(graph, "gradient");
    const scene = sceneOf(graph, [0]);
    const tones = toneItems(scene.visible, toning);
    expect(tones[boxOf(scene, 4).item]).toEqual(toning.nodeTone(4));
  });

  test("a legend names what is there, and nothing else", () => {
    const words = (by: "family" | "scope" | "dtype") =>
      toneNodes(graph, by).meanings.map(({ text }) => text);
    expect(words("dtype")).toEqual(["float32", "float64"]);
    expect(words("scope")).toEqual(["fc1", "net", "fc2"]);
    expect(words("family")).toEqual([
      "Matrix and convolution",
      "Activation",
      "Reduction, loss, pooling",
      "Parameter or leaf",
    ]);
  });

  test("without gradients the ramp says so", () => {
    const toning = toneNodes(buildGraph(bare(2, [[0, 1]])), "gradient");
    expect(toning.nodeTone(0)).toEqual(PLAIN);
    expect(toning.meanings.map(({ text }) => text)).toEqual(["no gradient recorded"]);
  });
});

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
    const scope = { kind: "scope", scope: 1, isOpen: false };
    expect(hitTest(closed, middle(stack), 4)).toEqual(scope);
    const frame = open.boxes.find((box) => box.shape === "frame" && box.id === 1);
    if (frame === undefined) throw new Error("fc1 is not open");
    const at = { x: frame.x + 10, y: frame.y + 10 };
    expect(hitTest(open, at, 1)).toEqual({ kind: "scope", scope: 1, isOpen: true });
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
    expect(hit).toEqual({ kind: "scope", scope: 0, isOpen: true });
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

  test("pass over closed scopes", () => {
    const both = sceneOf(graph, [2]);
    expect(neighbourOf(both, 2, "down")).toBe(5);
    expect(neighbourOf(both, 5, "up")).toBe(2);
  });
});

describe("keeping the picture in place", () => {
  const world = { x: -1e4, y: -1e4, width: 2e4, height: 2e4 };

  test("the scope that was closed stays where it was", () => {
    const frame = open.boxes.find((box) => box.shape === "frame" && box.id === 1);
    const stack = boxOf(closed, 0);
    expect(findShift(open, closed, 1, world)).toEqual({
      from: { x: (frame?.x ?? 0) + (frame?.width ?? 0) / 2, y: frame?.y },
      to: { x: stack.x + stack.width / 2, y: stack.y },
    });
  });

  test("else what is in the middle stays", () => {
    const around = boxOf(open, 2);
    const shift = findShift(open, closed, null, around);
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

test("reading begins at the topmost box", () => {
  expect(entryBox(open)?.id).toBe(0);
  expect(entryBox(sceneOf(buildGraph(bare(0, []))))).toBeNull();
});
