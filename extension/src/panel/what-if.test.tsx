// @vitest-environment jsdom
import { describe, expect, test, vi } from "vitest";
import type { WhatIf } from "../state/kernel.js";
import { convolution } from "../state/snapshots.test-util.js";
import { select, show, showWithKernel } from "./app.test-util.js";

vi.mock("../render/graph-view.js", async () => {
  const { fakeGraphView } = await import("./fake-view.test-util.js");
  return { createGraphView: fakeGraphView };
});

const NOTHING: WhatIf = { changes: [], hooks: [], rows: [], error: "" };
const ASKED: WhatIf = {
  changes: ["without MeanBackward0"],
  hooks: ["clip\u202e"],
  rows: [
    { name: "conv.weight", node: 0, did: "2", would: "0.5", cosine: "-1" },
    { name: "b\u202e", node: null, did: "1", would: "1", cosine: "1" },
  ],
  error: "",
};

async function asked(what_if: WhatIf) {
  const { app, sent, say } = await showWithKernel({ what_if });
  await select(app, 2);
  const next = (what_if: WhatIf, alive = true) => say({ answered: 0, what_if }, alive);
  return { app, sent, say: next };
}

describe("what if", () => {
  test("asks for a change at the selected node", async () => {
    const { app, sent } = await asked(NOTHING);
    const form = app.find("supposing-form");
    const choice = form.querySelector("select") as HTMLSelectElement;
    expect([...choice.options].map((option) => option.value)).toEqual(
      "scale replace cut without uncut".split(" "),
    );
    await app.type(form.querySelector("input") as HTMLInputElement, "0.1");
    await app.click(form.querySelector("button"));
    const place = { service: "what_if", command: "add", of: "node", row: 2 };
    expect(sent).toEqual([{ ...place, how: "scale", value: 0.1, number: 1 }]);
  });

  test("shows who would receive what, and takes changes back", async () => {
    const { app, sent, say } = await asked(ASKED);
    const panel = app.find("supposing");
    expect(panel.querySelector("table")?.textContent).toBe(
      "ParameterDidWouldCosineconv.weight20.5-1b\\u202e111",
    );
    expect(panel.textContent).toContain("Without the hooks clip\\u202e.");
    await app.click(panel.querySelector(".link"));
    expect(app.find("inspector").querySelector("h2")?.textContent).toContain("weight");
    await select(app, 2);
    const [undo, clear] = app.find("supposing").querySelectorAll("fieldset button");
    await app.click(undo);
    await app.click(clear);
    expect(sent.map(({ command }) => command)).toEqual(["undo", "clear"]);
    await say({ ...NOTHING, error: "An earlier backward() freed this graph." });
    expect(
      app.root.querySelector("[data-testid=supposing] [role=alert]")?.textContent,
    ).toContain("freed");
    await say(ASKED, false);
    expect(app.find("supposing").textContent).toContain("The kernel is gone");
    expect(app.root.querySelector("[data-testid=supposing-form]")).toBeNull();
  });

  test("is not there on a page, which has no kernel", async () => {
    const app = await show(convolution());
    await select(app, 2);
    expect(app.root.querySelector("[data-testid=supposing]")).toBeNull();
  });
});
