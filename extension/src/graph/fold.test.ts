import { expect, test } from "vitest";
import { parseSnapshot } from "../ir/parse.js";
import type { Snapshot } from "../ir/types.js";
import { buildGraph } from "./build.js";
import { collapse } from "./collapse.js";
import { foldRepeats, isFold, unfolded } from "./fold.js";
import { findRuns } from "./repeats.js";

interface Row {
  readonly name: string;
  readonly kind: string;
  readonly scope: number | null;
  readonly sequence: number | null;
  readonly site: number | null;
  readonly iteration: number | null;
  readonly call: string;
}

class Builder {
  readonly nodes: Row[] = [];
  readonly scopes: {
    path: string;
    name: string;
    kind: string;
    parent: number | null;
  }[] = [];
  private last: number | null = null;
  readonly edges: { source: number; target: number; output: 0; input: 0 }[] = [];

  scope(name: string, kind: string, parent: number | null): number {
    const around = parent === null ? "" : `${this.scopes[parent]?.path}.`;
    return this.scopes.push({ path: `${around}${name}`, name, kind, parent }) - 1;
  }

  op(call: string, scope: number | null, site = 0, iteration: number | null = null) {
    const name = `${call}Backward0`;
    const sequence = this.nodes.length;
    const row = { name, kind: "op", scope, sequence, site, iteration, call };
    const id = this.nodes.push(row) - 1;
    if (this.last !== null) this.edge(this.last, id);
    this.last = id;
  }

  /** Cuts what the last op gave; stands at the end of the table, as cuts do. */
  cut(scope: number, of: number) {
    const rest = { sequence: null, site: 8, iteration: null, call: "detach" };
    this.edge(of, this.nodes.push({ name: "detach", kind: "cut", scope, ...rest }) - 1);
  }

  weight(scope: number) {
    const name = "AccumulateGrad";
    const rest = { sequence: null, site: null, iteration: null, call: "weight" };
    const id = this.nodes.push({ name, kind: "accumulate", scope, ...rest }) - 1;
    this.edge(id, (this.last ?? 0) + 0);
  }

  build(roots: readonly number[] = []): Snapshot {
    const { nodes, edges, scopes } = this;
    const site = { file: "a.py", line: 1, end_line: 1 };
    const sites = Array.from({ length: 9 }, () => site);
    const head = { format: "gradviz", schema: [1, 0], producer: "test" };
    return parseSnapshot({ ...head, nodes, edges, scopes, sites, roots });
  }

  private edge(source: number, target: number) {
    this.edges.push({ source, target, output: 0, input: 0 });
  }
}

/** net: embed, 12 blocks of linear (with a weight) and relu, head. */
function blocks(list = ""): Snapshot {
  const b = new Builder();
  const net = b.scope("net", "Net", null);
  b.op("embedding", net);
  for (let i = 0; i < 12; i++) {
    const block = b.scope(`${list}${i}`, "Block", net);
    b.op("linear", block);
    b.weight(block);
    b.op("relu", block);
    b.op("norm", block);
  }
  b.op("sum", net);
  return b.build();
}

/** An RNN: the cell is called 20 times; its parameters lie in the first call, which
 * makes one op less; an op of the loop itself follows each call. */
function loop(): Snapshot {
  const b = new Builder();
  const net = b.scope("net", "Net", null);
  for (let t = 0; t < 20; t++) {
    const cell = b.scope(t === 0 ? "cell" : `cell#${t + 1}`, "Cell", net);
    b.op("linear", cell, 1, t);
    if (t === 0) b.weight(cell);
    else b.op("add", cell, 2, t);
    b.op("tanh", cell, 3, t);
    b.op("mul", net, 4, t);
  }
  b.op("sum", net, 5);
  return b.build();
}

const folds = (snapshot: Snapshot) =>
  snapshot.scopes.filter((_, id) => isFold(snapshot, id)).map(({ name }) => name);

