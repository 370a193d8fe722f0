import { expect, test } from "vitest";
import { buildGraph } from "../graph/build.js";
import type { ColorBy } from "../graph/color-by.js";
import { parseSnapshot } from "../ir/parse.js";
import { PLAIN } from "./tones.js";
import { toneNodes } from "./toning.js";

/** Four ops: 0 and 1 share a storage that was written twice, 2 has one of its own on
 * another device, 3 has no output at all. */
const graph = buildGraph(
  parseSnapshot({
    format: "gradviz",
    schema: [1, 0],
    producer: "test",
    nodes: [
      { name: "Mul", kind: "op", outputs: [0], elapsed_ns: 1000 },
      { name: "View", kind: "view", outputs: [1], elapsed_ns: 4_000_000 },
      { name: "Add", kind: "op", outputs: [2] },
      { name: "Sum", kind: "op" },
    ],
    tensors: [
      { ...tensor("float32", "cpu", 0), statistics: 0 },
      tensor("float32", "cpu", 0),
      tensor("float64", "cuda:0", 1),
    ],
    storages: [
      { nbytes: 64, device: "cpu", itemsize: 4, version: 2 },
      { nbytes: 2048, device: "cuda:0", itemsize: 8 },
    ],
    saved: [
      { node: 0, slot: "a", tensor: 0, version_saved: 0, version_now: 0 },
      { node: 0, slot: "b", tensor: 1, version_saved: 0, version_now: 0 },
      { node: 2, slot: "a", tensor: 2, version_saved: 0, version_now: 0 },
    ],
    statistics: [{ count: 4, minimum: -8, maximum: 2 }],
  }),
);

function tensor(dtype: string, device: string, storage: number) {
  return { shape: [4], strides: [1], offset: 0, dtype, device, storage };
}

const CASES: readonly [ColorBy, string | null, readonly string[]][] = [
  ["value", "largest value, without sign", ["8.0", "no value recorded"]],
  ["dtype", null, ["float32", "float64", "no output"]],
  ["device", null, ["cpu", "cuda:0", "no output"]],
  ["storage", "nodes that share memory", ["storage #0, 64 B", "memory of its own"]],
  [
    "time",
    "time of the backward function",
    ["1 µs", "63.2 µs", "4 ms", "not run, or not timed"],
  ],
  ["memory", "bytes kept for backward", ["64 B", "362 B", "2 KiB", "keeps nothing"]],
  ["version", "times its memory was written in place", ["2", "never written in place"]],
];

test.each(CASES)("colour by %s says what it measures", (colorBy, caption, texts) => {
  const toning = toneNodes(graph, colorBy);
  expect(toning.caption).toBe(caption);
  expect(toning.meanings.map(({ text }) => text)).toEqual(texts);
});

test("nodes that share memory have one colour, the others none", () => {
  const { nodeTone } = toneNodes(graph, "storage");
  expect(nodeTone(0)).toEqual({ kind: "series", index: 0 });
  expect(nodeTone(1)).toBe(nodeTone(0));
  expect(nodeTone(2)).toEqual(PLAIN);
});

test("no colour of a series has two meanings", () => {
  const names = Array.from({ length: 12 }, (_, i) => `device:${i}`);
  const many = parseSnapshot({
    format: "gradviz",
    schema: [1, 0],
    producer: "test",
    nodes: names.map((_, i) => ({ name: "Mul", kind: "op", outputs: [i] })),
    tensors: names.map((name) => ({ ...tensor("float32", name, 0), storage: null })),
  });
  const { meanings, nodeTone } = toneNodes(buildGraph(many), "device");
  expect(meanings.map(({ text }) => text)).toEqual([...names.slice(0, 6), "6 others"]);
  expect(nodeTone(11)).toEqual(nodeTone(6));
});
