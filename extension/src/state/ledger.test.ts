import { describe, expect, test } from "vitest";
import { parseSnapshot } from "../ir/parse.js";
import { filterSaved, savedRows, savedTotals, writersSince } from "./ledger.js";
import { badRows, countFates } from "./nonfinite.js";
import { sortBy } from "./sort.js";
import { buildTables } from "./tables.js";

const tensor = (storage: number, extra: object = {}) => ({
  shape: [4],
  strides: [1],
  offset: 0,
  dtype: "float32",
  device: "cpu",
  storage,
  ...extra,
});

const bad = (nans: number, infs = 0) => ({
  count: 4,
  nans,
  infs,
  first_bad: nans + infs > 0 ? [2] : null,
});

/** x ─> log ─> mul ─> where: log gives Inf, mul makes it NaN, where heals it. */
function chain() {
  const node = (call: string, sequence: number, input: number, output: number) => ({
    name: `${call}Backward0`,
    kind: "op",
    call,
    sequence,
    inputs: [input],
    outputs: [output],
    grad_outputs: [0],
  });
  return parseSnapshot({
    format: "gradviz",
    schema: [1, 0],
    producer: "test",
    nodes: [
      { name: "AccumulateGrad", kind: "accumulate", call: "x", outputs: [0] },
      node("log", 0, 0, 1),
      node("mul", 1, 1, 2),
      node("where", 2, 2, 3),
    ],
    edges: [0, 1, 2].map((source) => ({
      source,
      output: 0,
      target: source + 1,
      input: 0,
      tensor: source,
      gradient: source === 0 ? 1 : 0,
    })),
    tensors: [
      tensor(0, { statistics: 0, name: "x", requires_grad: true }),
      tensor(1, { statistics: 2 }),
      tensor(1, { statistics: 1 }),
      tensor(2, { statistics: 0 }),
    ],
    statistics: [bad(0), bad(3), bad(0, 1)],
    storages: [
      { nbytes: 16, device: "cpu", itemsize: 4, tensors: [0] },
      { nbytes: 16, device: "cpu", itemsize: 4, version: 2, tensors: [1, 2] },
      { nbytes: 16, device: "cpu", itemsize: 4, tensors: [3] },
    ],
    saved: [
      { node: 1, slot: "_saved_self", tensor: 0, version_saved: 0, version_now: 0 },
      {
        node: 2,
        slot: "_saved_other",
        tensor: 1,
        version_saved: 0,
        version_now: 0,
        freed: true,
      },
      {
        node: 3,
        slot: "_saved_self",
        tensor: 2,
        version_saved: 1,
        version_now: 2,
        hooked: true,
      },
    ],
    writes: [
      { storage: 1, version: 1, op: "mul_" },
      { storage: 1, version: 2, op: "add_", node: 2 },
    ],
    roots: [3],
  });
}

describe("saved tensors", () => {
  const snapshot = chain();
  const rows = savedRows(snapshot);

  test("count a storage once, in a row that still keeps it", () => {
    expect(rows.map(({ counted }) => counted)).toEqual([true, false, true]);
    expect(savedTotals(snapshot, rows)).toEqual({
      rows: 3,
      storages: 2,
      keptBytes: 32,
      parameterBytes: 16,
      freedBytes: 0,
      modified: 1,
    });
  });

  test("name who wrote since, and nobody for what is as it was", () => {
    const tables = buildTables(snapshot);
    const writers = rows.map(({ saved, tensor }) =>
      writersSince(tables, saved, tensor).map(({ write }) => write.op),
    );
    expect(writers).toEqual([[], [], ["add_"]]);
  });

  test.each([
    ["freed", "", ["mul"]],
    ["packed", "", ["where"]],
    ["modified", "", ["where"]],
    ["all", "self float32", ["log", "where"]],
    ["all", "#1", ["mul", "where"]],
    ["kept", "nothing", []],
  ] as const)("filter %s, words %j", (filter, text, ops) => {
    expect(filterSaved(rows, filter, text).map(({ op }) => op)).toEqual(ops);
  });
});

test("NaN and Inf are born, turned into each other, healed, and come back", () => {
  const rows = badRows(buildTables(chain()));
  const said = rows.map(({ op, where, kind, fate, cause }) =>
    [op, where, kind, fate, cause].join(" ").trim(),
  );
  expect(said).toEqual([
    "log value Inf birth",
    "mul value NaN birth of Inf, from log",
    "where value NaN healed from mul",
    "log gradient NaN birth its value was bad before",
    "x gradient NaN propagated from log",
  ]);
  expect(countFates(rows)).toEqual({ birth: 3, propagated: 1, healed: 1 });
  expect(rows[0]?.first).toEqual([2]);
});

test("a view bears nothing: its source turned bad after it was looked at", () => {
  const snapshot = chain();
  const nodes = snapshot.nodes.map((node) =>
    node.call === "log" ? { ...node, kind: "view" as const } : node,
  );
  const [first] = badRows(buildTables({ ...snapshot, nodes }));
  expect([first?.op, first?.fate, first?.cause]).toEqual([
    "log",
    "propagated",
    "from x",
  ]);
});

describe("sorting", () => {
  const rows = [
    { v: 2 },
    { v: null },
    { v: 10 },
    { v: Number.NaN },
    { v: 2, again: 1 },
  ];

  test("keeps unknown values last and ties in place, in both directions", () => {
    const up = sortBy(rows, ({ v }) => v, false).map((row) => rows.indexOf(row));
    const down = sortBy(rows, ({ v }) => v, true).map((row) => rows.indexOf(row));
    expect(up).toEqual([0, 4, 2, 3, 1]);
    expect(down).toEqual([3, 2, 0, 4, 1]);
  });

  test("reads numbers inside names", () => {
    const names = ["block.10", "block.9", ""];
    expect(sortBy(names, (name) => name, false)).toEqual(["block.9", "block.10", ""]);
  });

  test("takes 100,000 rows", { timeout: 30_000 }, () => {
    const many = Array.from({ length: 100_000 }, (_, at) => `op${(at * 7919) % 1000}`);
    const sorted = sortBy(many, (name) => name, true);
    expect([sorted[0], sorted.at(-1)]).toEqual(["op999", "op0"]);
  });
});
