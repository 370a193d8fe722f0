// @vitest-environment jsdom
import { expect, test, vi } from "vitest";
import type { KernelLink, Services, Values } from "../state/kernel.js";
import { convolution } from "../state/snapshots.test-util.js";
import { during, select, show } from "./app.test-util.js";

vi.mock("../render/graph-view.js", async () => {
  const { fakeGraphView } = await import("./fake-view.test-util.js");
  return { createGraphView: fakeGraphView };
});

const NOTHING: Values = { node: null, index: "", shown: [], error: "" };

async function asked() {
  const sent: Parameters<KernelLink["ask"]>[0][] = [];
  let tell: (services: Services, alive: boolean) => void = () => {};
  const kernel: KernelLink = {
    ask: (request) => void sent.push(request),
    follow(callback) {
      tell = callback;
      callback({ answered: 0, values: NOTHING }, true);
      return () => {};
    },
  };
  const app = await show({ initial: Promise.resolve(convolution()), kernel });
  await select(app, 2);
  const say = (values: Values, alive = true) =>
    during(() => tell({ answered: 0, values }, alive));
  return { app, sent, say };
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
