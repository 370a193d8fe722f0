// @vitest-environment jsdom
import { expect, test, vi } from "vitest";
import type { Snapshot } from "../ir/types.js";
import { convolution } from "../state/snapshots.test-util.js";
import { type App, show } from "./app.test-util.js";

vi.mock("../render/graph-view.js", async () => {
  const { fakeGraphView } = await import("./fake-view.test-util.js");
  return { createGraphView: fakeGraphView };
});

/** The weight and the convolution before; relu and sum came after. */
function edited(): Snapshot {
  const parts = [
    { label: "before", nodes: [0, 1] },
    { label: "after", nodes: [0, 1, 2, 3] },
  ];
  return { ...convolution(), parts };
}

const rows = (app: App) => [
  ...app.find("compare-rows").querySelectorAll<HTMLElement>("tbody tr"),
];

test("two graphs in one snapshot open compared, with signs in words and in the graph", async () => {
  const app = await show(edited());
  const said = rows(app).map((row) => [
    row.querySelector(".sign")?.getAttribute("aria-label"),
    row.querySelector("button")?.textContent,
  ]);
  expect(said).toEqual([
    ["added", "+ sum"],
    ["added", "+ relu"],
  ]);
  expect([...(app.view.state?.marks ?? [])]).toEqual([
    [3, "added"],
    [2, "added"],
  ]);
  await app.click(app.root.querySelector("[data-tab=inspector]"));
  expect(app.view.state?.marks.size).toBe(0);
});

test("the sides swap, and a click selects the node", async () => {
  const app = await show(edited());
  await app.click(rows(app)[1]);
  expect(app.view.state?.selected).toBe(2);
  expect(app.find("compare").querySelector(".both")?.textContent).toContain(
    "not in before",
  );
  const buttons = [...app.find("compare").querySelectorAll("button")];
  await app.click(buttons.find(({ textContent }) => textContent === "Swap"));
  expect(rows(app)[0]?.querySelector(".sign")?.getAttribute("aria-label")).toBe(
    "removed",
  );
});

test("one graph alone has nothing to compare", async () => {
  const app = await show(convolution());
  expect(app.root.querySelector("[data-tab=compare]")).toBeNull();
});
