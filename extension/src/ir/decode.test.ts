import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { decodeSnapshot, parseSnapshot, SnapshotError } from "./decode.js";
import { encodeSnapshot } from "./encode.js";
import { SCHEMA_VERSION, type Snapshot } from "./types.js";

const minimal = { format: "gradviz", schema: [1, 0], producer: "test" };

/** A small snapshot in JSON that uses every kind of field. */
const full = {
  ...minimal,
  title: "ünïcode </script> \u202e",
  roots: [1],
  notes: ["one", "two"],
  nodes: [
    { name: "AccumulateGrad", kind: "accumulate", call: "w", outputs: [0], scope: 1 },
    {
      name: "SumBackward0",
      kind: "op",
      arguments: ["dim=0", "keepdim=False"],
      inputs: [0],
      outputs: [1],
      grad_outputs: [-1, 0],
      elapsed_ns: 3_000_000_000,
      flags: ["freed"],
    },
  ],
  edges: [{ source: 0, output: 0, target: 1, input: 0, tensor: 0, gradient: 0 }],
  tensors: [
    { shape: [2, 3], strides: [3, 1], offset: 0, dtype: "float32", device: "cpu" },
    {
      shape: [],
      strides: [],
      offset: 7,
      dtype: "float32",
      device: "cpu",
      name: "loss",
      requires_grad: true,
      statistics: 0,
    },
  ],
  statistics: [
    {
      count: 6,
      minimum: -1.5,
      maximum: "Infinity",
      norm: "NaN",
      nans: 1,
      first_bad: [0, 2],
    },
  ],
  scopes: [
    { path: "net", name: "net", kind: "Net" },
    { path: "net.fc", name: "fc", kind: "Linear", parent: 0 },
  ],
  sites: [{ file: "a.py", line: 1, end_line: 1, text: "y += 1" }],
  findings: [
    {
      code: "GV101",
      slug: "inplace-saved-output",
      severity: "error",
      message: "`y` was overwritten.",
      culprit: 0,
      related: [0, 0],
      roles: ["saved here", "used here"],
      nodes: [0, 1], // fills its column: no padding follows that could be cut off
    },
  ],
};

function sentenceOf(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    expect(error).toBeInstanceOf(SnapshotError);
    return (error as Error).message;
  }
  return "no error";
}

describe("JSON", () => {
  test("missing fields get their defaults, unknown ones are dropped", () => {
    const snapshot = parseSnapshot({
      ...minimal,
      schema: [SCHEMA_VERSION[0], 99],
      nodes: [{ name: "X", kind: "op", from_the_future: 1 }],
    });
    expect(snapshot.nodes[0]).toMatchObject({ call: "", scope: null, hooks: [] });
    expect(snapshot.nodes[0]).not.toHaveProperty("from_the_future");
    expect(snapshot.edges).toEqual([]);
  });

  test("numbers that are not finite are spelled out", () => {
    const { statistics } = parseSnapshot(full);
    expect(statistics[0]).toMatchObject({
      minimum: -1.5,
      maximum: Number.POSITIVE_INFINITY,
      norm: Number.NaN,
      mean: null,
      first_bad: [0, 2],
    });
  });

  test.each([
    ["not a record", null, "This is not a gradviz snapshot."],
    ["another format", { format: "onnx" }, "This is not a gradviz snapshot."],
    [
      "a newer major version",
      { ...minimal, schema: [2, 0] },
      "The snapshot was written by a newer gradviz (schema 2.0, this one reads 1.6); please update gradviz to open it.",
    ],
    [
      "no version",
      { ...minimal, schema: "1" },
      "The snapshot is damaged: its schema version is missing or not a pair of numbers.",
    ],
    [
      "no producer",
      { ...minimal, producer: undefined },
      "The snapshot is damaged: producer is missing.",
    ],
    [
      "a wrong type",
      { ...minimal, nodes: [{ name: 3, kind: "op" }] },
      "The snapshot is damaged: nodes[0].name should be a text.",
    ],
    [
      "an unknown word",
      { ...minimal, scopes: [], nodes: [{ name: "X", kind: "banana" }] },
      /^The snapshot is damaged: nodes\[0\]\.kind is "banana", which is none of op, /,
    ],
    [
      "a row that does not exist",
      { ...minimal, roots: [3] },
      "The snapshot is damaged: roots[0] is 3, but nodes has length 0.",
    ],
    [
      "a scope inside itself",
      {
        ...minimal,
        scopes: [
          { path: "a", name: "a", kind: "A", parent: 1 },
          { path: "b", name: "b", kind: "B", parent: 0 },
        ],
      },
      "The snapshot is damaged: scopes[0] is inside itself.",
    ],
  ])("%s is refused with a sentence", (_name, json, sentence) => {
    const said = sentenceOf(() => parseSnapshot(json));
    if (typeof sentence === "string") expect(said).toBe(sentence);
    else expect(said).toMatch(sentence);
  });
});

