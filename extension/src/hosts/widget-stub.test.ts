// @vitest-environment jsdom
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { type PageApi, page } from "./model.js";
import { type FakeModel, fakeModel } from "./model.test-util.js";
import stub from "./widget-stub.js";

const widget = (key: string, digest = "d1") =>
  fakeModel({ _key: key, _bundle: digest, _snapshot: null });

function show(model: FakeModel) {
  const el = document.createElement("div");
  return { el, close: stub.render({ model, el }) };
}

/** Let the bundle of a digest arrive, as the kernel's answer makes it. */
async function arrive(digest: string, api: PageApi): Promise<void> {
  page.gradvizBundles?.[digest]?.arrive(api);
  await Promise.resolve();
}

beforeEach(() => void vi.useFakeTimers());

afterEach(() => {
  vi.useRealTimers();
  delete page.gradvizBundles;
  delete page.gradvizModels;
});

test("a living model is known to the page until it is gone", () => {
  const heard = vi.fn();
  document.addEventListener("gradviz:model", heard, { once: true });
  const model = widget("a");
  const forget = stub.initialize({ model });
  expect(heard).toHaveBeenCalledOnce();
  expect(page.gradvizModels?.get("a")).toBe(model);
  forget();
  expect(page.gradvizModels?.size).toBe(0);
});

test("three widgets ask for one bundle, and all are shown when it arrives", async () => {
  const models = ["a", "b", "c"].map((key) => widget(key));
  for (const model of models) show(model);
  expect(models.map((model) => model.sent)).toEqual([["bundle"], [], []]);
  const api = { widget: vi.fn(() => () => {}) };
  await arrive("d1", api);
  expect(api.widget).toHaveBeenCalledTimes(3);
  const late = widget("d");
  show(late);
  await Promise.resolve();
  expect(late.sent).toEqual([]);
  expect(api.widget).toHaveBeenCalledTimes(4);
});

test("another version of gradviz in the page has a bundle of its own", () => {
  const models = [widget("a", "d1"), widget("b", "d2")];
  for (const model of models) show(model);
  expect(models.map((model) => model.sent)).toEqual([["bundle"], ["bundle"]]);
});

test("a kernel that never answered does not keep later widgets waiting", () => {
  show(widget("a"));
  vi.advanceTimersByTime(2_000);
  const soon = widget("b");
  show(soon);
  vi.advanceTimersByTime(2_000);
  const later = widget("c");
  show(later);
  expect([soon.sent, later.sent]).toEqual([[], ["bundle"]]);
});

test("a bundle that the page may not run is said to be missing", async () => {
  const { el } = show(widget("a"));
  page.gradvizBundles?.d1?.arrive(Promise.reject(new Error("blocked by the policy")));
  await vi.waitFor(() =>
    expect(el.textContent).toBe("gradviz: Error: blocked by the policy"),
  );
});

test("the kernel's sentence is shown in place of the view", () => {
  const model = widget("a");
  const { el } = show(model);
  model.play("msg:custom", { error: "The script is <missing>." });
  expect(el.textContent).toBe("The script is <missing>.");
  expect(el.children).toHaveLength(0);
});

test("a view that is closed before the bundle arrives is never drawn", async () => {
  const model = widget("a");
  const api = { widget: vi.fn(() => () => {}) };
  show(model).close();
  await arrive("d1", api);
  expect(api.widget).not.toHaveBeenCalled();
  expect(model.listeners()).toBe(0);
});

test("closing a drawn view disposes it", async () => {
  const dispose = vi.fn();
  const { close } = show(widget("a"));
  await arrive("d1", { widget: () => dispose });
  close();
  expect(dispose).toHaveBeenCalledOnce();
});
