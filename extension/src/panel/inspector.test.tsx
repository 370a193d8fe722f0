// @vitest-environment jsdom
import { describe, expect, test, vi } from "vitest";
import type { Snapshot } from "../ir/types.js";
import { convolution } from "../state/snapshots.test-util.js";
import type { RevealTarget } from "../state/transport.js";
import { type App, during, select, show } from "./app.test-util.js";

vi.mock("../render/graph-view.js", async () => {
  const { fakeGraphView } = await import("./fake-view.test-util.js");
  return { createGraphView: fakeGraphView };
});

describe("the inspector", () => {
  test("without a selection lists the leaves and what looks wrong", async () => {
    const app = await show(convolution());
    const leaf = app.find("leaves").querySelector("tbody tr");
    expect([...(leaf?.children ?? [])].map((cell) => cell.textContent?.trim())).toEqual(
      ["net.conv.weight", "(4, 1, 3, 3)", "0.25", "-0.5 to 0.75"],
    );
    expect(app.find("troubles").textContent).toBe(
      "ReluBackward02 NaN, 0 Inf in its output or gradient",
    );
    await app.click(leaf?.querySelector("button"));
    expect(app.view.state?.selected).toBe(0);
  });

  test("of a convolution reads shape, strides, version, gradient and source", async () => {
    const app = await show(convolution());
    await select(app, 1);
    expect(app.facts("summary")).toMatchObject({
      Shape: "(8, 4, 6, 6)",
      Strides: "(144, 36, 6, 1)",
      Version: "0",
      "Gradient norm": "1.5",
      Source: "train.py:4",
      "Backward time": "1.5 µs",
    });
    expect(app.find("call").textContent).toContain(
      "conv2d(image, net.conv.weight, stride=(1, 1), padding=(0, 0))",
    );
    expect(app.find("call").textContent).toContain("conv_transpose2d(grad, weight)");
    expect(app.find("source").querySelector("mark")?.textContent).toBe(
      "net.conv(image)",
    );
    expect(app.find("stack").textContent).toContain("train.py:6");
    expect(app.find("section-hooks").textContent).toContain("clip");
  });

  test("marks a saved tensor that was overwritten, in words", async () => {
    const app = await show(convolution());
    await select(app, 2);
    const row = app.find("saved").querySelector("tbody tr");
    expect(row?.textContent).toContain("_saved_result");
    expect(row?.querySelector(".bad")?.textContent).toBe("0 → 2 modified");
    expect(row?.textContent).toContain("freed");
    expect(app.find("storage-3").textContent).toMatch(/v0.*v1.*add_.*v2.*mul_/);
  });

  test("counts NaN with the first bad index, and says why there is no histogram", async () => {
    const app = await show(convolution());
    await select(app, 2);
    expect(app.facts("gradient-facts")).toMatchObject({
      NaN: "2",
      "First bad index": "(0, 3)",
      Zeros: "25 %",
      Min: "–",
    });
    expect(app.root.querySelector("[data-testid=histogram]")).toBeNull();
  });

  test("switches between the gradients of output and weight", async () => {
    const app = await show(convolution());
    await select(app, 1);
    expect(app.facts("gradient-facts").Norm).toBe("1.5");
    await app.type(app.find("gradient-pick"), "1");
    expect(app.facts("gradient-facts").Norm).toBe("0.25");
    const bars = app.find("histogram").querySelectorAll("rect");
    expect(bars).toHaveLength(32);
    expect(app.find("histogram").getAttribute("aria-label")).toContain("-0.5 to 0.75");
  });

  test("of an edge shows the tensor and the gradient that came back", async () => {
    const app = await show(convolution());
    await during(() => app.view.events.onSelectEdge(0));
    expect(app.facts("summary")).toMatchObject({
      Shape: "(4, 1, 3, 3)",
      "Gradient norm": "0.25",
    });
    expect(app.find("inspector").querySelector("h2")?.textContent).toBe(
      "net.conv.weight",
    );
  });

  test("keeps a section folded from node to node", async () => {
    const app = await show(convolution());
    await select(app, 1);
    const section = (): HTMLDetailsElement | null =>
      app.root.querySelector("details[data-testid=section-storage]");
    await during(() => section()?.removeAttribute("open"));
    await during(() => section()?.dispatchEvent(new Event("toggle")));
    await select(app, 2);
    expect(section()?.open).toBe(false);
  });

  test("says what it cannot show, and shows the rest", async () => {
    const broken = convolution();
    const tensors = broken.tensors.map((tensor) => ({ ...tensor, strides: null }));
    const snapshot = { ...broken, tensors } as unknown as Snapshot;
    const quiet = vi.spyOn(console, "error").mockImplementation(() => {});
    const app = await show(snapshot);
    await select(app, 1);
    expect(app.root.querySelector("[role=alert]")?.textContent).toMatch(
      /^This part of the inspector could not be shown: /,
    );
    expect(app.find("status").textContent).toContain("4 nodes");
    quiet.mockRestore();
  });

  test("opens the line in the host's editor where there is one", async () => {
    const targets: RevealTarget[] = [];
    const reveal = (target: RevealTarget) => targets.push(target);
    const app = await show({ initial: Promise.resolve(convolution()), reveal });
    await select(app, 1);
    await app.click(app.find("source").querySelector("button"));
    expect(targets).toMatchObject([
      { file: "/home/me/train.py", line: 4, cell_id: null },
    ]);
  });

  test("says in the live region what is selected", async () => {
    const app = await show(convolution());
    await select(app, 1);
    expect(app.find("live").textContent).toContain(
      "Selected ConvolutionBackward0, conv2d",
    );
  });
});

