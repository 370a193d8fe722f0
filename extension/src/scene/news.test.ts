// What a picture says of findings, cuts and saved tensors.
import { describe, expect, test } from "vitest";
import { buildGraph } from "../graph/build.js";
import { bare } from "../graph/snapshots.test-util.js";
import { parseSnapshot } from "../ir/parse.js";
import { boxOf, sceneOf } from "./scenes.test-util.js";

const op = (call: string, extra: object = {}) => ({
  name: `${call}0`,
  kind: "op",
  call,
  ...extra,
});
const finding = (code: string, severity: string, nodes: number[]) => ({
  code,
  slug: "slug",
  severity,
  message: "A sentence.",
  nodes,
});
const cut = (source: number, target: number) => ({
  source,
  target,
  output: 0,
  input: 0,
  kind: "cut",
});

/** a ┄> detach ┄> b ┄> c, with detach in a scope of its own. */
const cutGraph = buildGraph(
  bare(0, [], {
    nodes: [
      op("a"),
      { name: "detach", kind: "cut", call: "detach", scope: 0 },
      op("b"),
      op("c"),
    ],
    edges: [cut(0, 1), cut(1, 2), cut(2, 3)],
    scopes: [{ path: "net", name: "net", kind: "Net" }],
  }),
);

function badges(nodes: object[], findings: object[] = [], node = 0): string[] {
  const scene = sceneOf(buildGraph(bare(0, [], { nodes, findings })));
  return boxOf(scene, node).badges.map(({ text }) => text);
}

describe("cut edges", () => {
  test("are dashed and say that nothing flows, beside a box that says why", () => {
    const { edges, boxes } = sceneOf(cutGraph);
    expect(edges.map(({ kind, label }) => [kind, label])).toEqual([
      ["cut", "no gradient"],
      ["cut", "no gradient"],
      ["cut", "no gradient"],
    ]);
    expect(boxes.find(({ title }) => title === "detach")?.shape).toBe("ghost");
  });

  test("name what cut them where a closed scope hides it", () => {
    const labels = sceneOf(cutGraph, [0]).edges.map(({ label }) => label);
    expect(labels).toEqual(["detach", "detach", "no gradient"]);
  });
});

describe("badges", () => {
  test("hold the codes of errors and warnings, each once, and no info", () => {
    const findings = [
      finding("GV101", "error", [0]),
      finding("GV101", "error", [0]),
      finding("GV201", "warning", [0]),
      finding("GV900", "info", [0]),
    ];
    expect(badges([op("exp", { flags: ["modified"] })], findings)).toEqual([
      "GV101",
      "GV201",
      "modified",
    ]);
  });

  test("say freed only where a finding is about it", () => {
    const [freed, kept] = [op("exp", { flags: ["freed"] }), op("mul")];
    expect(badges([freed, kept])).toEqual([]);
    expect(badges([freed, freed], [finding("GV201", "error", [0])])).toEqual([
      "GV201",
      "freed",
    ]);
  });

  test("of a closed scope hold the codes of what it hides", () => {
    const scopes = [{ path: "net", name: "net", kind: "Net" }];
    const nodes = [op("exp", { scope: 0 }), op("mul", { scope: 0 })];
    const findings = [finding("GV101", "error", [0, 1])];
    const graph = buildGraph(bare(0, [], { nodes, findings, scopes }));
    const [box] = sceneOf(graph, [0]).boxes;
    expect(box?.badges).toEqual([{ text: "GV101", isBad: false, severity: "error" }]);
  });
});

test("badges count hooks, name in-place ops and say which derivative a node is", () => {
  const row = { name: "MulBackward0", kind: "op" };
  const snapshot = parseSnapshot({
    format: "gradviz",
    schema: [1, 2],
    producer: "test",
    nodes: [
      { ...row, hooks: ["f", "g"] },
      { ...row, kind: "inplace", order: 2 },
      { ...row, order: 1 },
      { ...row, order: 11 },
    ],
  });
  const scene = sceneOf(buildGraph(snapshot));
  const texts = scene.boxes.map(({ badges }) => badges.map(({ text }) => text));
  expect(texts).toEqual([
    ["2 hooks"],
    ["in place", "2nd derivative"],
    ["1st derivative"],
    ["11th derivative"],
  ]);
});

test("edges of a node with several outputs say which one, CopySlices what it wrote", () => {
  const tensor = { dtype: "float32", device: "cpu", storage: 0 };
  const snapshot = parseSnapshot({
    format: "gradviz",
    schema: [1, 2],
    producer: "test",
    nodes: [
      { name: "SplitBackward0", kind: "view", call: "split", outputs: [1, 2] },
      { name: "MulBackward0", kind: "op", call: "mul" },
      { name: "CopySlices", kind: "inplace", call: "mul_", inputs: [1], outputs: [0] },
      {
        name: "CopySlices",
        kind: "inplace",
        call: "copy_slices",
        site: 0,
        outputs: [0],
      },
    ],
    sites: [{ file: "a.py", line: 1, end_line: 1 }],
    writes: [{ storage: 0, version: 1, op: "add_", site: 0 }],
    edges: [{ source: 0, output: 1, target: 1, input: 0, tensor: 2 }],
    tensors: [
      { ...tensor, shape: [4, 3], strides: [3, 1], offset: 0 },
      { ...tensor, shape: [2, 3], strides: [3, 1], offset: 3, is_view: true },
      { ...tensor, shape: [2, 3], strides: [3, 1], offset: 6, is_view: true },
    ],
    storages: [{ nbytes: 48, device: "cpu", itemsize: 4, tensors: [0, 1, 2] }],
  });
  const scene = sceneOf(buildGraph(snapshot));
  expect(scene.edges[0]?.label).toBe("out 1 · 2×3");
  expect(scene.boxes[2]).toMatchObject({
    title: "CopySlices",
    subtitle: "mul_ wrote [1:3] of 4×3",
  });
  expect(scene.boxes[3]?.subtitle).toBe("add_ · 4×3");
});
