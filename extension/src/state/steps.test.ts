import { expect, test } from "vitest";
import { collapse } from "../graph/collapse.js";
import { parseSnapshot } from "../ir/parse.js";
import type { Edge, Event, OpNode, Snapshot } from "../ir/types.js";
import { receiveSnapshot, reportSettled, selectNode, toggleScope } from "./actions.js";
import { setFlowStep } from "./actions-flow.js";
import { compareSteps, followSteps, showStep, stepOn } from "./actions-steps.js";
import { seek } from "./actions-timeline.js";
import { newsWords } from "./step-news.js";
import { countSteps, firstStep, stepAt, stepsOf } from "./steps.js";
import { createStore } from "./store.js";

type Row = Record<string, unknown>;

/** A training of one weight: per step a module with `ops` operations, and its passes.
 *
 *   w ─┬─ net:  mul ─ … ─ sum        backward at line 0, and grad() at line 1 before it
 *      └─ net#2: mul ─ … ─ sum  */
function training({
  ops = [2, 2, 2],
  passes = [0],
  optimizer = true,
  norms = [1, 1, 1],
  findings = [] as Row[],
}): Snapshot {
  const nodes: Row[] = [
    { name: "AccumulateGrad", kind: "accumulate", call: "net.w", scope: 0 },
  ];
  const [edges, scopes, events, statistics]: [Row[], Row[], Row[], Row[]] = [
    [],
    [],
    [],
    [],
  ];
  const event = (kind: string, more: Row = {}) =>
    events.push({ kind, time_ns: events.length, ...more });
  ops.forEach((count, step) => {
    const path = step === 0 ? "net" : `net#${step + 1}`;
    scopes.push({ path, name: path, kind: "Net", parent: null });
    event("module_enter", { scope: step });
    statistics.push({ count: 1, norm: norms[step] });
    for (let op = 0; op < count; op++) {
      const name = op === count - 1 ? "SumBackward0" : "MulBackward0";
      nodes.push({ name, kind: "op", scope: step, sequence: nodes.length });
      const id = nodes.length - 1;
      edges.push({ source: op === 0 ? 0 : id - 1, target: id, output: 0, input: 0 });
      event("op", { node: id });
    }
    const root = nodes.length - 1;
    for (const site of passes) {
      event("backward_begin", { node: root, site });
      event("node_enter", { node: root, statistics: step });
      event("accumulate", { node: 0, statistics: step });
      event("backward_end");
    }
    if (optimizer) event("optimizer_step", { site: 2 });
  });
  const site = (line: number) => ({ file: "a.py", line, end_line: line });
  return parseSnapshot({
    format: "gradviz",
    schema: [1, 2],
    producer: "test",
    nodes,
    edges,
    scopes,
    events,
    statistics,
    findings,
    sites: [site(1), site(2), site(3)],
    roots: [nodes.length - 1],
  });
}

const rowsOf = (snapshot: Snapshot) =>
  stepsOf(snapshot).map(({ nodes }) => [...nodes.keys()].filter((id) => nodes[id]));

test("a step is what lies between two steps of the optimizer", () => {
  const snapshot = training({ passes: [1, 0] });
  expect(rowsOf(snapshot)).toEqual([
    [0, 1, 2],
    [0, 3, 4],
    [0, 5, 6],
  ]);
  expect(stepsOf(snapshot).map(({ passes }) => passes)).toEqual([2, 2, 2]);
});

test("without an optimizer a step ends with the pass of the line that ran last", () => {
  expect(rowsOf(training({ passes: [1, 0], optimizer: false }))).toHaveLength(3);
});

test("one step, or graphs to compare, are one picture", () => {
  expect(stepsOf(training({ ops: [4] }))).toEqual([]);
  const snapshot = training({});
  const parts = ["before", "after"].map((label) => ({ label, nodes: [1] }));
  expect(stepsOf({ ...snapshot, events: [...snapshot.events], parts })).toEqual([]);
});

