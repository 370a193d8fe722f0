// @vitest-environment jsdom
// The tab of the gradient flow: what it says in words, and what a click does.
import { beforeAll, describe, expect, test, vi } from "vitest";
import { parseSnapshot } from "../ir/parse.js";
import { select, show } from "./app.test-util.js";

vi.mock("../render/graph-view.js", async () => {
  const { fakeGraphView } = await import("./fake-view.test-util.js");
  return { createGraphView: fakeGraphView };
});
// jsdom has no canvas; the browser tests look at the picture.
vi.mock("uplot", () => ({
  default: class {
    setData() {}
    setSize() {}
    destroy() {}
  },
}));

beforeAll(() => {
  vi.spyOn(HTMLCanvasElement.prototype, "getContext").mockReturnValue(null);
  vi.stubGlobal(
    "ResizeObserver",
    class {
      observe() {}
      disconnect() {}
    },
  );
});

/** Two layers over two steps; at the second one the first vanishes. */
function training() {
  return parseSnapshot({
    format: "gradviz",
    schema: [1, 2],
    producer: "test",
    nodes: [
      { name: "AccumulateGrad", kind: "accumulate", call: "a" },
      { name: "AccumulateGrad", kind: "accumulate", call: "b" },
    ],
    statistics: [
      { count: 4, norm: 1, histogram: [1, 3], histogram_low: 0, histogram_high: 1 },
    ],
    flow_layers: [
      { name: "<u>a</u>.weight", count: 4, node: 0 },
      { name: "b.weight", count: 4, node: 1 },
    ],
    flow_steps: [{ number: 7 }, { number: 8 }],
    flow: [
      { step: 0, layer: 0, norm: 1 },
      { step: 0, layer: 1, norm: 1 },
      { step: 1, layer: 0, norm: 1e-8 },
      { step: 1, layer: 1, norm: 1, gradient: 0 },
    ],
  });
}

async function opened() {
  const app = await show(training());
  await app.click(app.root.querySelector("[data-tab=flow]"));
  const press = (title: string) =>
    app.click(
      [...app.root.querySelectorAll(".flow-views button")].find(
        (button) => button.textContent === title,
      ),
    );
  return { app, press };
}

