// @vitest-environment jsdom

import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { FIRST_DRAWING } from "../graph/drawing.js";
import { bare, twoLayers } from "../graph/snapshots.test-util.js";
import { createGraphView, type GraphView, type GraphViewState } from "./graph-view.js";

/** A canvas that measures text by its length and remembers what is written. */
function fakeContext(written: string[]): CanvasRenderingContext2D {
  const known: Record<string, unknown> = {
    measureText: (text: string) => ({ width: text.length * 7 }),
    fillText: (text: string) => written.push(text),
  };
  return new Proxy(known, {
    get: (target, name: string) => target[name] ?? (() => {}),
    set: () => true,
  }) as unknown as CanvasRenderingContext2D;
}

const idle: GraphViewState = {
  collapsed: new Set(),
  selected: null,
  selectedScope: null,
  selectedEdge: null,
  hovered: null,
  matches: new Set(),
  lit: new Set(),
  story: { stops: new Map(), isTold: false },
  marks: new Map(),
  playback: null,
  colorBy: "family",
  drawing: FIRST_DRAWING,
  theme: "light",
  minimap: true,
};

let host: HTMLElement;
let written: string[];
let frames: FrameRequestCallback[];
let events: ReturnType<typeof makeEvents>;
let view: GraphView;

function makeEvents() {
  return {
    onSelect: vi.fn(),
    onSelectEdge: vi.fn(),
    onHover: vi.fn(),
    onSelectScope: vi.fn(),
    onToggleScope: vi.fn(),
    takesWheel: () => true,
    onLayout: vi.fn(),
    onGaze: vi.fn(),
    onJump: vi.fn(),
    onSettled: vi.fn(),
  };
}

/** Let microtasks (the layout) and then one frame pass; return what was written in it. */
async function nextFrame(): Promise<string[]> {
  await Promise.resolve();
  await Promise.resolve();
  written.length = 0;
  for (const frame of frames.splice(0)) frame(performance.now());
  return [...written];
}

beforeEach(() => {
  written = [];
  frames = [];
  vi.spyOn(HTMLCanvasElement.prototype, "getContext").mockImplementation((() =>
    fakeContext(written)) as unknown as HTMLCanvasElement["getContext"]);
  vi.spyOn(window, "requestAnimationFrame").mockImplementation((frame) =>
    frames.push(frame),
  );
  host = document.createElement("div");
  Object.defineProperty(host, "clientWidth", { value: 600 });
  Object.defineProperty(host, "clientHeight", { value: 800 });
  document.body.append(host);
  events = makeEvents();
  view = createGraphView(host, events);
});

afterEach(() => {
  view.dispose();
  host.remove();
  vi.restoreAllMocks();
});

function press(x: number, y: number): void {
  for (const type of ["pointerdown", "pointerup"]) {
    const event = new MouseEvent(type, { clientX: x, clientY: y, button: 0 });
    host.dispatchEvent(Object.assign(event, { pointerId: 1, pointerType: "mouse" }));
  }
}

/** Click everywhere, row by row, until something answers. */
function pressUntil(answered: () => boolean): void {
  for (let y = 4; y < 800; y += 6) {
    for (let x = 4; x < 600; x += 12) {
      press(x, y);
      if (answered()) return;
    }
  }
}

