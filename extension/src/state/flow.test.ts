// Gradients over steps: the tables as matrices, verdicts, and what the pane starts with.
import { describe, expect, test } from "vitest";
import { parseSnapshot } from "../ir/parse.js";
import type { Snapshot } from "../ir/types.js";
import { receiveSnapshot, selectNode } from "./actions.js";
import { pickLayer, setFlowStep } from "./actions-flow.js";
import { beyond, NORM_DECADES, shareOf, ticksOf, tickText } from "./decades.js";
import { flowOf, hasFlow, judge, normAt } from "./flow.js";
import { courseOf, flowRows, gradientFindings, lookedAt } from "./flow-rows.js";
import { createStore } from "./store.js";

const bare = { format: "gradviz", schema: [1, 2], producer: "test" };

/** Norms of some layers by step; null: there was no gradient. */
function training(
  norms: Readonly<Record<string, readonly (number | null)[]>>,
  more: object = {},
): Snapshot {
  const names = Object.keys(norms);
  const steps = norms[names[0] ?? ""]?.length ?? 0;
  return parseSnapshot({
    ...bare,
    flow_layers: names.map((name) => ({ name, count: 4 })),
    flow_steps: Array.from({ length: steps }, (_, step) => ({ number: 10 * step })),
    flow: Array.from({ length: steps }, (_, step) =>
      names.flatMap((name, layer) => {
        const norm = norms[name]?.[step];
        return norm === null ? [] : [{ step, layer, norm }];
      }),
    ).flat(),
    ...more,
  });
}

describe("the tables as matrices", () => {
  test("by layer, then by step, with NaN where nothing was measured", () => {
    const flow = flowOf(training({ "a.weight": [1, 2], "b.weight": [null, 4] }));
    expect(flow.steps).toEqual([0, 10]);
    expect([...flow.norms]).toEqual([1, 2, Number.NaN, 4]);
    expect([normAt(flow, 1, 0), normAt(flow, 1, 1)]).toEqual([null, 4]);
    expect([flow.hasRatios, flow.rank]).toEqual([false, null]);
  });

  test("ratios are of updates to weights", () => {
    const point = { step: 0, layer: 0, norm: 1, weight_norm: 10, update_norm: 0.02 };
    const flow = flowOf(training({ a: [1] }, { flow: [point] }));
    expect([flow.ratios[0], flow.hasRatios]).toEqual([0.002, true]);
  });

  test("of several processes the first is shown, its steps in order", () => {
    const flow_steps = [
      { number: 5, rank: 1 },
      { number: 8, rank: 0 },
      { number: 7, rank: 0 },
    ];
    const points = [0, 1, 2].map((step) => ({ step, layer: 0, norm: step + 1 }));
    const flow = flowOf(training({ a: [1] }, { flow_steps, flow: points }));
    expect([flow.rank, flow.steps, [...flow.norms]]).toEqual([0, [7, 8], [3, 2]]);
    const snapshot = training({ a: [1] }, { flow_steps, flow: points });
    expect(flowOf(snapshot, 1)).toMatchObject({ rank: 1, ranks: [0, 1], steps: [5] });
    expect(flowOf(snapshot, 9).rank).toBe(0);
  });

  test("a snapshot without a history is one step, made of its leaves", () => {
    const snapshot = parseSnapshot({
      ...bare,
      nodes: [
        { name: "AccumulateGrad", kind: "accumulate", call: "w", grad_outputs: [0] },
        { name: "AccumulateGrad", kind: "accumulate", call: "unused" },
        { name: "MulBackward0", kind: "op", grad_outputs: [0] },
      ],
      statistics: [
        { count: 3, norm: 5, histogram: [3], histogram_low: 0, histogram_high: 1 },
      ],
    });
    expect(hasFlow(snapshot)).toBe(true);
    const { layers, steps, norms, histograms } = flowOf(snapshot);
    expect(layers.map(({ name, node }) => [name, node])).toEqual([
      ["w", 0],
      ["unused", 1],
    ]);
    expect([steps, [...norms]]).toEqual([[1], [5, Number.NaN]]);
    expect(histograms[0]?.statistics.count).toBe(3);
    expect(hasFlow(parseSnapshot(bare))).toBe(false);
  });
});

