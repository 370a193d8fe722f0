import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { buildGraph, rowOf } from "./build.js";
import { collapse, type VisibleGraph } from "./collapse.js";
import { cycleSentence, findCycle } from "./cycle.js";
import { search } from "./search.js";
import { bare, twoLayers } from "./snapshots.test-util.js";

const graph = buildGraph(twoLayers());

function edgesOf(visible: VisibleGraph): string[] {
  const name = (item: number) =>
    (visible.node[item] ?? -1) >= 0
      ? `${visible.node[item]}`
      : `[${visible.scope[item]}]`;
  return Array.from(
    visible.source,
    (from, edge) => `${name(from)}>${name(visible.target[edge] ?? -1)}`,
  );
}

describe("adjacency", () => {
  test("lists the edges in and out of a node", () => {
    expect(Array.from(rowOf(graph.incoming, 4))).toEqual([2, 3]);
    expect(Array.from(rowOf(graph.outgoing, 4))).toEqual([4]);
    expect(Array.from(rowOf(graph.incoming, 0))).toEqual([]);
  });

  test("counts the nodes in a scope at any depth", () => {
    expect(Array.from(graph.scopeSize)).toEqual([5, 2, 2, 0]);
  });
});

describe("collapse", () => {
  test("a closed scope is one box with the edges of what it hides", () => {
    expect(edgesOf(collapse(graph, new Set([1, 2])))).toEqual([
      "[1]>2",
      "2>[2]",
      "[2]>5",
    ]);
  });

  test("an outer closed scope hides the inner ones", () => {
    const visible = collapse(graph, new Set([0, 1]));
    expect(edgesOf(visible)).toEqual(["[0]>5"]);
    expect(visible.itemOfScope[2]).toBe(visible.itemOfScope[0]);
    expect(visible.itemOfNode[3]).toBe(visible.itemOfScope[0]);
  });

  test("scopes without nodes do not appear", () => {
    expect(collapse(graph, new Set()).itemOfScope[3]).toBe(-1);
  });

  test("an edge from a node to itself stays; one inside a closed scope goes", () => {
    const loop = buildGraph(bare(1, [[0, 0]]));
    expect(edgesOf(collapse(loop, new Set()))).toEqual(["0>0"]);
  });

  const scopes = fc.array(fc.nat(1000), { minLength: 1, maxLength: 6 });
  const nodes = fc.array(fc.nat(1000), { minLength: 1, maxLength: 20 });
  const pairs = fc.array(fc.tuple(fc.nat(1000), fc.nat(1000)), { maxLength: 40 });
  const random = fc.tuple(scopes, nodes, pairs).map(([outer, inner, ends]) => {
    const count = inner.length;
    return buildGraph(
      bare(
        count,
        ends.map(([a, b]) => [a % count, b % count] as const),
        {
          scopes: outer.map((each, i) => ({
            path: `s${i}`,
            name: `s${i}`,
            kind: "M",
            parent: each % (i + 1) === 0 ? null : (each % (i + 1)) - 1,
          })),
          nodes: inner.map((each, i) => ({
            name: `N${i}`,
            kind: "op",
            scope:
              each % (outer.length + 1) === 0 ? null : (each % (outer.length + 1)) - 1,
          })),
        },
      ),
    );
  });

  test("closing and opening again changes nothing", () => {
    fc.assert(
      fc.property(random, fc.array(fc.nat(5)), fc.nat(5), (any, closed, toggled) => {
        const before = new Set(closed.filter((scope) => scope !== toggled));
        const after = new Set([...before, toggled]);
        after.delete(toggled);
        expect(collapse(any, after)).toEqual(collapse(any, before));
      }),
    );
  });

  test("every edge is shown once, or hidden in one closed scope", () => {
    fc.assert(
      fc.property(random, fc.array(fc.nat(5)), (any, closed) => {
        const visible = collapse(any, new Set(closed));
        const shown = new Map<number, number>();
        for (let edge = 0; edge < visible.source.length; edge++) {
          for (const member of rowOf(visible.members, edge)) {
            expect(shown.has(member)).toBe(false);
            shown.set(member, edge);
          }
        }
        for (let edge = 0; edge < any.source.length; edge++) {
          const from = visible.itemOfNode[any.source[edge] ?? -1];
          const to = visible.itemOfNode[any.target[edge] ?? -1];
          const index = shown.get(edge);
          if (index === undefined) {
            expect(from).toBe(to);
            expect(visible.scope[from ?? -1]).toBeGreaterThanOrEqual(0);
          } else {
            expect([visible.source[index], visible.target[index]]).toEqual([from, to]);
          }
        }
      }),
    );
  });

  test("items come after the open scope around them", () => {
    fc.assert(
      fc.property(random, fc.array(fc.nat(5)), (any, closed) => {
        const { parent, open } = collapse(any, new Set(closed));
        parent.forEach((around, item) => {
          expect(around).toBeLessThan(item);
          if (around >= 0) expect(open[around]).toBe(1);
        });
      }),
    );
  });
});

