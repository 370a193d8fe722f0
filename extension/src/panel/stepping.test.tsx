// @vitest-environment jsdom
import { describe, expect, test, vi } from "vitest";
import type { Stepping } from "../state/kernel.js";
import { convolution } from "../state/snapshots.test-util.js";
import { type App, select, show, showWithKernel } from "./app.test-util.js";

vi.mock("../render/graph-view.js", async () => {
  const { fakeGraphView } = await import("./fake-view.test-util.js");
  return { createGraphView: fakeGraphView };
});

const AT_TWO: Stepping = {
  stop: {
    number: 1,
    total: 4,
    name: "ReluBackward0",
    leaf: "",
    module: "net.act",
    node: 2,
    reason: "norm above 10",
    gradients: [{ words: "float32 (2,), norm 12", values: "tensor([ 0., 12.])" }],
  },
  outcome: "",
  breakpoints: ["norm above 10"],
  error: "",
};

const stepped = (stepping: Stepping = AT_TWO) => showWithKernel({ stepping });

const button = (app: App, command: string) =>
  app.find(`stepping-${command}`) as HTMLButtonElement;

const form = (app: App, name: string) => {
  const found = app.find(`stepping-${name}`);
  return { found, button: found.querySelector("button") };
};

describe("the stepping bar", () => {
  test("says where the pass waits, and shows what waits there", async () => {
    const { app } = await stepped();
    expect(app.find("stepping-where").textContent).toBe(
      "1 of 4ReluBackward0in net.actreceives float32 (2,), norm 12norm above 10",
    );
    expect(app.view.commands).toContain("reveal 2");
    expect(app.find("waiting-values").textContent).toContain("tensor([ 0., 12.])");
    await select(app, 1);
    expect(app.root.querySelector("[data-testid=waiting-values]")).toBeNull();
  });

  test("sends commands from buttons and keys, numbered", async () => {
    const { app, sent } = await stepped();
    expect(button(app, "run_to").disabled).toBe(true); // it stands there
    await app.click(button(app, "step"));
    await app.press("o");
    await app.press("c");
    await select(app, 0);
    await app.press("u");
    await app.click(button(app, "abort"));
    expect(sent).toEqual([
      { service: "stepping", command: "step", number: 1 },
      { service: "stepping", command: "over", number: 2 },
      { service: "stepping", command: "resume", number: 3 },
      { service: "stepping", command: "run_to", node: 0, number: 4 },
      { service: "stepping", command: "abort", number: 5 },
    ]);
    expect(app.find("stepping").textContent).toContain("waiting for the kernel");
  });

  test("adds and forgets breakpoints, and changes the gradient", async () => {
    const { app, sent } = await stepped();
    const breaks = form(app, "break");
    await app.click(breaks.button);
    const [choice] = breaks.found.querySelectorAll("select");
    if (choice) await app.type(choice, "above");
    expect(breaks.button?.disabled).toBe(true); // above what?
    const field = breaks.found.querySelector("input");
    if (field) await app.type(field, "2.5");
    await app.click(breaks.button);
    await app.click(app.root.querySelector("[aria-label^='Forget the breakpoint']"));
    await app.click(form(app, "change").button);
    expect(sent).toEqual([
      { service: "stepping", command: "break", nan: true, number: 1 },
      { service: "stepping", command: "break", above: 2.5, number: 2 },
      { service: "stepping", command: "clear", which: 0, number: 3 },
      { service: "stepping", command: "change", how: "zero", value: 0, number: 4 },
    ]);
  });

  test("says why nothing can be done, and what was refused", async () => {
    const { app, sent, say } = await stepped();
    await say({ answered: 1, stepping: { ...AT_TWO, error: "ValueError: no" } });
    expect(app.find("stepping-error").textContent).toBe("ValueError: no");
    const outcome = "The pass is over: 4 nodes ran.";
    await say({ answered: 2, stepping: { ...AT_TWO, stop: null, outcome } });
    expect(app.find("stepping-outcome").textContent).toBe(outcome);
    expect(button(app, "step").disabled).toBe(true);
    expect(button(app, "step").title).toBe(outcome);
    await app.press("s");
    await say({ answered: 2, stepping: AT_TWO }, false);
    expect(app.find("stepping-outcome").textContent).toMatch(/kernel is gone/);
    await app.press("s");
    expect(sent).toEqual([]);
  });

  test("a derivative is checked where a kernel is, and nowhere else", async () => {
    const { app, sent, say } = await stepped();
    const none = app.root.querySelector("[data-testid=check-derivative]");
    expect(none).toBeNull(); // this kernel does not offer it
    const nothing = { node: null, said: "", agrees: false, entries: [], error: "" };
    await say({ answered: 0, check: nothing });
    await select(app, 2);
    await app.click(app.find("check-derivative"));
    expect(sent).toEqual([{ service: "check", node: 2, number: 1 }]);
    const entry = { place: "x[1]", backward: "8", numeric: "12", ratio: "0.6667" };
    const found = { node: 2, said: "It differs.", entries: [entry] };
    await say({ answered: 1, check: { ...nothing, ...found } });
    expect(app.find("checked").textContent).toBe("It differs.");
    const table = app.root.querySelector("[aria-label='Entries that differ']");
    expect(table?.querySelector("tbody")?.textContent).toBe("x[1]8120.6667");
    await select(app, 1);
    expect(app.root.querySelector("[data-testid=checked]")).toBeNull();
  });

  test("is not there without a stepped pass", async () => {
    const app = await show(convolution());
    expect(app.root.querySelector(".stepping")).toBeNull();
    await app.press("s");
  });
});