describe("the stride picture", () => {
  const cell = (app: App, row: number, column: number) =>
    app.root.querySelector<HTMLElement>(`[data-row="${row}"][data-column="${column}"]`);

  test("spells the address of the focused cell and marks it in the strip", async () => {
    const app = await show(convolution());
    await select(app, 1);
    await app.type(app.find("tensor-pick"), "1");
    expect(app.facts("layout-facts").Shape).toBe("(4, 1, 3, 3)");
    await during(() => cell(app, 2, 1)?.focus());
    expect(app.find("arithmetic").textContent).toBe(
      "index (0, 0, 2, 1): 0·9 + 0·9 + 2·3 + 1·1 + offset 0 = 7, byte 28",
    );
    expect(app.find("strip").querySelector(".pointed")?.textContent).toBe("7");
  });

  test("arrow keys move the focus from cell to cell", async () => {
    const app = await show(convolution());
    await select(app, 1);
    await app.type(app.find("tensor-pick"), "1");
    const start = cell(app, 0, 0);
    await during(() => start?.focus());
    if (start !== null) await app.press("ArrowDown", start);
    expect(app.root.activeElement).toBe(cell(app, 1, 0));
    expect(app.view.state?.selected).toBe(1); // the graph did not walk as well
  });

  test("a name in the tables picks its tensor", async () => {
    const app = await show(convolution());
    await select(app, 1);
    await app.click(app.find("saved").querySelector("tbody button"));
    expect(app.facts("layout-facts").Shape).toBe("(8, 1, 8, 8)");
  });

  test("a leading index picks another slice", async () => {
    const app = await show(convolution());
    await select(app, 1);
    await app.type(app.find("tensor-pick"), "1");
    const lead = app.find("stride-picture").querySelector("input[type=number]");
    if (lead !== null) await app.type(lead, "3");
    expect(cell(app, 0, 0)?.textContent).toBe("27");
  });

  test("another view of the storage can be switched on", async () => {
    const app = await show(convolution());
    await select(app, 1);
    await app.type(app.find("tensor-pick"), "0");
    const bars = () => app.find("strip").querySelectorAll(".bars").length;
    expect(bars()).toBe(0);
    const box = app.find("stride-picture").querySelector("input[type=checkbox]");
    await app.click(box);
    expect(bars()).toBeGreaterThan(0);
  });

  test("steps are tried one after the other, and taken back", async () => {
    const app = await show(convolution());
    await select(app, 1);
    await app.type(app.find("tensor-pick"), "1");
    const press = (text: string) => {
      const buttons = [...app.find("what-if").querySelectorAll("button")];
      return app.click(buttons.find(({ textContent }) => textContent === text));
    };
    await press(".transpose(-2, -1)");
    expect(app.facts("layout-facts")).toMatchObject({ Strides: "(9, 9, 1, 3)" });
    expect(app.find("overlaps").textContent).toBe(
      "net.conv.weight reaches 36 of 36 addresses too.",
    );
    await press(".contiguous()");
    expect(app.facts("layout-facts")).toMatchObject({
      Strides: "(9, 9, 3, 1)",
      Storage: "–",
    });
    const trail = [...app.find("trail").querySelectorAll("tbody tr")];
    expect(trail.map((row) => row.lastElementChild?.textContent)).toEqual([
      "",
      "same memory",
      "a copy, 144 B",
    ]);
    await press("net.conv.weight");
    expect(app.root.querySelector("[data-testid=trail]")).toBeNull();
    expect(app.facts("layout-facts")).toMatchObject({ Strides: "(9, 9, 3, 1)" });
  });

  test("a step that cannot be says why", async () => {
    const app = await show(convolution());
    await select(app, 1);
    await app.type(app.find("tensor-pick"), "1");
    const input = app.find("what-if").querySelector("input");
    if (input !== null) await app.type(input, ".view(5)");
    await during(() => app.find("what-if").querySelector("form")?.requestSubmit());
    expect(app.find("what-if").querySelector("output")?.textContent).toBe(
      "The shape (5) does not hold 36 elements.",
    );
  });
});