describe("cycles", () => {
  test("a graph of backward() has none", () => {
    expect(findCycle(graph)).toBeNull();
  });

  test("one is named in a sentence", () => {
    const cyclic = buildGraph(
      bare(5, [
        [0, 1],
        [1, 2],
        [2, 3],
        [3, 1],
        [3, 4],
      ]),
    );
    expect([...(findCycle(cyclic) ?? [])].sort()).toEqual([1, 2, 3]);
    expect(cycleSentence(cyclic)).toMatch(
      /^The snapshot is damaged: its data edges run in a cycle of 3 \(N\d → N\d → N\d → N\d\), so/,
    );
  });

  test("a cut edge may close one", () => {
    const edges = [
      { source: 0, target: 1, output: 0, input: 0 },
      { source: 1, target: 0, output: 0, input: 0, kind: "cut" },
    ];
    expect(findCycle(buildGraph(bare(2, [], { edges })))).toBeNull();
  });
});

describe("search", () => {
  test.each([
    ["linear", [1, 4]],
    ["addmm", [1, 4]],
    ["fc2", [3, 4]],
    ["net.fc1", [0, 1]],
    ["64x8", [1, 2, 4]],
    ["[64, 8]", []], // a space separates words: neither is a shape
    ["[64,8]", [1, 2, 4]],
    ["()", [5]],
    ["train.py:12", [4]],
    ["train.py:13", [4]],
    ["train.py:15", []],
    ["in[3]:10", [1]],
    ["has:nan", [3]],
    ["has:bad", [3]],
    ["has:inf", []],
    ["has:hook", [2]],
    ["is:accumulate", [0, 3]],
    ["is:modified", [4]],
    ["grad>10", [2, 4]],
    ["grad<=1e-3", [1]],
    ["grad=12", [2]],
    ["float64", [4]],
    ["linear fc1", [1]],
    ["linear -fc1", [4]],
    ["RELU", [2]],
    ["grad>", []],
    ["", []],
    ["   ", []],
    ["(", []],
  ])("%s", (query, expected) => {
    expect(search(graph, query)).toEqual(expected);
  });

  test("a storage is found where its tensors pass, are kept, or are written", () => {
    const tensor = { shape: [2], strides: [1], offset: 0, dtype: "float32" };
    const extra = {
      nodes: [{ outputs: [0] }, { inputs: [0] }, {}, {}, { outputs: [1] }].map(
        (node, id) => ({ name: `N${id}`, kind: "op", ...node }),
      ),
      tensors: [1, 0].map((storage) => ({ ...tensor, device: "cpu", storage })),
      storages: [0, 1].map(() => ({ nbytes: 8, device: "cpu", itemsize: 4 })),
      saved: [
        {
          node: 2,
          slot: "_saved_self",
          tensor: 0,
          version_saved: 0,
          version_now: 0,
        },
      ],
      writes: [{ storage: 1, version: 1, op: "add_", node: 3 }],
    };
    const shared = buildGraph(bare(5, [], extra));
    expect(search(shared, "storage:1")).toEqual([0, 1, 2, 3]);
    expect(search(shared, "storage:0 -storage:1")).toEqual([4]);
    expect(search(shared, "storage:x")).toEqual([]);
  });
});
