// The timeline: what has happened after so many events, and what it is called.
import { describe, expect, test } from "vitest";
import { parseSnapshot } from "../ir/parse.js";
import type { Snapshot } from "../ir/types.js";
import { receiveSnapshot, selectNode } from "./actions.js";
import {
  advance,
  leaveTimeline,
  play,
  runToSelected,
  seek,
  stepEvent,
  togglePlay,
} from "./actions-timeline.js";
import { eventText } from "./event-words.js";
import { createStore } from "./store.js";
import {
  buildTimeline,
  type Moment,
  phaseAt,
  STAGE,
  type Timeline,
} from "./timeline.js";

/** x ─> t ─> mul ─> sum, where t is an inner node that no call of its own made.
 *
 * Forward, a write, a backward pass, a step of the optimizer, a second pass. */
function recording(): Snapshot {
  const pass = [
    { kind: "backward_begin", node: 3, text: "3 nodes", site: 0 },
    { kind: "node_enter", node: 3, statistics: 0 },
    { kind: "node_leave", node: 3 },
    { kind: "node_enter", node: 2, statistics: 1 },
    { kind: "node_leave", node: 2 },
    { kind: "accumulate", node: 0, tensor: 0, statistics: 1 },
    { kind: "backward_end" },
  ];
  const again = pass.map((event) =>
    event.kind === "accumulate" ? { ...event, grad: 2 } : event,
  );
  const events = [
    { kind: "op", node: 2, tensor: 1, text: "mul" },
    { kind: "write", storage: 0, site: 0, text: "add_", version: 3 },
    { kind: "op", node: 3, text: "sum" },
    ...pass,
    { kind: "optimizer_step", text: "SGD" },
    ...again,
  ].map((event, at) => ({ time_ns: at, ...event }));
  const tensor = { strides: [1], offset: 0, dtype: "float32", device: "cpu" };
  return parseSnapshot({
    format: "gradviz",
    schema: [1, 2],
    producer: "test",
    nodes: [
      { name: "AccumulateGrad", kind: "accumulate", outputs: [0] },
      { name: "TBackward0", kind: "view", sequence: 0 },
      { name: "MulBackward0", kind: "op", sequence: 1, outputs: [1], site: 0 },
      { name: "SumBackward0", kind: "op", sequence: 2 },
    ],
    edges: [
      { source: 0, output: 0, target: 1, input: 0 },
      { source: 1, output: 0, target: 2, input: 0, gradient: 1 },
      { source: 2, output: 0, target: 3, input: 0, gradient: 0 },
    ],
    tensors: [
      { shape: [2], ...tensor, name: "w" },
      { shape: [2], ...tensor, storage: 0 },
    ],
    storages: [{ nbytes: 8, device: "cpu", itemsize: 4, tensors: [1] }],
    statistics: [
      { count: 1, norm: 1 },
      { count: 2, norm: 0.125, nans: 1 },
      { count: 2, norm: 0.25 },
    ],
    sites: [{ file: "code/train.py", line: 12, end_line: 12 }],
    events,
  });
}

function timelineOf(snapshot: Snapshot): Timeline {
  const timeline = buildTimeline(snapshot);
  if (timeline === null) throw new Error("There are events.");
  return timeline;
}

const stages = (moment: Moment) => [...moment.stage];

describe("a moment", () => {
  const timeline = timelineOf(recording());

  test("before the first event holds only what was there before", () => {
    const moment = timeline.at(0);
    expect(moment.event).toBeNull();
    expect(stages(moment)).toEqual([STAGE.made, 0, 0, 0]);
  });

  test("of a call makes its node and the inner nodes of the same call", () => {
    expect(stages(timeline.at(1))).toEqual([1, 1, 1, 0]);
    expect(stages(timeline.at(3))).toEqual([1, 1, 1, 1]);
  });

  test("of a write touches the nodes with an output in that storage", () => {
    expect(timeline.at(2).touched).toEqual([2]);
    expect(timeline.at(2).writes).toBe(1);
    expect(timeline.at(3).touched).toEqual([]);
  });

  test("of a pass lights what gradients have reached", () => {
    expect(stages(timeline.at(5))).toEqual([1, 1, 1, STAGE.running]);
    expect(stages(timeline.at(6))).toEqual([1, 1, 1, STAGE.lit]);
    const { reached, taken } = timeline.at(9);
    expect([reached, taken]).toEqual([3, 1]);
    expect(stages(timeline.at(11))).toEqual([3, 1, 3, 3]);
  });

  test("of the next pass begins unlit", () => {
    expect(stages(timeline.at(12))).toEqual([1, 1, 1, 1]);
    expect(timeline.at(12).reached).toBe(0);
    expect(stages(timeline.at(18))).toEqual([3, 1, 3, 3]);
  });

  test("out of range is the nearest end", () => {
    expect(timeline.at(-3).position).toBe(0);
    expect(timeline.at(1e9).position).toBe(18);
  });
});

