import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { foldRepeats } from "../graph/fold.js";
import { parseSnapshot } from "../ir/parse.js";
import type { Snapshot } from "../ir/types.js";
import { align } from "./align.js";
import { comparePasses } from "./compare.js";
import { changeMarks, comparisonOf, isComparable } from "./comparison.js";
import { passesOf } from "./passes.js";
import { buildTables } from "./tables.js";

interface Op {
  readonly call: string;
  readonly scope?: string;
  readonly shape?: readonly number[];
  readonly norm?: number;
  readonly args?: readonly string[];
}

/** A chain of operations on a leaf `w` for each graph, each a part of the snapshot. */
function chains(graphs: Readonly<Record<string, readonly Op[]>>): Snapshot {
  const labels = Object.keys(graphs);
  const scopes: { path: string; name: string; kind: string; parent: number | null }[] =
    labels.map((label) => ({ path: label, name: label, kind: "", parent: null }));
  const nodes: object[] = [];
  const edges: object[] = [];
  const tensors: object[] = [];
  const statistics: object[] = [];
  const parts = labels.map((label, part) => {
    const first = nodes.length;
    const add = (op: Op, facts: object) => {
      let scope = part;
      if (op.scope !== undefined) {
        scope = scopes.length;
        const path = `${label}.${op.scope}`;
        scopes.push({ path, name: op.scope, kind: "M", parent: part });
      }
      const at = nodes.length;
      tensors.push({
        shape: op.shape ?? [2],
        strides: [1],
        offset: 0,
        dtype: "float32",
        device: "cpu",
      });
      statistics.push({ count: 2, norm: op.norm ?? 1 });
      const common = { scope, outputs: [at], grad_outputs: [at] };
      nodes.push({ name: "N", call: op.call, arguments: op.args, ...common, ...facts });
      if (at === first) return;
      edges.push({ source: at - 1, output: 0, target: at, input: 0, tensor: at - 1 });
    };
    add({ call: "w" }, { kind: "accumulate" });
    graphs[label]?.forEach((op, sequence) => {
      add(op, { kind: "op", sequence });
    });
    return { label, nodes: nodes.slice(first).map((_, at) => first + at) };
  });
  const tables = { nodes, edges, tensors, statistics, scopes, parts };
  return parseSnapshot({
    format: "gradviz",
    schema: [1, 2],
    producer: "t",
    ...JSON.parse(JSON.stringify(tables)),
  });
}

function differences(before: readonly Op[], after: readonly Op[]) {
  const comparison = comparisonOf(chains({ before, after }), { before: 0, after: -1 });
  return (comparison?.rows ?? [])
    .filter(({ kind }) => kind !== "same")
    .map(({ kind, label, changes }) => `${kind} ${label}: ${changes.join("; ")}`);
}

describe("two graphs", () => {
  const net: readonly Op[] = [
    { call: "linear", scope: "Net.0" },
    { call: "relu", scope: "Net.1" },
    { call: "linear", scope: "Net.2" },
    { call: "sum" },
  ];

  test("that are alike do not differ, whatever the class of the model", () => {
    const renamed = net.map((op) => ({ ...op, ...rename(op.scope, "Net", "Fixed") }));
    expect(differences(net, renamed)).toEqual([]);
  });

  test("an op put into a list leaves what comes behind as it was", () => {
    const [first, relu, , sum] = net;
    const longer = [
      first,
      relu,
      { call: "tanh", scope: "Net.2" },
      { call: "linear", scope: "Net.3" },
      sum,
    ].flatMap((op) => op ?? []);
    expect(differences(net, longer)).toEqual(["added tanh: (2,)"]);
    expect(differences(longer, net)).toEqual(["removed tanh: (2,)"]);
  });

  test("shapes, arguments and gradients that differ are said", () => {
    const before = [{ call: "softmax", shape: [2, 3], args: ["dim=0"], norm: 0.5 }];
    const after = [{ call: "softmax", shape: [2, 4], args: ["dim=1"], norm: 0.01 }];
    expect(differences(before, after)).toEqual([
      "changed softmax: shape (2, 3) → (2, 4); arguments dim=0 → dim=1; gradient norm 0.5 → 0.01",
    ]);
  });

  test("what was replaced is removed, then added", () => {
    expect(differences([{ call: "relu" }], [{ call: "gelu" }])).toEqual([
      "removed relu: (2,)",
      "added gelu: (2,)",
    ]);
  });

  test("mark their nodes, those of both twice", () => {
    const before = [{ call: "exp", norm: 1 }, { call: "sum" }];
    const after = [{ call: "exp", norm: 99 }, { call: "abs" }, { call: "sum" }];
    const comparison = comparisonOf(chains({ before, after }), {
      before: 0,
      after: -1,
    });
    expect(comparison && [...changeMarks(comparison)]).toEqual([
      [1, "changed"],
      [4, "changed"],
      [5, "added"],
    ]);
  });
});

