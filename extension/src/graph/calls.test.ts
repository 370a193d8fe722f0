import { expect, test } from "vitest";
import { parseSnapshot } from "../ir/parse.js";
import { layersOf } from "./calls.js";

/** net: two ops of line 0 in a layer, two of lines 0 and 1 in another, a cut in net. */
function made() {
  const at = (scope: number, site: number | null, kind = "op") => {
    return { name: "MulBackward0", kind, scope, site };
  };
  return parseSnapshot({
    format: "gradviz",
    schema: [1, 0],
    producer: "test",
    sites: [0, 1].map((line) => ({ file: "a.py", line: line + 1, end_line: line + 1 })),
    scopes: [
      { path: "net", name: "net", kind: "Net" },
      { path: "net.fc", name: "fc", kind: "Linear", parent: 0 },
      { path: "net.own", name: "own", kind: "Own", parent: 0 },
      { path: "net.lost", name: "lost", kind: "Lost", parent: 0 },
    ],
    nodes: [
      { name: "AccumulateGrad", kind: "accumulate", scope: 1 },
      at(1, 0),
      at(1, 0),
      at(2, 0),
      at(2, 1),
      at(0, 0, "cut"),
      at(3, null),
    ],
  });
}

test("a layer is what one expression called and calls no module; its result is its last op", () => {
  expect([...layersOf(made())]).toEqual([[1, { result: 2, core: 2 }]]);
});