describe("the gradient flow", () => {
  test("says by name which terms of the loss each gradient came from", async () => {
    const snapshot = {
      ...training(),
      loss_terms: ["fit", "kl"].map((name) => ({ name, site: null })),
      term_shares: [
        { layer: 0, term: 0, share: 0.75 },
        { layer: 0, term: 1, share: 0.25 },
        { layer: 1, term: 0, share: null },
        { layer: 1, term: 1, share: null },
      ],
    };
    const app = await show(snapshot);
    await app.click(app.root.querySelector("[data-tab=flow]"));
    const cells = [...app.root.querySelectorAll(".flow-terms")];
    expect(app.root.querySelector(".flow-term-legend")?.textContent).toBe("fitkl");
    expect(cells.map((cell) => cell.textContent)).toEqual([
      "fit 75 %, kl 25 %",
      "fit + kl",
    ]);
    const bars = [...app.root.querySelectorAll<HTMLElement>(".flow-term-bar i")];
    expect(bars.map(({ style }) => style.width)).toEqual(["75%", "25%"]);
  });

  test("names what vanishes, and lists norms; names are text", async () => {
    const { app } = await opened();
    expect(app.find("flow-counts").textContent).toBe("2 parameters, 2 steps.");
    expect(app.find("flow-troubles").textContent).toBe("1 vanishing: <u>a</u>.weight");
    const rows = [...app.find("flow-layers").querySelectorAll("tbody tr")];
    const words = rows.map((row) => [...row.children].map((cell) => cell.textContent));
    expect(words).toEqual([
      ["<u>a</u>.weight", "vanishing", "1e-8", "between 1e-8 and 1"],
      ["b.weight", "", "1", "between 1 and 1"],
    ]);
    expect(app.root.querySelector("u")).toBeNull();
  });

  test("of many processes equal ones share a row, which leads to their flow", async () => {
    const { flow_layers, flow_steps, flow, processes } = parseSnapshot({
      format: "gradviz",
      schema: [1, 3],
      producer: "test",
      flow_layers: [{ name: "w", count: 4 }],
      flow_steps: [
        { number: 7, rank: 0 },
        { number: 7, rank: 3 },
      ],
      flow: [
        { step: 0, layer: 0, norm: 1 },
        { step: 1, layer: 0, norm: 5 },
      ],
      processes: Array.from({ length: 20 }, (_, rank) => ({
        rank,
        steps: 8,
        state: rank === 3 ? "differs in `w`" : "",
      })),
    });
    const tables = { flow_layers, flow_steps, flow, processes };
    const app = await show({ ...training(), ...tables });
    await app.click(app.root.querySelector("[data-tab=flow]"));
    const rows = [...app.find("flow-ranks").querySelectorAll("tbody tr")];
    expect(rows.map((row) => row.textContent)).toEqual([
      "38differs in w",
      "the other 198nothing",
    ]);
    expect(app.find("flow-layers").textContent).toContain("w1");
    await app.click(rows[0]?.querySelector("button") ?? null);
    expect(app.find("flow-layers").textContent).toContain("w5");
  });

  test("another step has another verdict", async () => {
    const { app } = await opened();
    const slider = app.find("gradient-flow").querySelector("input[type=range]");
    await app.type(slider as Element, "0");
    expect(app.find("flow-step").textContent).toBe("8");
    expect(app.find("flow-troubles").textContent).toBe("");
    expect(app.find("flow-verdict").textContent).toBe(
      "Looked at the gradients of 2 parameters at step 8: all are there, and none is " +
        "zero, vanishing, exploding, NaN or Inf.",
    );
  });

  test("what a finding says about gradients is the sentence, whatever the step", async () => {
    const message = "The gradient shrinks from 0.13 to 1.8e-44.";
    const finding = { code: "GV501", slug: "vanishing-gradient", message };
    const other = {
      culprit: null,
      symptom: null,
      related: [],
      roles: [],
      edit: [],
      safe: false,
      diff: "",
      fix: "",
    };
    const rows = { nodes: [], tensors: [], storages: [], severity: "info" } as const;
    const app = await show({
      ...training(),
      findings: [{ ...finding, ...other, ...rows }],
    });
    await app.click(app.root.querySelector("[data-tab=flow]"));
    const slider = app.find("gradient-flow").querySelector("input[type=range]");
    await app.type(slider as Element, "0");
    expect(app.find("flow-verdict").textContent).toBe(
      `info GV501 vanishing-gradient ${message}`,
    );
    expect(app.find("gradient-flow").textContent).not.toContain("none is");
    await app.click(app.find("flow-verdict").querySelector("button"));
    expect(app.root.querySelector("[data-testid=finding-0]")).not.toBeNull();
  });

  test("a pass that failed says how far it came, not that all is well", async () => {
    const app = await show(
      parseSnapshot({
        format: "gradviz",
        schema: [1, 2],
        producer: "test",
        nodes: [
          { name: "AccumulateGrad", kind: "accumulate", call: "a" },
          { name: "AccumulateGrad", kind: "accumulate", call: "b" },
          { name: "BadBackward", kind: "custom" },
          { name: "MulBackward0", kind: "op" },
        ],
        edges: [
          { source: 0, output: 0, target: 2, input: 0 },
          { source: 2, output: 0, target: 3, input: 0 },
          { source: 1, output: 0, target: 3, input: 1 },
        ],
        events: [
          { kind: "backward_begin", time_ns: 1, node: 3 },
          { kind: "accumulate", time_ns: 2, node: 1 },
          { kind: "backward_end", time_ns: 3, text: "ValueError: no" },
        ],
        flow_layers: [{ name: "b", count: 4, node: 1 }],
        flow_steps: [{ number: 0, time_ns: 2 }],
        flow: [{ step: 0, layer: 0, norm: 1 }],
      }),
    );
    await app.click(app.root.querySelector("[data-tab=flow]"));
    expect(app.find("flow-troubles").textContent).toBe(
      "This backward pass failed half way: it reached 1 of 2 parameters.",
    );
  });

  test("a layer and its node are selected together, both ways", async () => {
    const { app } = await opened();
    const buttons = () => app.find("flow-layers").querySelectorAll("tbody button");
    await app.click(buttons()[1]);
    expect(app.view.state?.selected).toBe(1);
    expect(buttons()[1]?.getAttribute("aria-pressed")).toBe("true");
    await select(app, 0);
    await app.click(app.root.querySelector("[data-tab=flow]"));
    expect(buttons()[0]?.getAttribute("aria-pressed")).toBe("true");
  });

  test("the lines say in words what they show, and where it is a table", async () => {
    const { app, press } = await opened();
    await press("Over steps");
    expect(app.find("flow-chart").getAttribute("aria-label")).toBe(
      "2 lines, the norm of each parameter over 2 steps; Layers shows the same as a table.",
    );
  });

  test("the map is walked by arrow keys, and says the cell", async () => {
    const { app, press } = await opened();
    await press("Heat map");
    const cells = app.root.querySelector(".flow-heat-cells") as Element;
    await app.press("ArrowLeft", cells);
    expect(app.find("flow-said").textContent).toBe("<u>a</u>.weight, step 8: norm 1");
    await app.press("ArrowDown", cells);
    await app.press("Enter", cells);
    expect(app.view.state?.selected).toBe(1);
  });

  test("histograms are of the layers that have one", async () => {
    const { app, press } = await opened();
    await press("Histograms");
    expect(app.root.querySelectorAll(".flow-histograms section")).toHaveLength(1);
    expect(app.find("gradient-flow").querySelector("h3")?.textContent).toBe(
      "b.weight step 9",
    );
  });

  test("what was not measured is a sentence", async () => {
    const { app, press } = await opened();
    await press("Update ratio");
    expect(app.find("gradient-flow").textContent).toContain("was not measured here");
  });
});
