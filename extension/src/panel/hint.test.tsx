// @vitest-environment jsdom
import { beforeEach, expect, test, vi } from "vitest";
import { convolution } from "../state/snapshots.test-util.js";
import { buttonNamed, select, show } from "./app.test-util.js";

vi.mock("../render/graph-view.js", async () => ({
  createGraphView: (await import("./fake-view.test-util.js")).fakeGraphView,
}));

beforeEach(() => localStorage.clear());

test("the hint stays away once it was dismissed", async () => {
  const first = await show(convolution());
  expect(first.find("hint").textContent).toContain("Click a node");
  await first.click(buttonNamed(first, "Dismiss the hint"));
  expect(first.root.querySelector("[data-testid=hint]")).toBeNull();
  const next = await show(convolution());
  expect(next.root.querySelector("[data-testid=hint]")).toBeNull();
});

test("it steps aside while something is selected", async () => {
  const app = await show(convolution());
  await select(app, 1);
  expect(app.root.querySelector("[data-testid=hint]")).toBeNull();
});

test("where nothing can be remembered there is none", async () => {
  const refuse = vi.spyOn(Storage.prototype, "getItem").mockImplementation(() => {
    throw new DOMException("denied", "SecurityError");
  });
  const app = await show(convolution());
  expect(app.root.querySelector("[data-testid=hint]")).toBeNull();
  refuse.mockRestore();
});

test("a place opens in the inspector where the host has no editor", async () => {
  const app = await show(convolution());
  await select(app, 1);
  const link = app.root.querySelector<HTMLElement>(
    "[data-testid=inspector] .link.place",
  );
  await app.click(link);
  const opened = app.find("opened-place");
  expect(opened.getAttribute("aria-label")).toMatch(/^Source of .+:\d+$/);
  expect(opened.querySelector("mark")).not.toBeNull();
  await app.click(opened.querySelector("[aria-label='Close the source']"));
  expect(app.root.querySelector("[data-testid=opened-place]")).toBeNull();
});