describe("verdicts", () => {
  const last = (norms: Parameters<typeof training>[0], more?: object) => {
    const flow = flowOf(training(norms, more));
    return judge(flow, flow.steps.length - 1);
  };

  test("vanishing beside the largest gradient; a bias never is", () => {
    const norms = { "a.weight": [1e-7], "a.bias": [1e-7], "b.weight": [1] };
    expect(last(norms)).toEqual(["vanishing", "", ""]);
  });

  test("nothing vanishes for an optimizer that makes up for it", () => {
    const verdict = (update_norm: number) => {
      const tiny = { step: 0, layer: 1, norm: 1e-7, weight_norm: 2, update_norm };
      const usual = { step: 0, layer: 0, norm: 1, weight_norm: 2, update_norm: 1e-3 };
      const flow = [usual, tiny];
      return last({ "a.weight": [1], "b.weight": [1e-7] }, { flow })[1];
    };
    expect([verdict(5e-4), verdict(1e-6)]).toEqual(["", "vanishing"]);
  });

  test("exploding beside what the layer had before, once that is known", () => {
    const calm = [1, 1, 1, 1, 1, 2];
    expect(last({ "a.weight": [...calm, 300], "b.weight": [...calm, 2] })).toEqual([
      "exploding",
      "",
    ]);
    expect(last({ "a.weight": [1, 300], "b.weight": [1, 2] })).toEqual(["", ""]);
  });

  test("zero, none and not finite", () => {
    const flow = [
      { step: 0, layer: 0, norm: 0, zeros: 4 },
      { step: 0, layer: 2, norm: null, nans: 2 },
      { step: 0, layer: 3, norm: 1 },
      { step: 0, layer: 4, norm: 0 }, // another process holds its elements
    ];
    const norms = { "a.w": [0], "b.w": [0], "c.w": [0], "d.w": [0], "e.w": [0] };
    expect(last(norms, { flow })).toEqual(["zero", "none", "not finite", "", ""]);
  });
});

describe("the axis", () => {
  test("is the same decades for every model; what is beyond stands at its ends", () => {
    const shares = [1e-12, 1e-8, 1e-2, 1e4, 1e9].map((each) =>
      shareOf(NORM_DECADES, each),
    );
    expect(shares).toEqual([0, 0, 0.5, 1, 1]);
    expect([0, Number.NaN].map((each) => shareOf(NORM_DECADES, each))).toEqual([0, 0]);
    expect([1e-12, 1, 1e9].map((each) => beyond(NORM_DECADES, each))).toEqual([
      "below",
      "",
      "above",
    ]);
  });

  test("has powers of ten as ticks", () => {
    expect(ticksOf(NORM_DECADES, 4).map(tickText)).toEqual([
      "1e-8",
      "1e-4",
      "1",
      "1e4",
    ]);
  });
});

