import { expect, test } from "vitest";
import { parseSnapshot } from "../ir/parse.js";
import { flopsOf } from "./flops.js";
import { formatLarge } from "./format.js";

type Shapes = readonly (readonly number[])[];

/** One node with what it took, gave and saved. */
function one(
  name: string,
  { inputs = [] as Shapes, output = [] as readonly number[], saved = {}, count = 1 },
) {
  const slots = Object.entries(saved as Record<string, number[]>);
  const shapes = [...inputs, output, ...slots.map(([, shape]) => shape)];
  return parseSnapshot({
    format: "gradviz",
    schema: [1, 0],
    producer: "test",
    tensors: shapes.map((shape) => ({
      ...{ shape, strides: shape.map(() => 1), offset: 0 },
      ...{ dtype: "float32", device: "cpu" },
    })),
    nodes: [
      {
        ...{ name, kind: "op", inputs: inputs.map((_, at) => at), count },
        outputs: [inputs.length],
      },
    ],
    saved: slots.map(([slot], at) => ({
      ...{ node: 0, slot, tensor: inputs.length + 1 + at },
      ...{ version_saved: 0, version_now: 0 },
    })),
  });
}

// Each number is what torch.utils.flop_counter says of the same call.
test.each([
  [
    "a linear layer",
    "AddmmBackward0",
    { output: [256, 192], saved: { _saved_mat1: [256, 64] } },
    6_291_456,
  ],
  [
    "a product by its second factor",
    "MmBackward0",
    { output: [8, 4], saved: { _saved_mat2: [16, 4] } },
    1024,
  ],
  [
    "products of a batch",
    "BmmBackward0",
    { output: [32, 32, 32], saved: { _saved_self: [32, 32, 16] } },
    1_048_576,
  ],
  [
    "by what it took",
    "LinearBackward0",
    {
      inputs: [
        [2, 3],
        [5, 3],
      ],
      output: [2, 5],
    },
    60,
  ],
  [
    "a convolution",
    "ConvolutionBackward0",
    { output: [16, 32, 16, 16], saved: { _saved_weight: [32, 16, 3, 3] } },
    37_748_736,
  ],
  [
    "attention",
    "ScaledDotProductAttentionBackward0",
    {
      inputs: [
        [2, 4, 8, 16],
        [2, 4, 8, 16],
        [2, 4, 8, 16],
      ],
      output: [2, 4, 8, 16],
    },
    32_768,
  ],
])("%s", (_, name, shapes, flops) => {
  expect(flopsOf(one(name, shapes), [0])).toBe(flops);
  expect(flopsOf(one(name, { ...shapes, count: 3 }), [0])).toBe(3 * flops);
});

test("what multiplies nothing has none, and what is not known is not guessed", () => {
  expect(flopsOf(one("ReluBackward0", { output: [4, 4] }), [0])).toBeNull();
  expect(flopsOf(one("AddmmBackward0", { output: [4, 4] }), [0])).toBeNull();
});

test("large numbers have units", () => {
  expect([999, 6_291_456, 1.2e12].map(formatLarge)).toEqual(["999", "6.29 M", "1.2 T"]);
});
