import { describe, expect, test } from "vitest";
import { arrange } from "./arrange.js";
import { expectGood } from "./checks.test-util.js";
import {
  localGraph,
  parseGraph,
  type TestGraph,
  uniformSizes,
} from "./graphs.test-util.js";
import { layout, type Placement } from "./index.js";
import type { LocalGraph } from "./local.js";
import { PointList } from "./point-list.js";
import { Repeats } from "./repeats.js";
import { DEFAULT_OPTIONS } from "./types.js";

/** Two blocks alike, of a weight, a product and a sum with a shortcut. */
const BLOCKS =
  "P[] Q[] a P.v P.w P.m P.s Q.n Q.o Q.k Q.t z v>m w>m m>s a>m a>s s>k n>k o>k k>t s>t t>z";

describe("levels that are alike", () => {
  const inside = (test: TestGraph, placement: Placement, names: string) =>
    Array.from(names, (name) => {
      const item = test.names.indexOf(name);
      const around = test.graph.parent[item] ?? -1;
      const { x, y } = placement;
      return [
        (x[item] ?? 0) - (x[around] ?? 0),
        (y[item] ?? 0) - (y[around] ?? 0),
      ] as const;
    });

  test("look alike, and their edges run where their boxes are", () => {
    const blocks = parseGraph(BLOCKS);
    const placement = layout(blocks.graph, uniformSizes(blocks.graph));
    expect(inside(blocks, placement, "vwms")).toEqual(
      inside(blocks, placement, "nokt"),
    );
    expectGood(blocks.graph, placement);
  });

  test("look as they would alone where one box is larger", () => {
    const blocks = parseGraph(BLOCKS);
    const sizes = uniformSizes(blocks.graph);
    sizes.width[blocks.names.indexOf("k")] = 300;
    const placement = layout(blocks.graph, sizes);
    expect(inside(blocks, placement, "vwms")).not.toEqual(
      inside(blocks, placement, "nokt"),
    );
    expectGood(blocks.graph, placement);
  });
});

describe("a level is arranged anew", () => {
  const graph = localGraph("a>b b>c a>c");
  const timesMade = (other: LocalGraph) => {
    const repeats = new Repeats();
    let made = 0;
    const make = (level: LocalGraph) => () => {
      made++;
      return arrange(level, DEFAULT_OPTIONS, 0, new PointList());
    };
    repeats.find(graph, make(graph));
    repeats.find(other, make(other));
    return made;
  };

  test("not where all is the same", () => {
    expect(timesMade(localGraph("a>b b>c a>c"))).toBe(1);
  });

  test("where the edges or their number differ", () => {
    expect(timesMade(localGraph("a>b b>c"))).toBe(2);
    expect(timesMade(localGraph("a>b a>c b>c"))).toBe(2);
  });

  test.each([
    ["width", new Float64Array([80, 81, 80])],
    ["height", new Float64Array([40, 41, 40])],
    ["pin", new Int8Array([-1, 0, 0])],
    ["computed", new Uint8Array([1, 0, 0])],
    ["fixed", new Uint8Array([0, 0, 1])],
    ["previousX", new Float64Array([3, 2, 1])],
    ["sourceOffset", new Float64Array([0, 4, 0])],
    ["targetOffset", new Float64Array([0, 4, 0])],
    ["bundle", new Int32Array([0, 1, 2])],
  ])("where the %s differs", (name, values) => {
    expect(timesMade({ ...graph, [name]: values })).toBe(2);
  });
});
