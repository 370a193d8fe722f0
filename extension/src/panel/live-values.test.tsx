// @vitest-environment jsdom
import { expect, test, vi } from "vitest";
import type { Values } from "../state/kernel.js";
import { select, showWithKernel } from "./app.test-util.js";

vi.mock("../render/graph-view.js", async () => {
  const { fakeGraphView } = await import("./fake-view.test-util.js");
  return { createGraphView: fakeGraphView };
});

const NOTHING: Values = { node: null, index: "", shown: [], error: "" };

async function asked() {
  const { app, sent, say } = await showWithKernel({ values: NOTHING });
  await select(app, 2);
  return { app, sent, say: (values: Values) => say({ answered: 0, values }) };
}

test("asks for a part of what the selected node gave", async () => {
  const { app, sent } = await asked();
  const form = app.find("live-values").querySelector("form");
  await app.type(form?.querySelector("input") as HTMLInputElement, "0, :8");
  await app.click(form?.querySelector("button") ?? null);
  expect(sent).toEqual([{ service: "values", node: 2, index: "0, :8", number: 1 }]);
});

test("shows the numbers of the node that was asked for, and only beside it", async () => {
  const { app, say } = await asked();
  const shown = [
    { name: "value", text: "float32 (2,)\n[1., 2.]" },
    { name: "gradient", text: "float32 (2,)\n[0., 3.]" },
  ];
  await say({ node: 2, index: "", shown, error: "" });
  const texts = [...app.find("live-values").querySelectorAll("pre")];
  expect(texts.map((each) => each.textContent)).toEqual(shown.map(({ text }) => text));
  await select(app, 1);
  expect(app.find("live-values").querySelector("pre")).toBeNull();
});

test("says why there are none", async () => {
  const { app, say } = await asked();
  await say({ node: 2, index: "9", shown: [], error: "<b>out of range</b>" });
  const refusal = app.find("live-values").querySelector("[role=alert]");
  expect(refusal?.textContent).toBe("<b>out of range</b>");
});