function rename(scope: string | undefined, from: string, to: string) {
  return scope === undefined ? {} : { scope: scope.replace(from, to) };
}

test("what the view folds does not part what corresponds", () => {
  const block = (at: number): Op[] => [
    { call: "linear", scope: `Net.${at}` },
    { call: "relu", scope: `Net.${at}` },
    { call: "tanh", scope: `Net.${at}` },
  ];
  const before = Array.from({ length: 20 }, (_, at) => block(at)).flat();
  const after = before.slice(3);
  const folded = foldRepeats(chains({ before, after }));
  expect(folded.scopes.length).toBeGreaterThan(chains({ before, after }).scopes.length);
  const kinds = comparisonOf(folded, { before: 0, after: 1 })?.rows.map(
    (row) => row.kind,
  );
  expect(kinds?.filter((kind) => kind === "added")).toEqual([]);
  expect(kinds?.filter((kind) => kind === "removed")).toHaveLength(3);
});

test("backward passes of one recording are told apart by their events", () => {
  const one = chains({ a: [{ call: "exp" }], b: [{ call: "exp" }] });
  const begin = (node: number) => ({ ...event, kind: "backward_begin" as const, node });
  const event = {
    time_ns: 0,
    tensor: null,
    storage: null,
    site: null,
    scope: null,
    text: "",
    statistics: null,
    version: null,
    grad: null,
  };
  const enter = { ...event, kind: "node_enter" as const, node: 1, statistics: 3 };
  const snapshot: Snapshot = { ...one, parts: [], events: [begin(1), enter, begin(3)] };
  const passes = passesOf(buildTables(snapshot));
  expect(passes.map(({ label, nodes }) => [label, nodes])).toEqual([
    ["pass 1", [0, 1]],
    ["pass 2", [2, 3]],
  ]);
  expect(passes[0]?.gradients.get(1)).toBe(snapshot.statistics[3]);
  expect(isComparable(snapshot)).toBe(true);
  expect(isComparable({ ...snapshot, events: [begin(1)] })).toBe(false);
});

test("of two losses in every step, each is compared with its own", () => {
  const exp = [{ call: "exp" }];
  const four = chains({ a: exp, b: exp, c: exp, d: exp });
  // Only equality of the lines counts, so their table may be empty.
  const nodes = four.nodes.map((node, id) => ({ ...node, site: id % 4 < 2 ? 0 : 1 }));
  const snapshot: Snapshot = { ...four, nodes };
  const chosen = (after: number) =>
    comparisonOf(snapshot, { before: null, after })?.before;
  expect([-1, 2, 1].map(chosen)).toEqual([1, 0, 3]);
  expect(comparisonOf(chains({ a: exp }), { before: null, after: 0 })?.before).toBe(0);
});

describe("alignment", () => {
  const letters = fc.array(fc.constantFrom("a", "b", "c"), { maxLength: 14 });

  test("pairs equal keys, rising on both sides", () => {
    fc.assert(
      fc.property(letters, letters, (left, right) => {
        const pairs = align(
          left.map((key) => [key]),
          right.map((key) => [key]),
        );
        pairs.forEach(([a, b], at) => {
          expect(left[a]).toBe(right[b]);
          expect(pairs.slice(at + 1).every(([x, y]) => x > a && y > b)).toBe(true);
        });
      }),
    );
  });

  // A table of all pairs would take minutes: the timeout is the referee.
  test("of 10,000 nodes finds what is missing", { timeout: 30_000 }, () => {
    const before = Array.from({ length: 10_000 }, (_, at) => ({
      call: `op${at % 7}`,
      scope: `Net.${Math.floor(at / 12)}`,
    }));
    const after = before.filter((_, at) => at % 97 !== 5);
    const tables = buildTables(chains({ before, after }));
    const [a, b] = passesOf(tables);
    if (a === undefined || b === undefined) throw new Error("There are two.");
    const rows = comparePasses(tables, a, b);
    expect(rows.filter(({ kind }) => kind === "removed")).toHaveLength(
      before.length - after.length,
    );
    expect(rows.filter(({ kind }) => kind === "added")).toEqual([]);
  });
});
