import { describe, expect, test } from "vitest";
import { buildGraph } from "../graph/build.js";
import { bare } from "../graph/snapshots.test-util.js";
import { parseSnapshot } from "../ir/decode.js";
import { METRICS, measureBadges } from "./boxes.js";
import { familyOf } from "./families.js";
import { entryBox, mergedEdge } from "./scene.js";
import { boxOf, closed, graph, measure, open, sceneOf } from "./scenes.test-util.js";
import { logRange, PLAIN, shareOf, toneItems } from "./tones.js";
import { toneNodes } from "./toning.js";

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
      subtitle: "Linear · 64×8",
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

  test("have room for their badges, which would hide arrows beside them", () => {
    const flags = ["modified", "retained", "hooked", "custom", "packed"];
    const rows = [
      { name: "X", kind: "op", flags },
      { name: "X", kind: "op" },
    ];
    const scene = sceneOf(buildGraph(bare(2, [], { nodes: rows })));
    const [flagged, plain] = [boxOf(scene, 0), boxOf(scene, 1)];
    expect(flagged.height - plain.height).toBe(METRICS.badgeLine);
    expect(flagged.width).toBeGreaterThan(measureBadges(flagged.badges, measure).row);
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
    expect(words("scope")).toEqual(["fc1", "net", "fc2", "no module"]);
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

test("reading begins at the topmost box", () => {
  expect(entryBox(open)?.id).toBe(0);
  expect(entryBox(sceneOf(buildGraph(bare(0, []))))).toBeNull();
});