test("a recording opens at the first finding, else at the last whole step", () => {
  const found = training({ findings: [{ ...FINDING, nodes: [3] }] });
  expect(firstStep(found, stepsOf(found))).toBe(1);
  const leaf = training({ findings: [{ ...FINDING, nodes: [0] }] });
  expect(firstStep(leaf, stepsOf(leaf))).toBe(2);
  const whole = training({});
  const torn = { ...whole, events: whole.events.slice(0, -2) }; // the last pass runs yet
  expect(firstStep(torn, stepsOf(torn))).toBe(1);
});

function opened(snapshot: Snapshot) {
  const store = createStore();
  followSteps(store);
  receiveSnapshot(store, snapshot);
  const drawn = () => {
    const graph = store.derived.graph.value;
    if (graph === null) throw new Error("no graph");
    return [...collapse(graph, new Set()).node].filter((id) => id >= 0);
  };
  return { store, drawn };
}

test("one step is drawn, with the parameters in its own module", () => {
  const { store, drawn } = opened(training({}));
  expect(drawn()).toEqual([0, 5, 6]);
  expect(store.data.snapshot.value?.nodes[0]?.scope).toBe(2);
  stepOn(store, -1);
  expect(drawn()).toEqual([0, 3, 4]);
  expect(store.data.snapshot.value?.nodes[0]?.scope).toBe(1);
  stepOn(store, -1);
  stepOn(store, -1); // there is none before the first
  expect(store.derived.step.value).toBe(0);
});

test("selection and closed modules stay where the same node exists", () => {
  const { store } = opened(training({}));
  selectNode(store, 5);
  toggleScope(store, 2);
  showStep(store, 0);
  expect(store.ui.selection.value).toEqual({ kind: "node", id: 1 });
  expect(store.ui.collapsed.value).toEqual(new Set([0]));
});

test("the timeline and the step follow each other", () => {
  const { store } = opened(training({}));
  seek(store, 2);
  expect(store.derived.step.value).toBe(0);
  showStep(store, 1);
  const { position } = store.ui;
  expect(stepAt(store.derived.steps.value, position.value ?? 0)).toBe(1);
});

test("what differs from the step before is marked, and put side by side on demand", () => {
  const { store, drawn } = opened(training({ ops: [2, 2, 3], norms: [1, 1, 50] }));
  const { news } = store.derived;
  expect(news.value).toBeNull(); // the first picture does not wait for it
  reportSettled(store);
  expect(news.value && newsWords(news.value)).toBe("1 new, 2 changed");
  expect(store.derived.marks.value.get(7)).toBe("changed"); // 50 times the gradient
  compareSteps(store);
  expect(drawn()).toEqual([0, 3, 4, 5, 6, 7]);
  store.ui.pane.value = "inspector";
  expect(drawn()).toEqual([0, 5, 6, 7]);
});

test("a step is not compared with one of another loss", () => {
  const kept = training({ ops: [2, 3], passes: [0, 1], optimizer: false });
  const alike = stepsOf(kept).map(({ losses }) => losses);
  expect(alike[0]).toBe(alike[1]);
  const begins = kept.events.findLastIndex(({ kind }) => kind === "backward_begin");
  const root = kept.events[begins]?.node ?? -1;
  const nodes = kept.nodes.map((node, id) =>
    id === root ? { ...node, site: 2 } : node,
  );
  const { store } = opened({ ...kept, nodes, events: [...kept.events] });
  reportSettled(store);
  expect(store.derived.steps.value).toHaveLength(2);
  expect(store.derived.step.value).toBe(1);
  expect(store.derived.news.value).toBeNull();
  expect(store.derived.marks.value.size).toBe(0);
});

test("a step of which a part was heard is not compared with a whole one", () => {
  const kept = training({ ops: [2, 2] });
  const enters = kept.events.findLastIndex(({ kind }) => kind === "node_enter");
  const { store } = opened({ ...kept, events: kept.events.toSpliced(enters, 1) });
  reportSettled(store);
  expect(store.derived.steps.value.map(({ isHeard }) => isHeard)).toEqual([
    true,
    false,
  ]);
  expect(store.derived.news.value).toBeNull();
});

