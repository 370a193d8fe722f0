// Deltas of a running kernel: read, put into a snapshot, and refused where they are not whole.
import { describe, expect, test } from "vitest";
import { applyDelta, type Delta, decodeDelta } from "./delta.js";
import { parseSnapshot } from "./parse.js";
import type { Snapshot } from "./types.js";

const view = (array: Float32Array | Uint32Array) =>
  new DataView(array.buffer, array.byteOffset, array.byteLength);

/** Two layers, one step; three statistics, of which the last two are gradients. */
function training(): Snapshot {
  return parseSnapshot({
    format: "gradviz",
    schema: [1, 2],
    producer: "test",
    nodes: [{ name: "MulBackward0", kind: "op", grad_outputs: [1] }],
    statistics: [
      { count: 4, norm: 1, histogram: [4], histogram_low: 0, histogram_high: 1 },
      { count: 4, norm: 2 },
      { count: 4, norm: 3 },
    ],
    flow_layers: [
      { name: "a", count: 4 },
      { name: "b", count: 4 },
    ],
    flow_steps: [{ number: 0, time_ns: 10 }],
    flow: [
      { step: 0, layer: 0, norm: 2, gradient: 1 },
      { step: 0, layer: 1, norm: 3, gradient: 2 },
    ],
  });
}

const NAN = Number.NaN;

/** The flow of some steps; layer b has no gradient. */
function tail(numbers: readonly number[]) {
  const points = numbers.flatMap((n) => [10 * n, n, 0, 0, 1, NAN, NAN, NAN, NAN, NAN]);
  const histograms = new Float32Array(2 * 34);
  histograms.set([-1, 1, 4]);
  const times_ns = numbers.map((n) => 10 + n);
  const words = { numbers, times_ns, stepped: numbers.map(() => true) };
  return { words, points: new Float32Array(points), histograms };
}

function delta(numbers: readonly number[], norm = 7): Delta {
  const { words, points, histograms } = tail(numbers);
  return decodeDelta({ revision: 2, number: 5, rows: 1, statistics: 3, flow: words }, [
    view(new Uint32Array([1])),
    view(new Float32Array([norm, -1, 1, 0, NAN, 3, 0, 2])),
    view(points),
    view(histograms),
  ]);
}

describe("a delta", () => {
  test("replaces the numbers of its rows, and nothing else", () => {
    const before = training();
    const after = applyDelta(before, delta([0]));
    expect(after.statistics[1]).toMatchObject({
      ...{ count: 4, norm: 7, minimum: -1, maximum: 1, mean: 0, std: null },
      ...{ zeros: 3, nans: 0, infs: 2, histogram: [] },
    });
    expect(after.statistics[2]).toBe(before.statistics[2]);
    expect(after.nodes).toBe(before.nodes);
    expect(before.statistics[1]?.norm).toBe(2);
  });

  test("adds the steps that are new, each once, however often they are sent", () => {
    const once = applyDelta(training(), delta([0, 1, 2]));
    const twice = applyDelta(once, delta([1, 2, 3]));
    expect(twice.flow_steps.map(({ number }) => number)).toEqual([0, 1, 2, 3]);
    expect(twice.flow_steps[3]).toMatchObject({ step_ns: 1, stepped: true });
    const [points] = [twice.flow.filter(({ layer }) => layer === 0)];
    expect(points.map(({ step, norm }) => [step, norm])).toEqual([
      [0, 2],
      [1, 10],
      [2, 20],
      [3, 30],
    ]);
    expect(twice.flow.filter(({ layer }) => layer === 1)).toHaveLength(1);
  });

  test("keeps the histogram of the last step alone: the table does not grow", () => {
    let snapshot = training();
    for (let step = 1; step < 50; step++) {
      snapshot = applyDelta(snapshot, delta([step]));
    }
    expect(snapshot.statistics).toHaveLength(4);
    const full = snapshot.flow.filter(({ gradient }) => gradient === 3);
    expect(full.map(({ step }) => step)).toEqual([49]);
    expect(snapshot.statistics[3]?.histogram[0]).toBe(4);
  });

  test("makes room for new points once there are too many", () => {
    const many = Array.from({ length: 60_000 }, (_, step) => ({ number: step }));
    const layers = [0, 1];
    const row = training().flow[0] as Snapshot["flow"][number];
    const step = training().flow_steps[0] as Snapshot["flow_steps"][number];
    const before = {
      ...training(),
      flow_steps: many.map(({ number }) => ({ ...step, number })),
      flow: many.flatMap(({ number }) =>
        layers.map((layer) => ({ ...row, step: number, layer })),
      ),
    };
    const after = applyDelta(before, delta([60_000]));
    expect(after.flow.length).toBeLessThan(100_000);
    expect(after.flow_steps[0]?.number).toBe(15_000);
    const last = after.flow.at(-1);
    expect(after.flow_steps[last?.step ?? -1]?.number).toBe(60_000);
  });
});

describe("what is no whole delta is refused", () => {
  const good = { revision: 1, number: 1, rows: 1, statistics: 3 };
  const buffers = [view(new Uint32Array([1])), view(new Float32Array(8))];

  test.each([
    ["words", null, buffers],
    ["a number", { ...good, revision: "1" }, buffers],
    ["buffers", good, []],
    ["a column", good, [buffers[0] as DataView, view(new Float32Array(7))]],
    ["the flow", { ...good, flow: {} }, buffers],
  ])("without %s", (_, content, parts) => {
    expect(() => decodeDelta(content, parts)).toThrow("did not arrive whole");
  });

  test("and one of another snapshot", () => {
    const read = decodeDelta({ ...good, rows: 1 }, [
      view(new Uint32Array([99])),
      buffers[1] as DataView,
    ]);
    expect(() => applyDelta(training(), read)).toThrow("did not arrive whole");
    const other = { ...training(), flow_layers: [] };
    expect(() => applyDelta(other, delta([1]))).toThrow("did not arrive whole");
  });
});