describe("columns", () => {
  const snapshot = parseSnapshot(full);
  const bytes = encodeSnapshot(snapshot);

  test("hold what was written", () => {
    expect(decodeSnapshot(bytes)).toEqual(snapshot);
  });

  test("are read from the middle of a buffer, at any alignment", () => {
    for (let shift = 0; shift < 8; shift++) {
      const shifted = new Uint8Array(bytes.length + shift);
      shifted.set(bytes, shift);
      expect(decodeSnapshot(shifted.subarray(shift))).toEqual(snapshot);
    }
  });

  test("cut short anywhere, they are refused with a sentence", () => {
    for (let length = 0; length < bytes.length; length++) {
      const said = sentenceOf(() => decodeSnapshot(bytes.subarray(0, length)));
      expect(said).toMatch(/^The snapshot is |^This is not a gradviz snapshot\./);
    }
  });

  test("columns that overlap, leave a hole or a rest are refused", () => {
    expect(decodeSnapshot(withSources({ offset: 8 })).sources[0]?.file).toBe("only");
    for (const change of [{ offset: 0 }, { offset: 16, size: 24 }]) {
      expect(sentenceOf(() => decodeSnapshot(withSources(change)))).toBe(
        "The snapshot is damaged: sources.text does not begin where the column before it ends.",
      );
    }
    expect(sentenceOf(() => decodeSnapshot(withSources({ offset: 8, size: 24 })))).toBe(
      "The snapshot is damaged: its columns end before it does.",
    );
  });

  test("more rows than the file can hold are refused before any is made", () => {
    const rows = 1_100_000;
    const huge = withSources({ offset: 4 * rows, size: 8 * rows, rows });
    expect(decodeSnapshot(huge).sources).toHaveLength(rows);
    expect(sentenceOf(() => decodeSnapshot(huge, 3_000))).toMatch(
      /^The snapshot claims 1100000 rows, more than a file of its size holds/,
    );
  });

  test("with any byte changed, they are read or refused, never more", () => {
    fc.assert(
      fc.property(fc.nat(bytes.length - 1), fc.nat(255), (index, value) => {
        const damaged = bytes.slice();
        damaged[index] = value;
        try {
          decodeSnapshot(damaged);
        } catch (error) {
          expect(error).toBeInstanceOf(SnapshotError);
        }
      }),
      { numRuns: 400 },
    );
  });
});

/** Columns of sources whose second column begins at the offset. */
function withSources({ offset = 0, size = 16, rows = 1 }): Uint8Array {
  const file = { kind: "string", dtype: "u32", offset: 0, length: rows };
  const columns = { file, text: { ...file, offset } };
  const header = JSON.stringify({
    schema: SCHEMA_VERSION,
    producer: "test",
    strings: ["only"],
    tables: { sources: { count: rows, columns } },
  });
  const text = header.padEnd(Math.ceil(header.length / 8) * 8);
  const bytes = new Uint8Array(8 + text.length + size);
  bytes.set(new TextEncoder().encode(`GVC1____${text}`));
  new DataView(bytes.buffer).setUint32(4, text.length, true);
  return bytes;
}

const root = fileURLToPath(new URL("../../../", import.meta.url));
const python = join(root, ".venv", "bin", "python");
const hasPython =
  existsSync(python) && existsSync(join(root, "tests", "gradviz", "samples.py"));

describe.skipIf(!hasPython)("files that Python wrote", () => {
  let folder = "";
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "gradviz-"));
    execFileSync(python, ["-m", "tests.gradviz.samples", folder], { cwd: root });
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  test.each(["mlp", "cnn", "hostile", "overwritten", "raised", "empty", "chain"])(
    "%s: JSON and columns hold the same",
    (name) => {
      const json = JSON.parse(
        readFileSync(join(folder, `${name}.gradviz.json`), "utf8"),
      );
      const parsed: Snapshot = parseSnapshot(json);
      expect(decodeSnapshot(readFileSync(join(folder, `${name}.gvc`)))).toEqual(parsed);
    },
  );
});