const boxes = (snapshot: Snapshot, closed: readonly number[]) => {
  const { open } = collapse(buildGraph(snapshot), new Set(closed));
  return open.filter((each) => each === 0).length;
};

test("runs are found with their period, and the longest first", () => {
  const words = (text: string) => Int32Array.from(text, (c) => c.charCodeAt(0));
  expect(findRuns(words("xababaay"))).toEqual([]);
  expect(findRuns(words("xabababy"))).toEqual([
    { start: 1, period: 2, times: 3, end: 7 },
  ]);
  expect(findRuns(words("aaaabcbcbc"))).toEqual([
    { start: 0, period: 1, times: 4, end: 4 },
    { start: 4, period: 2, times: 3, end: 10 },
  ]);
  expect(findRuns(words(""))).toEqual([]);
});

test("blocks in a list of modules fold under the name of their class", () => {
  expect(folds(foldRepeats(blocks("layers.")))).toEqual(["Block ×12"]);
});

test("layers that the code calls by names of their own do not fold", () => {
  const snapshot = blocks();
  const named = (base: string) => ({
    ...snapshot,
    scopes: snapshot.scopes.map((scope, id) =>
      id === 0 ? scope : { ...scope, name: `${base}${"abcdefghijkl"[id - 1]}` },
    ),
  });
  expect(folds(foldRepeats(named("conv_")))).toEqual([]);
});

test("a cut stands in the turn of the loop that it cuts", () => {
  const b = new Builder();
  const net = b.scope("net", "Net", null);
  const [cells, muls]: [number[], number[]] = [[], []];
  for (let t = 0; t < 20; t++) {
    const cell = b.scope(t === 0 ? "cell" : `cell#${t + 1}`, "Cell", net);
    for (const call of ["linear", "add", "tanh"]) b.op(call, cell, 1, t);
    cells.push(b.nodes.length - 1);
    b.op("mul", net, 4, t);
    muls.push(b.nodes.length - 1);
  }
  for (const of of [...cells, ...muls]) b.cut(net, of);
  const { nodes, scopes } = foldRepeats(b.build());
  const homes = nodes.flatMap(({ kind, scope }) =>
    kind === "cut" ? [scopes[scope ?? -1]?.name] : [],
  );
  const turns = Array.from({ length: 20 }, (_, t) => `t = ${t}`);
  expect(homes).toEqual([...turns, ...turns]);
});

test("equal blocks in a row become one box that says how many", () => {
  const folded = foldRepeats(blocks());
  expect(folds(folded)).toEqual(["Block ×12"]);
  const group = folded.scopes.length - 1;
  expect(folded.scopes[group]?.parent).toBe(0);
  expect(folded.scopes.filter(({ parent }) => parent === group)).toHaveLength(12);
  expect(boxes(folded, [group])).toBe(3); // embedding, Block ×12, sum
  const inner = folded.scopes.flatMap(({ parent }, id) => (parent === group ? id : []));
  expect(boxes(folded, inner)).toBe(14);
});

test("a block that differs stays outside", () => {
  const b = new Builder();
  for (let i = 0; i < 10; i++) {
    const block = b.scope(`${i}`, "Block", null);
    b.op("linear", block);
    b.weight(block);
    for (const _ of Array(4)) b.op(i === 4 ? "gelu" : "relu", block);
  }
  expect(folds(foldRepeats(b.build()))).toEqual(["Block ×4", "Block ×5"]);
});

test("the turns of a loop fold with what stands between the calls, the first included", () => {
  const folded = foldRepeats(loop());
  const [title = "", ...turns] = folds(folded);
  expect(title).toBe("cell, mul  t = 0…19");
  expect(turns).toEqual(Array.from({ length: 20 }, (_, t) => `t = ${t}`));
  const group = folded.scopes.findIndex(({ name }) => name === title);
  expect(boxes(folded, [group])).toBe(2); // the loop, sum
});

