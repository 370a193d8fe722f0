// Which deltas of a kernel a view is told, in whatever order they and snapshots arrive.
import { expect, test, vi } from "vitest";
import type { Delta } from "../ir/delta.js";
import { parseSnapshot } from "../ir/parse.js";
import type { Snapshot } from "../ir/types.js";
import { followLive } from "./live.js";
import { fakeModel } from "./model.test-util.js";

const snapshot = parseSnapshot({ format: "gradviz", schema: [1, 0], producer: "x" });

function following() {
  const model = fakeModel({ _revision: 1 });
  const told: string[] = [];
  const arrivals: (() => void)[] = [];
  const read = () =>
    new Promise<Snapshot>((resolve) => arrivals.push(() => resolve(snapshot)));
  const stop = followLive(model, read, {
    onSnapshot: () => void told.push("snapshot"),
    onDelta: ({ revision, number }: Delta) => void told.push(`${revision}.${number}`),
    onProgress: (progress) =>
      void told.push(
        progress === null ? "over" : `${progress.steps}: ${progress.loss}`,
      ),
  });
  const send = (revision: number, number: number) =>
    model.play("msg:custom", { live: { revision, number, rows: 0, statistics: 0 } }, [
      new DataView(new ArrayBuffer(0)),
      new DataView(new ArrayBuffer(0)),
    ]);
  const replace = (revision: number) => {
    model.change("_revision", revision);
    model.change("_snapshot", null);
  };
  return { model, told, arrivals, stop, send, replace };
}

test("deltas of the snapshot that is shown are told, in order and once", () => {
  const { told, send } = following();
  for (const number of [1, 2, 2, 1, 4, 3]) send(1, number);
  expect(told).toEqual(["1.1", "1.2", "1.4"]);
});

test("a delta that overtakes its snapshot waits for it; older ones are dropped", async () => {
  const { told, send, replace, arrivals } = following();
  replace(2);
  send(2, 5);
  send(2, 6);
  expect(told).toEqual([]);
  arrivals[0]?.();
  await vi.waitFor(() => expect(told).toEqual(["snapshot", "2.6"]));
  send(1, 7);
  send(2, 8);
  expect(told).toEqual(["snapshot", "2.6", "2.8"]);
});

test("a damaged message is a warning, and the next one is shown", () => {
  const warn = vi.spyOn(console, "warn").mockImplementation(() => {});
  const { told, model, send } = following();
  model.play("msg:custom", { live: { revision: 1 } }, []);
  model.play("msg:custom", { bundle: "of no interest here" });
  send(1, 1);
  expect(told).toEqual(["1.1"]);
  expect(warn).toHaveBeenCalledOnce();
  warn.mockRestore();
});

test("nothing is told once the view is gone", async () => {
  const { told, send, replace, arrivals, stop, model } = following();
  replace(2);
  stop();
  arrivals[0]?.();
  await Promise.resolve();
  send(1, 1);
  expect([told, model.listeners()]).toEqual([[], 0]);
});

test("progress is told as it comes, whatever the snapshot", () => {
  const { model, told } = following();
  const play = (progress: unknown) => model.play("msg:custom", { progress });
  play({ steps: 12, loss: "0.25" });
  play({ steps: 13, loss: "nan" });
  play({ steps: 14, loss: "-inf" });
  play({ steps: 15, loss: null });
  play(null);
  expect(told).toEqual(["12: 0.25", "13: NaN", "14: -Infinity", "15: null", "over"]);
});
