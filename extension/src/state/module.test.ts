import { expect, test } from "vitest";
import { buildGraph } from "../graph/build.js";
import { parseSnapshot } from "../ir/parse.js";
import { moduleDetails } from "./module.js";

/** w ─> [fc: mul] ─> sum, with gradients of norm 3 into fc and 4 out of it. */
const graph = buildGraph(
  parseSnapshot({
    format: "gradviz",
    schema: [1, 0],
    producer: "test",
    nodes: [
      { name: "MulBackward0", kind: "op", call: "mul" },
      {
        name: "AccumulateGrad",
        kind: "accumulate",
        call: "fc.w",
        scope: 0,
        outputs: [0],
      },
      { name: "MulBackward0", kind: "op", scope: 0, elapsed_ns: 7, site: 0 },
      { name: "SumBackward0", kind: "op" },
    ],
    edges: [
      { source: 0, target: 2, output: 0, input: 0, gradient: 1 },
      { source: 1, target: 2, output: 0, input: 1, gradient: 1 },
      { source: 2, target: 3, output: 0, input: 0, gradient: 0 },
    ],
    tensors: [
      {
        shape: [2, 3],
        strides: [3, 1],
        offset: 0,
        dtype: "float32",
        device: "cpu",
        storage: 0,
      },
    ],
    storages: [{ nbytes: 24, device: "cpu", itemsize: 4, tensors: [0] }],
    saved: [
      { node: 2, slot: "_saved_self", tensor: 0, version_saved: 0, version_now: 0 },
      { node: 2, slot: "_saved_other", tensor: 0, version_saved: 0, version_now: 0 },
    ],
    statistics: [
      { count: 6, norm: 3 },
      { count: 6, norm: 4 },
    ],
    scopes: [
      { path: "fc", name: "fc", kind: "Linear" },
      { path: "empty", name: "empty", kind: "Linear" },
    ],
    sites: [{ file: "a.py", line: 5, end_line: 5 }],
    findings: [{ code: "GV1", slug: "x", severity: "error", message: "m", nodes: [2] }],
  }),
);

test("a card joins what a module holds, keeps and let pass", () => {
  expect(moduleDetails(graph, 0)).toMatchObject({
    name: "fc",
    kind: "Linear",
    nodes: 2,
    elements: 6,
    parameterBytes: 24,
    savedBytes: 24, // one storage, saved twice
    elapsedNs: 7,
    gradientIn: 3,
    gradientOut: 4,
    findings: [0],
    parameters: [{ id: 1, name: "fc.w", shape: [2, 3] }],
  });
  expect(moduleDetails(graph, 0)?.place?.label).toContain("a.py:5");
});

test("a module of which nothing is drawn has none", () => {
  expect(moduleDetails(graph, 1)).toBeNull();
  expect(moduleDetails(graph, 9)).toBeNull();
});