test("phases name the forward calls, the passes and what is between them", () => {
  const { phases } = timelineOf(recording());
  expect(phases.map(({ kind, number, from, to }) => [kind, number, from, to])).toEqual([
    ["forward", 1, 0, 3],
    ["backward", 1, 3, 10],
    ["update", 1, 10, 11],
    ["backward", 2, 11, 18],
  ]);
  expect(phaseAt(phases, 10)?.kind).toBe("backward");
  expect(phaseAt(phases, 11)?.kind).toBe("update");
});

test("events read as sentences", () => {
  const snapshot = recording();
  const said = snapshot.events.slice(0, 11).map((event) => eventText(snapshot, event));
  expect(said).toEqual([
    "mul made MulBackward0 of shape (2,), train.py:12",
    "add_ wrote storage 0, now version 3, train.py:12",
    "sum made SumBackward0",
    "backward() began: 3 nodes to run, train.py:12",
    "SumBackward0 received a gradient of norm 1",
    "SumBackward0 passed a gradient on",
    "MulBackward0 received a gradient of norm 0.125 with 1 NaN, train.py:12",
    "MulBackward0 passed a gradient on, train.py:12",
    "w.grad took in a gradient of norm 0.125 with 1 NaN",
    "backward() ended",
    "SGD stepped",
  ]);
  const sum = snapshot.events[16];
  expect(sum && eventText(snapshot, sum)).toBe(
    "w.grad took in a gradient of norm 0.125 with 1 NaN; the sum in it now has norm 0.25",
  );
});

describe("actions", () => {
  function opened() {
    const store = createStore();
    receiveSnapshot(store, recording());
    return { store, position: () => store.ui.position.value };
  }

  test("step on and back, from either end of the whole", () => {
    const { store, position } = opened();
    stepEvent(store, 1);
    expect(position()).toBe(1);
    leaveTimeline(store);
    stepEvent(store, -1);
    expect(position()).toBe(17);
    seek(store, 99);
    stepEvent(store, 1);
    expect(position()).toBe(18);
  });

  test("a step brings the node of the event into view", () => {
    const { store } = opened();
    stepEvent(store, 1);
    expect(store.ui.revealRequest.value).toEqual({ nodes: [2] });
  });

  test("play runs to the end, begins again from it, and backwards to the start", () => {
    const { store, position } = opened();
    togglePlay(store);
    expect(position()).toBe(0);
    advance(store, 17);
    expect([position(), store.ui.playing.value]).toEqual([17, 1]);
    advance(store, 5);
    expect([position(), store.ui.playing.value]).toEqual([18, 0]);
    togglePlay(store);
    expect(position()).toBe(0);
    play(store, -1);
    expect(position()).toBe(18);
    advance(store, 20);
    expect([position(), store.ui.playing.value]).toEqual([0, 0]);
  });

  test("run to the selected node finds its events one after the other", () => {
    const { store, position } = opened();
    selectNode(store, 2);
    const met = Array.from({ length: 4 }, () => {
      runToSelected(store);
      return position();
    });
    expect(met).toEqual([1, 7, 8, 15]);
  });

  test("another recording is shown as a whole, the same one stays where it is", () => {
    const { store, position } = opened();
    seek(store, 4);
    const same = store.data.snapshot.value;
    if (same !== null) receiveSnapshot(store, { ...same });
    expect(position()).toBe(4);
    receiveSnapshot(store, recording());
    expect(position()).toBeNull();
  });

  test("without events there is no timeline", () => {
    const store = createStore();
    receiveSnapshot(store, { ...recording(), events: [] });
    stepEvent(store, 1);
    togglePlay(store);
    expect([store.derived.timeline.value, store.ui.position.value]).toEqual([
      null,
      null,
    ]);
  });
});

test("100,000 events over 20,000 nodes: any moment in a few milliseconds", () => {
  const count = 20_000;
  const nodes = Array.from({ length: count }, (_, sequence) => ({
    ...(recording().nodes[2] as Snapshot["nodes"][number]),
    sequence,
  }));
  const template = recording().events[4] as Snapshot["events"][number];
  const events = Array.from({ length: 100_000 }, (_, at) => ({
    ...template,
    kind: at % 5 < 4 ? ("node_enter" as const) : ("op" as const),
    node: at % count,
  }));
  const timeline = timelineOf({ ...recording(), nodes, events });
  timeline.at(0);
  const once = (position: number) => {
    const begin = performance.now();
    timeline.at(position);
    return performance.now() - begin;
  };
  // The best of some: other work on the machine does not count.
  const best = (position: number) =>
    Math.min(...Array.from({ length: 5 }, () => once(position)));
  const times = [5, 99_999, 50_000, 50_001, 49_999, 73_511].map(best);
  expect(Math.max(...times)).toBeLessThan(16);
});