describe("rows", () => {
  const rowsOf = (snapshot: Snapshot) => {
    const flow = flowOf(snapshot);
    const step = flow.steps.length - 1;
    return flowRows(snapshot, flow, step, judge(flow, step));
  };

  test("without a gradient come first, each with the reason that is known", () => {
    const finding = {
      code: "GV601",
      slug: "unused-submodule",
      severity: "warning",
      message: "`spare` (Linear) is never called: `spare.bias` gets no gradient.",
    };
    const snapshot = training(
      {
        "a.w": [1, 1],
        "ice.w": [null, null],
        "spare.w": [null, null],
        "b.w": [2, null],
      },
      { findings: [finding] },
    );
    const layers = snapshot.flow_layers.map((layer) => ({
      ...layer,
      frozen: layer.name === "ice.w",
    }));
    const rows = rowsOf({ ...snapshot, flow_layers: layers });
    expect(rows.map(({ name, why, finding }) => [name, why, finding])).toEqual([
      ["ice.w", "frozen: `requires_grad` is off", null],
      ["spare.w", "GV601 unused-submodule", 0],
      ["b.w", "none in this step", null],
      ["a.w", "", null],
    ]);
    expect(rows[0]?.verdict).toBe(""); // what is frozen is in no trouble
  });

  test("behind a cut name what cut the graph", () => {
    const nodes = [
      { name: "AccumulateGrad", kind: "accumulate", call: "w" },
      { name: "MulBackward0", kind: "op" },
      { name: "detach", kind: "cut", call: "detach" },
      { name: "AccumulateGrad", kind: "accumulate", call: "v" },
    ];
    const edges = [
      { source: 0, output: 0, target: 1, input: 0 },
      { source: 1, output: 0, target: 2, input: 0, kind: "cut" },
    ];
    const flow_layers = [
      { name: "w", count: 4, node: 0 },
      { name: "v", count: 4, node: 3 },
    ];
    const rows = rowsOf(training({ w: [null], v: [1] }, { nodes, edges, flow_layers }));
    expect(rows[0]).toMatchObject({ name: "w", why: "cut off by `detach`" });
  });

  test("have the last ratio that was measured, and its step", () => {
    const point = { layer: 0, norm: 1, weight_norm: 10 };
    const flow = [
      { ...point, step: 0, update_norm: 0.02 },
      { ...point, step: 1 },
    ];
    const [row] = rowsOf(training({ a: [1, 1] }, { flow }));
    expect(row?.ratio).toEqual({ value: 0.002, step: 0 });
  });

  test("a course has the largest norm of each part", () => {
    const flow = flowOf(training({ a: [1, 5, null, 2] }));
    expect(courseOf(flow, 0, 2)).toEqual([5, 2]);
    expect(courseOf(flow, 0, 9)).toEqual([1, 5, null, 2]);
  });
});

describe("the sentence", () => {
  const withFindings = (...codes: string[]) =>
    training(
      { a: [1] },
      {
        findings: codes.map((code) => ({
          code,
          slug: "s",
          severity: "info",
          message: "m",
        })),
      },
    );

  test("is that of the first finding about gradients", () => {
    expect(gradientFindings(withFindings("GV613", "GV501", "GV601"))).toEqual([1, 2]);
    expect(gradientFindings(withFindings("GV613"))).toEqual([]);
  });

  test("without one says what was looked at", () => {
    expect(lookedAt(flowOf(training({ a: [1, 1], b: [1, 1] })), 1)).toBe(
      "Looked at the gradients of 2 parameters at step 10: all are there, and none is " +
        "zero, vanishing, exploding, NaN or Inf.",
    );
  });
});

describe("linked with the graph", () => {
  const nodes = [
    { name: "AccumulateGrad", kind: "accumulate" },
    { name: "MulBackward0", kind: "op" },
  ];
  const flow_layers = [
    { name: "a", count: 4, node: 0 },
    { name: "apart", count: 4 },
  ];

  function opened() {
    const store = createStore();
    receiveSnapshot(store, training({ a: [1], apart: [2] }, { nodes, flow_layers }));
    return store;
  }

  test("a layer selects its node, and the flow stays in view", () => {
    const store = opened();
    pickLayer(store, 0);
    expect(store.ui.selection.value).toEqual({ kind: "node", id: 0 });
    expect([store.derived.pane.value, store.derived.flowLayer.value]).toEqual([
      "flow",
      0,
    ]);
  });

  test("a selected node chooses its layer; others choose none", () => {
    const store = opened();
    selectNode(store, 0);
    expect(store.derived.flowLayer.value).toBe(0);
    selectNode(store, 1);
    expect(store.derived.flowLayer.value).toBeNull();
  });

  test("a layer without a node is chosen by itself", () => {
    const store = opened();
    pickLayer(store, 1);
    expect(store.derived.flowLayer.value).toBe(1);
  });

  test("where there is no graph the flow stands alone", () => {
    const store = createStore();
    receiveSnapshot(store, training({ a: [1, 2] }));
    expect([store.derived.graphless.value, store.derived.pane.value]).toEqual([
      true,
      "flow",
    ]);
    setFlowStep(store, 0);
    expect(store.ui.flowStep.value).toBe(0);
  });
});
