import { describe, expect, test } from "vitest";
import { parseSnapshot } from "../ir/parse.js";
import { gradientSeries } from "./gradient-series.js";
import { memoryOf } from "./memory.js";
import { derivativeOf, docOf } from "./op-docs.js";
import { convolution } from "./snapshots.test-util.js";
import { versionSteps } from "./storage-history.js";
import { buildTables } from "./tables.js";

const tensor = (storage: number, holders: readonly string[] = []) => ({
  shape: [4],
  strides: [1],
  offset: 0,
  dtype: "float32",
  device: "cpu",
  storage,
  holders,
});

/** x ─> exp ─> mul ─> sum: `x` and `total` are held, exp saves its result, mul both. */
function chain() {
  const node = (call: string, sequence: number, output: number) => ({
    name: `${call}Backward0`,
    kind: "op",
    call,
    sequence,
    outputs: [output],
  });
  const leaf = { name: "AccumulateGrad", kind: "accumulate", call: "x", outputs: [0] };
  const nodes = [leaf, node("exp", 0, 1), node("mul", 1, 2), node("sum", 2, 3)];
  const edges = [0, 1, 2].map((source) => {
    return { source, output: 0, target: source + 1, input: 0, tensor: source };
  });
  const storage = (nbytes: number, tensors: readonly number[], version = 0) => ({
    nbytes,
    device: "cpu",
    itemsize: 4,
    tensors,
    version,
  });
  const saved = (of: number, slot: string, at: number, now = 0) => ({
    node: of,
    slot,
    tensor: at,
    version_saved: 0,
    version_now: now,
  });
  return buildTables(
    parseSnapshot({
      format: "gradviz",
      schema: [1, 2],
      producer: "t",
      nodes: JSON.parse(JSON.stringify(nodes)),
      edges,
      tensors: [
        tensor(0, ["x"]),
        tensor(1),
        tensor(2),
        tensor(3, ["total", "seen[0]"]),
      ],
      storages: [
        storage(16, [0]),
        storage(160, [1], 2),
        storage(1_600, [2]),
        storage(4, [3]),
      ],
      saved: [
        saved(1, "_saved_result", 1, 2),
        saved(2, "_saved_self", 1, 2),
        saved(2, "_saved_other", 0),
        saved(3, "_saved_self", 2),
      ],
      writes: [
        { storage: 1, version: 1, op: "mul_" },
        { storage: 1, version: 2, op: "add_", node: 2 },
      ],
      roots: [3],
    }),
  );
}

describe("memory", () => {
  test("of a node: what it saves, what it alone keeps, what is behind it", () => {
    const tables = chain();
    expect(memoryOf(tables, 2)).toMatchObject({
      own: 176, // the result of exp, and x
      alone: 0, // exp saves the one, a name holds the other
      behind: 176,
      nodesBehind: 2,
      memoryHolders: ["x"],
    });
    expect(memoryOf(tables, 3)).toMatchObject({
      own: 1_600,
      alone: 1_600,
      behind: 1_776,
    });
  });

  test("names that keep a node are found along the graph, the nearest first", () => {
    const { holders, namesKnown } = memoryOf(chain(), 1);
    expect(namesKnown).toBe(true);
    expect(holders).toEqual([
      { name: "total", node: 3, steps: 2 },
      { name: "seen[0]", node: 3, steps: 2 },
    ]);
  });
});

test("a storage's versions name writers and the saved tensors that expect them", () => {
  const steps = versionSteps(chain(), 1);
  expect(steps.map(({ version, op, saved }) => [version, op, saved.length])).toEqual([
    [0, "", 2],
    [1, "mul_", 0],
    [2, "add_", 0],
  ]);
  expect(steps[0]?.saved[0]).toMatchObject({
    node: 1,
    label: "exp",
    slot: "_saved_result",
    stale: true,
  });
});

describe("a gradient over steps", () => {
  test("comes from the record of a training", () => {
    const snapshot = {
      ...convolution(),
      flow_layers: [
        {
          name: "w",
          kind: "",
          count: 1,
          node: 0,
          tensor: null,
          optimizer: "",
          frozen: false,
        },
      ],
      flow_steps: [3, 4, 5].map((number) => ({ ...step, number })),
      flow: [1, 0.1, null].map((norm, at) => ({ ...point, step: at, norm, nans: at })),
    };
    expect(gradientSeries(buildTables(snapshot), 0)).toEqual([
      { label: "step 4", norm: 1, bad: false },
      { label: "step 5", norm: 0.1, bad: true },
      { label: "step 6", norm: null, bad: true },
    ]);
  });

  const step = {
    time_ns: 0,
    rank: null,
    step_ns: null,
    backward_ns: null,
    wait_ns: null,
    learning_rate: null,
    stepped: true,
  };
  const point = {
    layer: 0,
    largest: null,
    zeros: 0,
    infs: 0,
    weight_norm: null,
    update_norm: null,
    local_norm: null,
    gradient: null,
  };

  test("of a single pass is no series", () => {
    expect(gradientSeries(buildTables(convolution()), 1)).toEqual([]);
  });
});

describe("what is said of an op", () => {
  const [, conv, relu] = convolution().nodes;

  test("follows its call, in place or not, and its node", () => {
    if (conv === undefined || relu === undefined) throw new Error("There are four.");
    expect(docOf(conv)?.name).toBe("torch.nn.functional.conv2d");
    expect(docOf({ ...relu, call: "relu_" })?.page).toMatch(/torch\.relu\.html$/);
    expect(derivativeOf({ ...relu, call: "relu_" })?.formulas).toEqual([
      ["self", "grad * (result > 0)"],
    ]);
    const loss = { ...relu, name: "NllLossBackward0", call: "cross_entropy" };
    expect(docOf(loss)?.name).toBe("torch.nn.functional.cross_entropy");
    expect(derivativeOf(loss)?.says).toContain("at each target");
  });

  test("is nothing of a custom function or an unknown op", () => {
    if (relu === undefined) throw new Error("There are four.");
    expect(docOf({ ...relu, kind: "custom" })).toBeNull();
    expect(docOf({ ...relu, name: "FooBackward", call: "foo" })).toBeNull();
    expect(
      derivativeOf({ ...relu, name: "constructor", call: "__proto__" }),
    ).toBeNull();
  });
});
