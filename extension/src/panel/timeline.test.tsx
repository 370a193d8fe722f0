// @vitest-environment jsdom
// The strip under the graph: what its buttons, keys and slider say and do.
import { describe, expect, test, vi } from "vitest";
import { parseSnapshot } from "../ir/parse.js";
import { convolution } from "../state/snapshots.test-util.js";
import { buttonNamed, select, show } from "./app.test-util.js";

vi.mock("../render/graph-view.js", async () => {
  const { fakeGraphView } = await import("./fake-view.test-util.js");
  return { createGraphView: fakeGraphView };
});

/** leaf ─> mul: a call, and a pass that ends at a hostile name. */
function recording() {
  return parseSnapshot({
    format: "gradviz",
    schema: [1, 2],
    producer: "test",
    nodes: [
      { name: "AccumulateGrad", kind: "accumulate", outputs: [0] },
      { name: "MulBackward0", kind: "op", sequence: 0 },
    ],
    edges: [{ source: 0, output: 0, target: 1, input: 0 }],
    tensors: [
      {
        shape: [2],
        strides: [1],
        offset: 0,
        dtype: "float32",
        device: "cpu",
        name: "<b>w\u202e",
      },
    ],
    statistics: [{ count: 1, norm: 0.5 }],
    events: [
      { kind: "op", time_ns: 0, node: 1, text: "mul" },
      { kind: "backward_begin", time_ns: 1, node: 1, text: "2 nodes" },
      { kind: "node_enter", time_ns: 2, node: 1, statistics: 0 },
      { kind: "node_leave", time_ns: 3, node: 1 },
      { kind: "accumulate", time_ns: 4, node: 0, tensor: 0, statistics: 0 },
      { kind: "backward_end", time_ns: 5 },
    ],
  });
}

describe("the timeline", () => {
  test("is not there where nothing was recorded", async () => {
    const app = await show(convolution());
    expect(app.root.querySelector("[data-testid=timeline]")).toBeNull();
  });

  test("shows the whole recording until it is used", async () => {
    const app = await show(recording());
    expect(app.find("timeline-count").textContent).toBe("6 events");
    expect(app.view.state?.playback).toBeNull();
    expect(app.find("timeline-slider").getAttribute("aria-valuetext")).toBe(
      "The whole recording, 6 events",
    );
  });

  test("steps by key, says what happened and lights the graph", async () => {
    const app = await show(recording());
    for (const key of [".", ".", "."]) await app.press(key);
    expect(app.find("timeline-event").textContent).toBe(
      "MulBackward0 received a gradient of norm 0.5",
    );
    expect(app.find("timeline-counts").textContent).toBe(
      "backward 1 · gradients at 1 node · 0 .grad · 0 writes",
    );
    expect([...(app.view.state?.playback?.stage ?? [])]).toEqual([1, 2]);
    await app.press(",");
    expect(app.find("timeline-count").textContent).toBe("2 / 6");
    await app.press("Escape");
    expect(app.view.state?.playback).toBeNull();
  });

  test("the slider seeks and says the event; PageDown goes to the next pass", async () => {
    const app = await show(recording());
    const slider = app.find("timeline-slider");
    await app.type(slider, "0");
    expect(slider.getAttribute("aria-valuetext")).toBe("Before the first event");
    await app.press("PageDown", slider);
    expect(app.find("timeline-count").textContent).toBe("1 / 6");
    expect(slider.getAttribute("aria-valuetext")).toBe(
      "Event 1 of 6: mul made MulBackward0",
    );
    await app.press(".", slider); // letters and dots mean nothing to a slider
    expect(app.find("timeline-count").textContent).toBe("2 / 6");
  });

  test("names of the program stay text, and lead to their node", async () => {
    const app = await show(recording());
    await app.type(app.find("timeline-slider"), "5");
    const event = app.find("timeline-event");
    expect(event.querySelector("b")).toBeNull();
    expect(event.textContent).toBe("<b>w\\u202e.grad took in a gradient of norm 0.5");
    await app.click(event.querySelector("button"));
    expect(app.view.state?.selected).toBe(0);
  });

  test("runs to the selected node", async () => {
    const app = await show(recording());
    const run = buttonNamed(app, "Run to the selected node") as HTMLButtonElement;
    expect(run.disabled).toBe(true);
    await select(app, 0);
    await app.click(run);
    expect(app.find("timeline-count").textContent).toBe("5 / 6");
  });

  test("plays until it is paused", async () => {
    const app = await show(recording());
    await app.click(buttonNamed(app, "Play"));
    expect(app.find("timeline-count").textContent).toBe("0 / 6");
    await app.click(buttonNamed(app, "Pause"));
    expect(buttonNamed(app, "Play")).not.toBeNull();
    await app.click(buttonNamed(app, "Leave the timeline"));
    expect(app.find("timeline-count").textContent).toBe("6 events");
  });
});
