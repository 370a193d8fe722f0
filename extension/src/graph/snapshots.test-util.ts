// Small snapshots for the tests of graph, scene and render.
import { parseSnapshot } from "../ir/decode.js";
import type { Snapshot } from "../ir/types.js";

/** One training step of a net with two layers; fc2's weight gets a NaN gradient.
 *
 *   net
 *   +- fc1: weight -> linear          (train.py:10)
 *   |        relu
 *   +- fc2: weight -> linear          (train.py:12)
 *            sum                      (train.py:20)
 */
export function twoLayers(): Snapshot {
  const tensor = (shape: number[], extra = {}) => ({
    shape,
    strides: shape.map((_, i) => shape.slice(i + 1).reduce((a, b) => a * b, 1)),
    offset: 0,
    dtype: "float32",
    device: "cpu",
    ...extra,
  });
  return parseSnapshot({
    format: "gradviz",
    schema: [1, 0],
    producer: "test",
    roots: [5],
    nodes: [
      {
        name: "AccumulateGrad",
        kind: "accumulate",
        call: "net.fc1.weight",
        outputs: [0],
        scope: 1,
        grad_outputs: [0],
      },
      {
        name: "AddmmBackward0",
        kind: "op",
        call: "linear",
        inputs: [0],
        outputs: [1],
        scope: 1,
        site: 0,
        grad_outputs: [1],
      },
      {
        name: "ReluBackward0",
        kind: "op",
        call: "relu",
        inputs: [1],
        outputs: [2],
        scope: 0,
        site: 1,
        grad_outputs: [2],
        hooks: ["print"],
      },
      {
        name: "AccumulateGrad",
        kind: "accumulate",
        call: "net.fc2.weight",
        outputs: [3],
        scope: 2,
        grad_outputs: [3],
      },
      {
        name: "AddmmBackward0",
        kind: "op",
        call: "linear",
        inputs: [2, 3],
        outputs: [4],
        scope: 2,
        site: 2,
        grad_outputs: [4],
        flags: ["modified"],
      },
      {
        name: "SumBackward0",
        kind: "op",
        call: "sum",
        inputs: [4],
        outputs: [5],
        site: 3,
        grad_outputs: [5],
      },
    ],
    edges: [
      { source: 0, output: 0, target: 1, input: 0, tensor: 0, gradient: 0 },
      { source: 1, output: 0, target: 2, input: 0, tensor: 1, gradient: 1 },
      { source: 2, output: 0, target: 4, input: 0, tensor: 2, gradient: 2 },
      { source: 3, output: 0, target: 4, input: 1, tensor: 3, gradient: 3 },
      { source: 4, output: 0, target: 5, input: 0, tensor: 4, gradient: 4 },
    ],
    tensors: [
      tensor([8, 4], { name: "net.fc1.weight", is_leaf: true }),
      tensor([64, 8]),
      tensor([64, 8]),
      tensor([2, 8], { name: "net.fc2.weight", is_leaf: true }),
      tensor([64, 2], { dtype: "float64" }),
      tensor([]),
    ],
    statistics: [
      { count: 32, norm: 0.5 },
      { count: 512, norm: 0.001 },
      { count: 512, norm: 12 },
      { count: 16, norm: 1, nans: 2 },
      { count: 128, norm: 30 },
      { count: 1, norm: 1 },
    ],
    scopes: [
      { path: "net", name: "net", kind: "Net" },
      { path: "net.fc1", name: "fc1", kind: "Linear", parent: 0 },
      { path: "net.fc2", name: "fc2", kind: "Linear", parent: 0 },
      { path: "unused", name: "unused", kind: "Linear" },
    ],
    sites: [
      { file: "src/train.py", line: 10, end_line: 10, source: 0 },
      { file: "src/train.py", line: 11, end_line: 11 },
      { file: "src/train.py", line: 12, end_line: 14 },
      { file: "src/train.py", line: 20, end_line: 20 },
    ],
    sources: [{ file: "src/train.py", text: "", label: "Cell In[3]" }],
  });
}

/** Nodes and edges only: pairs of node numbers. */
export function bare(
  nodes: number,
  edges: readonly (readonly [number, number])[],
  extra: Readonly<Record<string, unknown>> = {},
): Snapshot {
  return parseSnapshot({
    format: "gradviz",
    schema: [1, 0],
    producer: "test",
    nodes: Array.from({ length: nodes }, (_, i) => ({ name: `N${i}`, kind: "op" })),
    edges: edges.map(([source, target]) => ({ source, target, output: 0, input: 0 })),
    ...extra,
  });
}