test("a step of several passes is told by all their numbers", () => {
  const kept = training({ ops: [2, 2], passes: [1, 0] });
  const begun = kept.events.filter(({ kind }) => kind === "backward_begin");
  const flow_steps = begun.map(({ time_ns }, number) => ({
    ...EMPTY_FLOW_STEP,
    number,
    time_ns,
  }));
  const steps = stepsOf({ ...kept, events: [...kept.events], flow_steps });
  expect(steps.map(({ first, number }) => [first, number])).toEqual([
    [1, 2],
    [3, 4],
  ]);
});

test("the gradient flow stands at the step that is drawn", () => {
  const kept = training({ findings: [{ ...FINDING, nodes: [3, 1] }] });
  const begun = kept.events.filter(({ kind }) => kind === "backward_begin");
  const flow_steps = begun.map(({ time_ns }, number) => ({
    ...EMPTY_FLOW_STEP,
    number,
    time_ns,
  }));
  const flow = flow_steps.map((_, step) => ({ ...EMPTY_POINT, step }));
  const flow_layers = [
    { ...{ name: "w", kind: "", count: 1, node: 0, tensor: null }, ...UNHELD },
  ];
  const { store } = opened({ ...kept, flow_steps, flow, flow_layers });
  expect(store.derived.step.value).toBe(1); // of the first node that is blamed
  expect(store.derived.flowStep.value).toBe(1);
  expect(store.derived.flow.value?.steps[1]).toBe(2); // as the step is called
  setFlowStep(store, 2);
  expect(store.derived.flowStep.value).toBe(2);
});

test("what only reads a step's results after its pass is no step", () => {
  const kept = training({ ops: [2, 2] });
  const [root, mean] = [kept.nodes.length - 1, kept.nodes.length];
  const node = { ...(kept.nodes[root] as OpNode), scope: null, sequence: mean };
  const after = (source: number): Snapshot => ({
    ...kept,
    nodes: [...kept.nodes, node],
    edges: [...kept.edges, { ...(kept.edges[0] as Edge), source, target: mean }],
    events: [
      ...kept.events,
      { ...(kept.events.find(({ kind }) => kind === "op") as Event), node: mean },
    ],
  });
  expect(stepsOf(after(root)).length).toBe(2);
  expect(stepsOf(after(0)).length).toBe(3); // it begins anew, from a leaf
});

test("steps have the numbers of the training, of which not all are kept", () => {
  const kept = training({ ops: [2, 2] });
  const begun = kept.events.filter(({ kind }) => kind === "backward_begin");
  const flow = (...times: number[]) => ({
    ...kept,
    events: [...kept.events],
    flow_steps: times.map((time_ns, number) => ({
      ...EMPTY_FLOW_STEP,
      number,
      time_ns,
    })),
  });
  const [first = 0, second = 0] = begun.map(({ time_ns }) => time_ns);
  const known = flow(first, 1e6, second, 2e6);
  expect(stepsOf(known).map(({ number }) => number)).toEqual([1, 3]);
  expect(stepsOf(known).map(({ first }) => first)).toEqual([1, 3]);
  expect(countSteps(known, stepsOf(known))).toBe(4);
  const unknown = flow(1e6, 2e6, 3e6);
  expect(stepsOf(unknown).map(({ number }) => number)).toEqual([1, 2]);
});

const EMPTY_FLOW_STEP = {
  number: 0,
  time_ns: 0,
  rank: null,
  step_ns: null,
  backward_ns: null,
  wait_ns: null,
  learning_rate: null,
  stepped: false,
};

const FINDING = { code: "GV1", slug: "x", severity: "error", message: "m" };

const UNHELD = { optimizer: "", frozen: false };

const EMPTY_POINT = {
  ...{ step: 0, layer: 0, norm: 1, largest: null, zeros: 0, nans: 0, infs: 0 },
  ...{ weight_norm: null, update_norm: null, local_norm: null, gradient: null },
};