describe("the graph view", () => {
  test("draws the names and shapes of the nodes, once laid out", async () => {
    view.setSnapshot(twoLayers());
    view.setState(idle);
    const words = await nextFrame();
    expect(words).toEqual(
      expect.arrayContaining(["relu", "linear", "64×8", "net", "NaN"]),
    );
    expect(events.onLayout).toHaveBeenCalledExactlyOnceWith({
      boxes: 6,
      millis: expect.any(Number),
    });
  });

  test("draws a closed scope as one box", async () => {
    view.setSnapshot(twoLayers());
    view.setState({ ...idle, collapsed: new Set([0]) });
    const words = await nextFrame();
    expect(words).toContain("Net · 5 nodes");
    expect(words).not.toContain("relu");
  });

  test("the second column goes as it came: what was in view before is again", async () => {
    view.dispose();
    window.matchMedia = (() => ({ matches: true })) as unknown as typeof matchMedia;
    view = createGraphView(host, events);
    Reflect.deleteProperty(window, "matchMedia");
    const both = { ...idle, drawing: { ...FIRST_DRAWING, flow: "both" as const } };
    const gazes = [];
    view.setSnapshot(twoLayers());
    for (const state of [idle, both, idle]) {
      view.setState(state);
      await nextFrame();
      gazes.push(vi.mocked(events.onGaze).mock.lastCall?.[0]);
    }
    expect(gazes[1]).not.toEqual(gazes[0]);
    expect(gazes[2]).toEqual(gazes[0]);
  });

  test("a click selects the node under it", async () => {
    view.setSnapshot(bare(1, []));
    view.setState(idle);
    await nextFrame();
    press(300, 400);
    expect(events.onSelect).toHaveBeenLastCalledWith(0);
    press(10, 10);
    expect(events.onSelect).toHaveBeenLastCalledWith(null);
  });

  test("a click on a title closes the scope, and a double click does so once", async () => {
    view.setSnapshot(twoLayers());
    view.setState(idle);
    await nextFrame();
    vi.spyOn(performance, "now").mockReturnValue(1000); // the clicks take no time
    pressUntil(() => events.onToggleScope.mock.calls.length > 0);
    expect(events.onToggleScope).toHaveBeenCalledWith(0);
    pressUntil(() => false);
    expect(events.onToggleScope).toHaveBeenCalledTimes(1);
  });

  test("opening a scope takes a moment of its own, then rests", async () => {
    view.setSnapshot(twoLayers());
    view.setState({ ...idle, collapsed: new Set([1]) });
    await nextFrame();
    expect(frames).toHaveLength(0);
    view.setState(idle);
    expect(await nextFrame()).toContain("fc1");
    expect(frames).toHaveLength(1);
    const later = performance.now() + 1000;
    vi.spyOn(performance, "now").mockReturnValue(later);
    await nextFrame();
    expect(frames).toHaveLength(0);
  });

  test("without motion it opens at once", async () => {
    view.dispose();
    window.matchMedia = vi.fn().mockReturnValue({ matches: true });
    view = createGraphView(host, events);
    view.setSnapshot(twoLayers());
    view.setState({ ...idle, collapsed: new Set([1]) });
    await nextFrame();
    view.setState(idle);
    await nextFrame();
    expect(frames).toHaveLength(0);
    Reflect.deleteProperty(window, "matchMedia");
  });

  test("the arrow keys' neighbour is the node below", async () => {
    expect(view.neighbour(1, "down")).toBeNull();
    view.setSnapshot(twoLayers());
    view.setState(idle);
    await nextFrame();
    expect(view.neighbour(1, "down")).toBe(2);
  });

  test("a reveal waits for the layout that shows the node", async () => {
    const far = bare(
      400,
      Array.from({ length: 399 }, (_, i) => [i, i + 1] as const),
    );
    view.setSnapshot(far);
    view.setState(idle);
    view.reveal([399]);
    await nextFrame();
    vi.spyOn(performance, "now").mockReturnValue(performance.now() + 1000);
    expect(await nextFrame()).toContain("N399");
  });

  test("of a graph that does not fit, the marked nodes are seen first", async () => {
    const far = bare(
      400,
      Array.from({ length: 399 }, (_, i) => [i, i + 1] as const),
    );
    view.setSnapshot(far);
    view.setState({ ...idle, marks: new Map([[399, "error" as const]]) });
    await nextFrame();
    vi.spyOn(performance, "now").mockReturnValue(performance.now() + 1000);
    expect(await nextFrame()).toContain("N399");
  });

  test("nodes too far apart to be read together: the first is brought in view", async () => {
    const far = bare(
      400,
      Array.from({ length: 399 }, (_, i) => [i, i + 1] as const),
    );
    view.setSnapshot(far);
    view.setState(idle);
    await nextFrame();
    view.reveal([398, 0]);
    vi.spyOn(performance, "now").mockReturnValue(performance.now() + 1000);
    const seen = await nextFrame();
    expect(seen).toContain("N398");
    expect(seen).not.toContain("N0");
  });

  test("a graph with a cycle is refused with a sentence", () => {
    const cyclic = bare(2, [
      [0, 1],
      [1, 0],
    ]);
    expect(() => view.setSnapshot(cyclic)).toThrow(
      /^The snapshot is damaged: .*cycle of 2/,
    );
  });

  test("an empty graph draws nothing and throws nothing", async () => {
    view.setSnapshot(bare(0, []));
    view.setState(idle);
    view.fit();
    expect(await nextFrame()).toEqual([]);
  });

  test("after dispose nothing is left and nothing answers", async () => {
    view.setSnapshot(bare(1, []));
    view.setState(idle);
    await nextFrame();
    view.dispose();
    expect(host.childElementCount).toBe(0);
    press(300, 400);
    expect(events.onSelect).not.toHaveBeenCalled();
  });
});

describe("numbers that change while code runs", () => {
  const graph = bare(2, [[0, 1]]);
  const withNorm = (norm: number, nans = 0) => ({
    ...graph,
    statistics: [{ ...(statistics as (typeof graph.statistics)[number]), norm, nans }],
  });
  const [statistics] = bare(0, [], { statistics: [{ count: 1 }] }).statistics;

  test("are painted without a layout", async () => {
    view.setState(idle);
    view.setSnapshot(withNorm(1));
    await nextFrame();
    view.setSnapshot(withNorm(2));
    const frame = await nextFrame();
    expect(frame).toContain("N0");
    expect(events.onLayout).toHaveBeenCalledOnce();
  });

  test("bring a layout where a box needs more room, as for a NaN", async () => {
    const nodes = [{ name: "op0", kind: "op", grad_outputs: [0] }];
    const made = bare(0, [], { nodes, statistics: [{ count: 1, norm: 1 }] });
    const [first] = made.statistics;
    view.setState(idle);
    view.setSnapshot(made);
    await nextFrame();
    view.setSnapshot({ ...made, statistics: first ? [{ ...first, nans: 1 }] : [] });
    expect(await nextFrame()).toContain("NaN");
    expect(events.onLayout).toHaveBeenCalledTimes(2);
  });
});
