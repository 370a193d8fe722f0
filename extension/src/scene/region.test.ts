import fc from "fast-check";
import { expect, test } from "vitest";
import { parseSnapshot } from "../ir/parse.js";
import type { TensorMeta } from "../ir/types.js";
import { regionOf, regionPicture, regionText } from "./region.js";

function meta(shape: number[], strides: number[], offset = 0): TensorMeta {
  const tensor = { shape, strides, offset, dtype: "float32", device: "cpu" };
  const head = { format: "gradviz", schema: [1, 2], producer: "test" };
  const [parsed] = parseSnapshot({ ...head, tensors: [tensor] }).tensors;
  if (parsed === undefined) throw new Error("no tensor");
  return parsed;
}

const matrix = meta([4, 3], [3, 1]);

test.each([
  ["x[1:3]", meta([2, 3], [3, 1], 3), "[1:3]"],
  ["x[0]", meta([3], [1], 0), "[0]"],
  ["x[:, 1]", meta([4], [3], 1), "[:, 1]"],
  ["x[2, 1]", meta([], [], 7), "[2, 1]"],
  ["x[::2, 1:]", meta([2, 2], [6, 1], 1), "[:3:2, 1:]"],
  ["x[:]", matrix, "[:]"],
])("%s is read back from strides and offset", (_, view, text) => {
  const region = regionOf(matrix, view);
  expect(region === null ? null : regionText(region)).toBe(text);
});

test("what is no slice is not guessed", () => {
  expect(regionOf(matrix, meta([3, 4], [1, 3]))).toBeNull(); // a transpose
  expect(regionOf(meta([4, 3], [3, 1], 5), meta([2, 3], [3, 1], 2))).toBeNull();
});

test("the picture shows the share that was written", () => {
  const region = regionOf(matrix, meta([2, 3], [3, 1], 3));
  expect(region && regionPicture(region)).toEqual({
    left: 0,
    right: 1,
    top: 0.25,
    bottom: 0.75,
  });
});

test("any slice of any contiguous tensor is found", () => {
  const dimension = fc
    .record({ size: fc.integer({ min: 2, max: 6 }), a: fc.nat(5), b: fc.nat(5) })
    .map(({ size, a, b }) => {
      const [low = 0, high = 0] = [a % size, b % size].sort((x, y) => x - y);
      return { size, start: low, end: high + 1 };
    });
  fc.assert(
    fc.property(fc.array(dimension, { minLength: 1, maxLength: 4 }), (dims) => {
      const shape = dims.map(({ size }) => size);
      const strides = shape.map((_, axis) =>
        shape.slice(axis + 1).reduce((product, size) => product * size, 1),
      );
      const offset = dims.reduce(
        (sum, { start }, axis) => sum + start * (strides[axis] ?? 0),
        0,
      );
      const view = meta(
        dims.map(({ start, end }) => end - start),
        strides,
        offset,
      );
      const spans = regionOf(meta(shape, strides), view)?.spans;
      expect(spans?.map(({ start, end }) => ({ start, end }))).toEqual(
        dims.map(({ start, end }) => ({ start, end })),
      );
    }),
  );
});
