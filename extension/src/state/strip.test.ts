import fc from "fast-check";
import { expect, test } from "vitest";
import { buildPicture, indicesText } from "./picture.js";
import { axisWindow, gridWindow, stripItems } from "./strip.js";

const LIMITS = { rows: 6, columns: 6 };

test("a long axis keeps its head and its last two positions", () => {
  expect(axisWindow(100, 6)).toEqual([
    { kind: "at", at: 0 },
    { kind: "at", at: 1 },
    { kind: "at", at: 2 },
    { kind: "gap", count: 95 },
    { kind: "at", at: 98 },
    { kind: "at", at: 99 },
  ]);
});

test("the grid of a 0-d tensor is one cell, of a 1-d tensor one row", () => {
  const scalar = gridWindow({ shape: [], strides: [], offset: 2 }, [], LIMITS);
  expect([scalar.rows.length, scalar.columns.length]).toEqual([1, 1]);
  expect(scalar.indexOf(0, 0)).toEqual([]);
  const vector = gridWindow({ shape: [4], strides: [1], offset: 0 }, [], LIMITS);
  expect([vector.rows.length, vector.columns.length]).toEqual([1, 4]);
  expect(vector.indexOf(0, 3)).toEqual([3]);
});

test("leading indices are clamped into the shape", () => {
  const layout = { shape: [2, 3, 4], strides: [12, 4, 1], offset: 0 };
  expect(gridWindow(layout, [9], LIMITS).indexOf(2, 1)).toEqual([1, 2, 1]);
});

test("an empty dimension anywhere leaves no cells", () => {
  for (const shape of [
    [0, 2, 2],
    [2, 0, 2],
    [2, 2, 0],
  ]) {
    const grid = gridWindow({ shape, strides: [4, 2, 1], offset: 0 }, [], LIMITS);
    expect(grid.rows.length * grid.columns.length).toBe(0);
  }
});

test("the strip covers every address of the storage exactly once", () => {
  const addresses = fc.uniqueArray(fc.nat({ max: 99 }), { maxLength: 12 });
  fc.assert(
    fc.property(addresses, fc.integer({ min: 1, max: 100 }), (found, size) => {
      const sorted = [...found].sort((a, b) => a - b);
      const items = stripItems(sorted, size);
      let next = 0;
      for (const item of items) {
        expect(item.kind === "cell" ? item.address : item.from).toBe(next);
        next += item.kind === "cell" ? 1 : item.count;
      }
      expect(next).toBe(size);
      const cells = items.flatMap((item) =>
        item.kind === "cell" ? [item.address] : [],
      );
      expect(cells).toEqual(
        expect.arrayContaining(sorted.filter((address) => address < size)),
      );
    }),
  );
});

test("a step of two marks every second cell as skipped", () => {
  const layout = { shape: [3], strides: [2], offset: 0 };
  const { strip } = buildPicture(layout, [], [], 6, LIMITS);
  expect(strip.map((item) => item.kind === "cell" && item.cell.state)).toEqual([
    "slice",
    "skipped",
    "slice",
    "skipped",
    "slice",
    "skipped",
  ]);
});

test("an expanded row is shared and other views are named by position", () => {
  const layout = { shape: [2, 2], strides: [0, 1], offset: 0 };
  const other = { shape: [2], strides: [1], offset: 1 };
  const { strip } = buildPicture(layout, [], [other], 3, LIMITS);
  const cells = strip.flatMap((item) => (item.kind === "cell" ? [item.cell] : []));
  expect(cells.map((cell) => cell.shared)).toEqual([true, true, false]);
  expect(cells.map((cell) => cell.others)).toEqual([[], [0], [0]]);
  expect(indicesText(layout, 1)).toBe("(0, 1), (1, 1)");
});

test("a 9-d tensor draws the slice that its seven leading indices pick", () => {
  const layout = {
    shape: [2, 1, 1, 1, 1, 1, 1, 2, 2],
    strides: [4, 4, 4, 4, 4, 4, 4, 2, 1],
    offset: 0,
  };
  const { strip } = buildPicture(layout, [1, 0, 0, 0, 0, 0, 0], [], 8, LIMITS);
  const states = strip.map((item) => item.kind === "cell" && item.cell.state);
  expect(states).toEqual([...Array(4).fill("tensor"), ...Array(4).fill("slice")]);
});
