// What a picture says of findings, cuts and saved tensors.
import { describe, expect, test } from "vitest";
import { buildGraph } from "../graph/build.js";
import { bare } from "../graph/snapshots.test-util.js";
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

  test("say freed where it tells nodes apart, or a finding is about it", () => {
    const [freed, kept] = [op("exp", { flags: ["freed"] }), op("mul")];
    expect(badges([freed, kept])).toEqual(["freed"]);
    expect(badges([freed, freed, kept])).toEqual([]);
    expect(badges([freed, freed], [finding("GV301", "error", [0])])).toEqual([
      "GV301",
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