test("turns count from 0 in every pass; one that made less counts too", () => {
  const b = new Builder();
  const roots = [0, 1].map((step) => {
    for (let t = 0; t < 20; t++) {
      b.op("linear", null, 1, 20 * step + t);
      if (t > 0) b.op("add", null, 2, 20 * step + t);
      b.op("tanh", null, 3, 20 * step + t);
    }
    b.op("sum", null, 4, step);
    return b.nodes.length - 1;
  });
  const [first = "", ...others] = folds(foldRepeats(b.build(roots)));
  expect(first).toMatch(/ {2}t = 1…19$/);
  expect(others.filter((name) => !/^t = \d+$/.test(name))).toEqual([first]);
  const whole = new Builder();
  for (let at = 0; at < 90; at++) {
    const turn = at % 45;
    whole.op(turn < 40 ? "tanh" : `loss${turn}`, null, turn < 40 ? 1 : 2, at);
  }
  expect(folds(foldRepeats(whole.build([44, 89])))).toEqual([
    "tanh  t = 0…39",
    "tanh  t = 0…39",
  ]);
});

test("a scope of too many parts gets groups in the order of the forward pass", () => {
  const b = new Builder();
  for (let i = 0; i < 5000; i++) b.op(`op${(i * i) % 977}`, null, i % 7);
  const folded = foldRepeats(b.build());
  const top = folded.scopes.flatMap(({ parent }, id) => (parent === null ? [id] : []));
  expect(top.length).toBeGreaterThan(5);
  expect(boxes(folded, top)).toBe(top.length);
  expect(top.length).toBeLessThanOrEqual(36);
  expect(folded.scopes[top[0] ?? 0]?.name).toMatch(/^nodes 1…\d+$/);
  expect(boxes(folded, [])).toBe(5000);
});

test("folding keeps rows, is undone exactly, and does nothing twice", () => {
  const recorded = blocks();
  const folded = foldRepeats(recorded);
  expect(folded.nodes.map(({ name }) => name)).toEqual(
    recorded.nodes.map(({ name }) => name),
  );
  expect(
    folded.scopes.slice(0, recorded.scopes.length).map(({ path }) => path),
  ).toEqual(recorded.scopes.map(({ path }) => path));
  expect(unfolded(folded)).toBe(recorded);
  expect(foldRepeats(folded)).toBe(folded);
  expect(unfolded(recorded)).toBe(recorded);
});

test("a weight that the turns share stands beside them, not in the first", () => {
  const snapshot = loop();
  const weight = snapshot.nodes.findIndex(({ kind }) => kind === "accumulate");
  const turns = snapshot.nodes.flatMap(({ call }, id) =>
    call === "linear" ? [id] : [],
  );
  const uses = turns.map((target) => ({ source: weight, target, output: 0, input: 1 }));
  const shared = parseSnapshot({
    format: "gradviz",
    schema: [1, 0],
    producer: "test",
    nodes: snapshot.nodes,
    edges: [...snapshot.edges, ...uses],
    scopes: snapshot.scopes,
    sites: snapshot.sites,
  });
  const folded = foldRepeats(shared);
  const group = folded.scopes.findIndex(({ name }) => name === "cell, mul  t = 0…19");
  expect(group).toBeGreaterThan(0);
  expect(folded.nodes[weight]?.scope).toBe(group);
});

test("weights that several calls share stand in the first of them", () => {
  const twice = (count: number) => {
    const b = new Builder();
    const [first, second] = ["net", "net#2"].map((name) => b.scope(name, "Net", null));
    const weights = Array.from({ length: count }, () => {
      b.op("linear", first ?? 0);
      b.weight(first ?? 0);
      return b.nodes.length - 1;
    });
    for (const weight of weights) {
      b.op("linear", second ?? 0);
      b.edges.push({
        source: weight,
        target: b.nodes.length - 1,
        output: 0,
        input: 0,
      });
    }
    const folded = foldRepeats(b.build());
    return weights.map((id) => folded.scopes[folded.nodes[id]?.scope ?? -1]?.name);
  };
  expect(new Set(twice(13))).toEqual(new Set(["net"]));
});
