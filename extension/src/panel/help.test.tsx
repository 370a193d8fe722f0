// @vitest-environment jsdom
import { expect, test, vi } from "vitest";
import { convolution } from "../state/snapshots.test-util.js";
import { show } from "./app.test-util.js";
import { ANYWHERE } from "./keyboard.js";

vi.mock("../render/graph-view.js", async () => ({
  createGraphView: (await import("./fake-view.test-util.js")).fakeGraphView,
}));

test("the help names every key that does something", async () => {
  const app = await show(convolution());
  await app.press("?");
  const named = [...app.root.querySelectorAll(".help kbd")].map(
    (key) => key.textContent,
  );
  const second = ["="]; // "+" without Shift
  const keys = Object.keys(ANYWHERE).filter((key) => !second.includes(key));
  expect(keys.filter((key) => !named.includes(key))).toEqual([]);
});
