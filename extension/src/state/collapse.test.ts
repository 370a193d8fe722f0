import { expect, test } from "vitest";
import { parseSnapshot } from "../ir/parse.js";
import type { OpNode } from "../ir/types.js";
import {
  carryCollapsed,
  hidingScope,
  initiallyCollapsed,
  scopeChain,
  startingNodes,
} from "./collapse.js";

const EMPTY = { format: "gradviz", schema: [1, 0], producer: "test" };

/** net { block.0 { 50 nodes }, block.1 { 50 nodes } }, and one node outside. */
function blocks() {
  const node = (scope: number | null) => ({ name: "Mul", kind: "op", scope });
  return parseSnapshot({
    format: "gradviz",
    schema: [1, 0],
    producer: "test",
    scopes: [
      { path: "net", name: "net", kind: "Net" },
      { path: "net.0", name: "0", kind: "Block", parent: 0 },
      { path: "net.1", name: "1", kind: "Block", parent: 0 },
    ],
    nodes: [...Array.from({ length: 100 }, (_, i) => node(i < 50 ? 1 : 2)), node(null)],
  });
}

const rows = (nodes: readonly OpNode[], ...ids: readonly number[]) =>
  ids.flatMap((id) => nodes[id] ?? []);

test("a graph within the budget opens fully", () => {
  const { nodes, scopes } = blocks();
  expect(initiallyCollapsed(nodes, scopes, 101)).toEqual(new Set());
});

test("scopes open level by level, siblings together, while the boxes fit", () => {
  const { nodes, scopes } = blocks();
  expect(initiallyCollapsed(nodes, scopes, 10)).toEqual(new Set([1, 2]));
  expect(initiallyCollapsed(nodes, scopes, 60)).toEqual(new Set([1, 2]));
});

test("the calls of a module open alike, and one node is not worth a frame", () => {
  const parts = (net: string, parent: number, up: number) => [
    { path: `${net}.up`, name: "up", kind: "Up", parent },
    { path: `${net}.act`, name: "act", kind: "Tanh", parent },
    { path: `${net}.up.deep`, name: "deep", kind: "Deep", parent: up },
  ];
  const scopes = [
    { path: "net", name: "net", kind: "Net", parent: null },
    { path: "net#2", name: "net#2", kind: "Net", parent: null },
    ...parts("net", 0, 2),
    ...parts("net#2", 1, 5),
  ];
  const inside = [2, 5].flatMap((up) => [
    ...Array(9).fill(up),
    up + 1,
    ...Array(30).fill(up + 2),
  ]);
  const nodes = inside.map((scope) => ({ name: "Mul", kind: "op", scope }));
  const made = parseSnapshot({ ...EMPTY, scopes, nodes });
  const closed = (budget: number, start: readonly number[] = []) =>
    initiallyCollapsed(made.nodes, made.scopes, budget, rows(made.nodes, ...start));
  expect(closed(22)).toEqual(new Set([3, 4, 6, 7])); // both "up" are open
  expect(closed(21)).toEqual(new Set([2, 3, 4, 5, 6, 7])); // not one without the other
  expect(closed(21, [0])).toEqual(new Set([3, 4, 5, 6, 7])); // but where reading begins
});

test("a model that is one scope of many parts opens up to a limit", () => {
  const model = (parts: number) => {
    const nodes = Array.from({ length: parts }, () => ({
      name: "Mul",
      kind: "op",
      scope: 0,
    }));
    const scopes = [{ path: "net", name: "net", kind: "Net" }];
    return parseSnapshot({
      format: "gradviz",
      schema: [1, 0],
      producer: "test",
      nodes,
      scopes,
    });
  };
  const closed = (parts: number) => {
    const { nodes, scopes } = model(parts);
    return initiallyCollapsed(nodes, scopes, 40);
  };
  expect(closed(120)).toEqual(new Set());
  expect(closed(5000)).toEqual(new Set([0]));
});

test("scopes around the nodes to start with open first", () => {
  const { nodes, scopes } = blocks();
  expect(initiallyCollapsed(nodes, scopes, 60, rows(nodes, 70))).toEqual(new Set([1]));
  expect(initiallyCollapsed(nodes, scopes, 10, rows(nodes, 70))).toEqual(
    new Set([1, 2]),
  );
});

test("reading starts at the first NaN, then at the roots", () => {
  const node = (row: number) => ({ name: "Mul", kind: "op", grad_outputs: [row] });
  const recorded = (nans: number) =>
    parseSnapshot({
      format: "gradviz",
      schema: [1, 0],
      producer: "test",
      nodes: [node(0), node(1), node(1)],
      statistics: [{ count: 4 }, { count: 4, nans }],
      roots: [2],
    });
  expect(startingNodes(recorded(3))).toEqual([1, 2]);
  expect(startingNodes(recorded(0))).toEqual([2]);
});

test("the outermost closed scope is the one that hides", () => {
  const { scopes } = blocks();
  expect(scopeChain(scopes, 2)).toEqual([0, 2]);
  expect(hidingScope(scopes, new Set([0, 2]), 2)).toBe(0);
  expect(hidingScope(scopes, new Set([1]), 2)).toBeNull();
});

test("a chain of parents that bites its own tail ends", () => {
  const scope = (parent: number) => ({ path: "a", name: "a", kind: "A", parent });
  expect(scopeChain([scope(1), scope(0)], 0)).toEqual([1, 0]);
});

test("closed scopes follow their path into a new snapshot", () => {
  const { scopes } = blocks();
  const before = parseSnapshot({ ...EMPTY, scopes });
  const bare = scopes.map((scope) => ({ ...scope, parent: null }));
  const after = parseSnapshot({ ...EMPTY, scopes: bare.reverse() });
  expect(carryCollapsed(before, new Set([0]), after)).toEqual(new Set([2]));
});

test("what is folded stays closed at first, unless reading begins in there", () => {
  const { nodes, scopes } = blocks();
  const isFolded = (scope: number) => scope === 1;
  expect(initiallyCollapsed(nodes, scopes, 60, [], isFolded)).toEqual(new Set([1]));
  expect(initiallyCollapsed(nodes, scopes, 60, rows(nodes, 3), isFolded)).toEqual(
    new Set([2]),
  );
});
