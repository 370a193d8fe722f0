// Snapshots for the tests of state and panels, built through the JSON reader.
import { parseSnapshot } from "../ir/parse.js";
import type { Snapshot } from "../ir/types.js";

const SOURCE = [
  "import gradtape as torch",
  "",
  "image = torch.rand(8, 1, 8, 8)",
  "y = net.conv(image)",
  "y.add_(1)",
  "loss = y.relu().sum()",
  "loss.backward()",
].join("\n");

const HISTOGRAM = Array.from({ length: 32 }, (_, bin) => (bin === 16 ? 40 : bin % 4));

const statistics = (norm: number, extra: object = {}) => ({
  count: 100,
  minimum: -0.5,
  maximum: 0.75,
  mean: 0.125,
  std: 0.25,
  norm,
  zeros: 25,
  histogram: HISTOGRAM,
  histogram_low: -0.5,
  histogram_high: 0.75,
  ...extra,
});

const site = (line: number, column: number, end_column: number) => ({
  file: "/home/me/train.py",
  line,
  end_line: line,
  column,
  end_column,
  text: SOURCE.split("\n")[line - 1],
  function: "<module>",
  source: 0,
});

/** A convolution; the output of relu was overwritten after it was saved.
 *
 *     conv.weight ─> conv2d ─> relu ─> sum        scopes: net > net.conv
 *
 * Node 0 accumulates into the weight, 1 is the convolution, 2 relu, 3 sum. */
export function convolution(): Snapshot {
  return parseSnapshot({
    format: "gradviz",
    schema: [1, 0],
    producer: "test 1.0",
    title: "conv",
    nodes: [
      {
        name: "AccumulateGrad",
        kind: "accumulate",
        call: "net.conv.weight",
        outputs: [1],
        scope: 1,
        grad_outputs: [1],
      },
      {
        name: "ConvolutionBackward0",
        kind: "op",
        call: "conv2d",
        arguments: ["stride=(1, 1)", "padding=(0, 0)"],
        inputs: [0, 1],
        outputs: [2],
        scope: 1,
        site: 0,
        stack: [2],
        sequence: 0,
        formula: "conv_transpose2d(grad, weight)",
        hooks: ["clip"],
        grad_outputs: [0],
        elapsed_ns: 1500,
      },
      {
        name: "ReluBackward0",
        kind: "op",
        call: "relu",
        inputs: [2],
        outputs: [3],
        sequence: 1,
        flags: ["modified"],
        grad_outputs: [2],
      },
      { name: "SumBackward0", kind: "root", call: "sum", inputs: [3], outputs: [4] },
    ],
    edges: [
      {
        source: 0,
        output: 0,
        target: 1,
        input: 1,
        tensor: 1,
        gradient: 1,
        kind: "data",
      },
      {
        source: 1,
        output: 0,
        target: 2,
        input: 0,
        tensor: 2,
        gradient: 0,
        kind: "data",
      },
      {
        source: 2,
        output: 0,
        target: 3,
        input: 0,
        tensor: 3,
        gradient: 2,
        kind: "data",
      },
    ],
    tensors: [
      tensor([8, 1, 8, 8], [64, 64, 8, 1], 0, { name: "image" }),
      tensor([4, 1, 3, 3], [9, 9, 3, 1], 1, { name: "net.conv.weight", is_leaf: true }),
      tensor([8, 4, 6, 6], [144, 36, 6, 1], 2, { requires_grad: true }),
      tensor([8, 4, 6, 6], [144, 36, 6, 1], 3, { version: 1 }),
      tensor([], [], 4, {}),
      tensor([8, 32], [1, 8], 0, { name: "image.T", is_view: true, offset: 2 }),
    ],
    saved: [
      { node: 1, slot: "_saved_input", tensor: 0, version_saved: 0, version_now: 0 },
      {
        node: 2,
        slot: "_saved_result",
        tensor: 3,
        version_saved: 0,
        version_now: 2,
        freed: true,
      },
    ],
    storages: [
      { nbytes: 2048, device: "cpu", itemsize: 4, tensors: [0, 5] },
      { nbytes: 144, device: "cpu", itemsize: 4, tensors: [1] },
      { nbytes: 4608, device: "cpu", itemsize: 4, tensors: [2] },
      { nbytes: 4608, device: "cpu", itemsize: 4, version: 2, tensors: [3] },
      { nbytes: 4, device: "cpu", itemsize: 4, tensors: [4] },
    ],
    writes: [
      { storage: 3, version: 2, op: "mul_", site: 1 },
      { storage: 3, version: 1, op: "add_", site: 1 },
    ],
    statistics: [
      statistics(1.5),
      statistics(0.25),
      statistics(3, { nans: 2, first_bad: [0, 3], histogram: [], minimum: null }),
    ],
    scopes: [
      { path: "net", name: "net", kind: "Net", parent: null },
      { path: "net.conv", name: "conv", kind: "Conv2d", parent: 0 },
    ],
    sites: [site(4, 5, 20), site(5, 1, 10), site(6, 1, 5)],
    sources: [{ file: "/home/me/train.py", text: SOURCE }],
    roots: [3],
  });
}

function tensor(
  shape: readonly number[],
  strides: readonly number[],
  storage: number,
  extra: object,
) {
  return {
    shape,
    strides,
    offset: 0,
    dtype: "float32",
    device: "cpu",
    storage,
    ...extra,
  };
}

/** A graph with nothing in it but the reason why. */
export function nothing(): Snapshot {
  return parseSnapshot({
    format: "gradviz",
    schema: [1, 0],
    producer: "test 1.0",
    notes: ["The loss does not require a gradient."],
  });
}
