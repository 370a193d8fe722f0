// @vitest-environment jsdom
import { expect, test, vi } from "vitest";
import { convolution } from "../state/snapshots.test-util.js";
import { type App, show } from "./app.test-util.js";

vi.mock("../render/graph-view.js", async () => {
  const { fakeGraphView } = await import("./fake-view.test-util.js");
  return { createGraphView: fakeGraphView };
});

async function ledger(snapshot = convolution()): Promise<App> {
  const app = await show(snapshot);
  await app.click(app.root.querySelector("[data-tab=ledger]"));
  return app;
}

function button(app: App, text: string): HTMLElement | null {
  const buttons = [...app.find("ledger").querySelectorAll("button")];
  return buttons.find(({ textContent }) => textContent?.startsWith(text)) ?? null;
}

const rows = (app: App, table: string) => [
  ...app.find(table).querySelectorAll<HTMLElement>("tbody tr"),
];

test("lists what is saved, counts storages once and filters what was overwritten", async () => {
  const app = await ledger();
  expect(app.find("ledger-totals").textContent).toMatch(
    /^2 saved tensors in 2 storages, each counted once: .* 1 overwritten since\.$/,
  );
  expect(rows(app, "ledger-saved")).toHaveLength(2);
  await app.click(button(app, "Overwritten"));
  const [row, ...others] = rows(app, "ledger-saved");
  expect(others).toEqual([]);
  expect(row?.textContent).toContain("0 → 2 modified");
});

test("a click selects the node, and the ledger stays", async () => {
  const app = await ledger();
  await app.click(rows(app, "ledger-saved")[1]);
  expect(app.view.state?.selected).toBe(2);
  expect(rows(app, "ledger-saved")[1]?.getAttribute("aria-current")).toBe("true");
});

test("arrow keys walk the rows, headings sort them", async () => {
  const app = await ledger();
  const first = rows(app, "ledger-saved")[0]?.querySelector("button");
  first?.focus();
  if (first) await app.press("ArrowDown", first);
  const second = rows(app, "ledger-saved")[1]?.querySelector("button");
  expect(app.root.activeElement).toBe(second);
  expect([first?.tabIndex, second?.tabIndex]).toEqual([-1, 0]);
  const op = () => rows(app, "ledger-saved")[0]?.textContent;
  expect(op()).toMatch(/^conv2d/);
  await app.click(button(app, "Op, slot"));
  await app.click(button(app, "Op, slot"));
  expect(op()).toMatch(/^relu/);
  expect(app.find("ledger").querySelector("th")?.getAttribute("aria-sort")).toBe(
    "descending",
  );
});

test("tells the fate of NaN in words", async () => {
  const app = await ledger();
  await app.click(button(app, "NaN and Inf"));
  const [row] = rows(app, "ledger-bad");
  expect(row?.textContent).toMatch(
    /^relu.*healed.*from sum.*NaN.*gradient.*at \(0, 3\)/,
  );
  await app.type(app.find("ledger").querySelector(".filter") as Element, "nowhere");
  expect(app.find("ledger").textContent).toContain("No row matches the filter.");
});

test("pages 100,000 rows and says which are shown", async () => {
  const small = convolution();
  const saved = Array.from({ length: 50_000 }, () => small.saved).flat();
  const app = await ledger({ ...small, saved });
  expect(rows(app, "ledger-saved")).toHaveLength(100);
  const first = rows(app, "ledger-saved")[0]?.querySelector("button");
  if (first) await app.press("End", first);
  expect(app.find("ledger").querySelector(".pager output")?.textContent).toBe(
    "99,901 to 100,000 of 100,000",
  );
});
