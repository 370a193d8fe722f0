import { expect, test } from "vitest";
import { buildGraph } from "../graph/build.js";
import { parseSnapshot } from "../ir/parse.js";
import { measureFor, modulesOf, outlineOf } from "./outline.js";

/** net { trunk { fc: w, linear; act }, frozen (beside the graph), head: w }, head blamed. */
function made() {
  const scope = (path: string, kind: string, parent: number | null) => {
    return { path, name: path.split(".").at(-1) ?? "", kind, parent };
  };
  const leaf = (scope: number, row: number) => {
    const rest = { outputs: [], grad_outputs: [row], call: "weight" };
    return { name: "AccumulateGrad", kind: "accumulate", scope, ...rest };
  };
  const op = (scope: number, sequence: number, elapsed_ns: number) => {
    const rest = { site: sequence % 2, sequence, elapsed_ns };
    return { name: "MulBackward0", kind: "op", scope, ...rest };
  };
  return parseSnapshot({
    format: "gradviz",
    schema: [1, 0],
    producer: "test",
    sites: [0, 1].map((line) => ({ file: "a.py", line: line + 1, end_line: line + 1 })),
    statistics: [
      { count: 1, norm: 3 },
      { count: 1, norm: 4 },
      { count: 2, norm: 1, nans: 1 },
    ],
    scopes: [
      scope("net", "Net", null),
      scope("net.trunk", "Trunk", 0),
      scope("net.trunk.fc", "Linear", 1),
      scope("net.trunk.act", "Tanh", 1),
      scope("net.head", "Linear", 0),
    ],
    nodes: [
      leaf(2, 0),
      leaf(2, 1),
      leaf(4, 2),
      op(2, 1, 300),
      op(3, 2, 100),
      op(4, 3, 600),
      {
        ...{ name: "Sequential", kind: "cut", call: "frozen", scope: 0, site: 0 },
        flags: ["frozen"],
      },
    ],
    edges: [{ source: 4, target: 6, output: 0, input: 0, kind: "cut" }],
    findings: [
      { code: "GV401", slug: "x", severity: "error", message: "m", nodes: [5] },
    ],
  });
}

const rowsOf = (measure: "gradient" | "time" | "memory", closed: number[] = []) =>
  outlineOf(
    modulesOf(buildGraph(made()), { measure, norms: new Map() }),
    new Set(closed),
  ).rows;

test("the outline has the modules as they ran, those beside the graph too", () => {
  expect(rowsOf("gradient").map(({ name, depth }) => [name, depth])).toEqual([
    ["net", 0],
    ["trunk", 1],
    ["fc", 2],
    ["act", 2],
    ["frozen", 1],
    ["head", 1],
  ]);
  expect(rowsOf("gradient", [1]).map(({ name }) => name)).not.toContain("fc");
});

test("a bar is the norm of what the parameters in it got; NaN is said", () => {
  const [net, trunk, fc, act, frozen, head] = rowsOf("gradient");
  expect(trunk?.words).toBe("5"); // of 3 and 4
  expect(fc?.share).toBeCloseTo((Math.log10(5) + 8) / 12);
  expect([act?.words, frozen?.words, head?.words]).toEqual([
    "",
    "frozen",
    "NaN or Inf",
  ]);
  expect([net?.isBad, trunk?.isBad]).toEqual([true, false]);
});

test("by time a bar is the part of the whole", () => {
  const words = rowsOf("time").map(({ words }) => words);
  expect(words[1]).toBe("400 ns, 40 %");
  expect(measureFor("time")).toBe("time");
  expect(measureFor("dtype")).toBe("gradient");
});

test("a finding is said in the innermost row that is there", () => {
  const severities = (closed: number[]) =>
    rowsOf("gradient", closed).map(({ severity }) => severity);
  expect(severities([])).toEqual([null, null, null, null, null, "error"]);
  expect(severities([0])).toEqual(["error"]);
});

test("a closed module says how many in it get no gradient", () => {
  const snapshot = made();
  const nodes = snapshot.nodes.map((node) =>
    node.kind === "cut" ? { ...node, scope: 1, flags: ["no gradient"] } : node,
  );
  const modules = modulesOf(buildGraph({ ...snapshot, nodes }), {
    measure: "gradient",
    norms: new Map(),
  });
  const dead = (closed: number[]) =>
    outlineOf(modules, new Set(closed)).rows.map((row) => [row.name, row.dead]);
  expect(dead([0])).toEqual([["net", 1]]);
  expect(dead([1])).toEqual([
    ["net", 0],
    ["trunk", 1],
    ["head", 0],
  ]);
  expect(dead([]).filter(([, count]) => count !== 0)).toEqual([]); // its row says it
});
