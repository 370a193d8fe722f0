// @vitest-environment jsdom
import { Blob as NodeBlob } from "node:buffer";
import { deflateSync } from "node:zlib";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { MODEL_EVENT, page } from "./model.js";
import { fakeModel } from "./model.test-util.js";
import {
  followKey,
  followModel,
  REVEAL_EVENT,
  REVEAL_MARK,
  readModel,
  revealIn,
} from "./notebook.js";

// jsdom's blobs have no streams; Node's are like a browser's.
beforeEach(() => void vi.stubGlobal("Blob", NodeBlob));

afterEach(() => {
  vi.unstubAllGlobals();
  delete page.gradvizModels;
  delete document.documentElement.dataset[REVEAL_MARK];
});

/** The trait as it arrives: columns of an empty snapshot in a zlib stream. */
function packed(title: string): DataView {
  const header = JSON.stringify({ schema: [1, 0], producer: "test", title });
  const text = header.padEnd(Math.ceil(header.length / 8) * 8);
  const columns = new Uint8Array(8 + text.length);
  columns.set(new TextEncoder().encode("GVC1"));
  new DataView(columns.buffer).setUint32(4, text.length, true);
  columns.set(new TextEncoder().encode(text), 8);
  const { buffer, byteOffset, byteLength } = deflateSync(columns);
  return new DataView(buffer as ArrayBuffer, byteOffset, byteLength);
}

test("a model's columns become a snapshot", async () => {
  const model = fakeModel({ _snapshot: packed("step") });
  expect((await readModel(model)).title).toBe("step");
});

test("columns that are missing or damaged are a sentence", async () => {
  const nothing = fakeModel({ _snapshot: null });
  await expect(readModel(nothing)).rejects.toThrow("The kernel has not sent a graph.");
  const damaged = fakeModel({ _snapshot: new DataView(new ArrayBuffer(8)) });
  await expect(readModel(damaged)).rejects.toThrow("run the cell again");
});

test("later snapshots arrive until the view stops listening", async () => {
  const model = fakeModel({ _snapshot: packed("one") });
  const callback = vi.fn();
  const stop = followModel(model, callback);
  model.change("_snapshot", packed("two"));
  await vi.waitFor(() => expect(callback).toHaveBeenCalledOnce());
  expect(callback.mock.calls[0]?.[0].title).toBe("two");
  stop();
  expect(model.listeners()).toBe(0);
});

test("a saved output connects to its widget when the page learns of it", async () => {
  const callback = vi.fn();
  const stop = followKey("k1", callback);
  const model = fakeModel({ _snapshot: packed("one") });
  page.gradvizModels = new Map([["k1", model]]);
  document.dispatchEvent(new Event(MODEL_EVENT));
  document.dispatchEvent(new Event(MODEL_EVENT)); // of another widget: no second time
  expect(model.listeners()).toBe(1);
  model.change("_snapshot", packed("two"));
  await vi.waitFor(() => expect(callback).toHaveBeenCalledOnce());
  stop();
  expect(model.listeners()).toBe(0);
});

test("a snapshot that was replaced before the page connected is not missed", async () => {
  const callback = vi.fn();
  const model = fakeModel({ _snapshot: packed("two"), _revision: 1 });
  page.gradvizModels = new Map([["k1", model]]);
  followKey("k1", callback);
  await vi.waitFor(() => expect(callback).toHaveBeenCalledOnce());
  expect(callback.mock.calls[0]?.[0].title).toBe("two");
});

test("a place is revealed by an event that leaves the shadow, if anyone listens", () => {
  const el = document.createElement("div");
  document.body.append(el);
  expect(revealIn(el)).toEqual({});
  document.documentElement.dataset[REVEAL_MARK] = "";
  const heard = vi.fn();
  document.addEventListener(REVEAL_EVENT, (event) => heard(event), { once: true });
  const place = { file: "a.py", line: 3, end_line: 3, column: 5, end_column: 9 };
  revealIn(el).reveal?.({
    ...place,
    text: "x",
    function: "f",
    source: 0,
    cell_id: "c1",
    label: "Cell In[1]",
  });
  expect(heard.mock.calls[0]?.[0].detail).toEqual({ ...place, cell_id: "c1" });
});
