// The processes of one training as rows: equal ones folded, odd ones first.
import { expect, test } from "vitest";
import { parseSnapshot } from "../ir/parse.js";
import { rankRows, spans } from "./ranks.js";

function training(processes: readonly object[], kept: readonly number[]) {
  return parseSnapshot({
    format: "gradviz",
    schema: [1, 3],
    producer: "test",
    flow_steps: kept.map((rank) => ({ number: 0, rank })),
    processes,
  });
}

test("of many processes the equal ones share a row, which comes last", () => {
  const processes = Array.from({ length: 40 }, (_, rank) => ({
    rank,
    steps: 64,
    like: rank === 3 || rank === 0 ? null : 0,
    state: rank === 3 || rank === 17 ? "differs" : "",
  }));
  const lost = { rank: 40, state: "no file" };
  const rows = rankRows(training([...processes, lost], [0, 3]));
  expect(rows.map(({ label, steps, shown }) => [label, steps, shown])).toEqual([
    ["3 and 17", "64", 3],
    ["40", "", null],
    ["the other 38", "64", 0],
  ]);
});

test("a few processes have a row each, in order", () => {
  const processes = [
    { rank: 0, steps: 23 },
    { rank: 1, steps: 3, state: "stopped after 3 of 23 steps" },
  ];
  const rows = rankRows(training(processes, [0, 1]));
  expect(rows.map(({ label, state }) => [label, state])).toEqual([
    ["0", ""],
    ["1", "stopped after 3 of 23 steps"],
  ]);
  expect(rankRows(training([{ rank: 0 }], [0]))).toEqual([]);
});

test("ranks are listed in runs", () => {
  expect(spans([0, 1, 2, 4])).toBe("0–2 and 4");
  expect(spans([7])).toBe("7");
  const even = Array.from({ length: 20 }, (_, at) => 2 * at);
  expect(spans(even)).toBe("0, 2, 4, 6, 8, 10 and 14 more");
});
