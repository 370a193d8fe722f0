import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  addressOf,
  addressRange,
  describeLayout,
  distinctAddresses,
  type Index,
  indicesAt,
  isContiguous,
  type Layout,
  reaches,
  spellAddress,
} from "./strides.js";

/** Every index of a layout, by brute force. */
function allIndices(layout: Layout): Index[] {
  return layout.shape.reduce<Index[]>(
    (indices, size) =>
      indices.flatMap((index) => Array.from({ length: size }, (_, i) => [...index, i])),
    [[]],
  );
}

const layouts = fc
  .array(fc.tuple(fc.nat({ max: 4 }), fc.nat({ max: 7 })), { maxLength: 4 })
  .chain((dims) =>
    fc.nat({ max: 9 }).map(
      (offset): Layout => ({
        shape: dims.map(([size]) => size),
        strides: dims.map(([, stride]) => stride),
        offset,
      }),
    ),
  );

const matrix: Layout = { shape: [3, 4], strides: [4, 1], offset: 3 };
const scalar: Layout = { shape: [], strides: [], offset: 3 };
const hollow: Layout = { shape: [2, 0, 3], strides: [3, 3, 1], offset: 5 };
const windows: Layout = { shape: [4, 3], strides: [1, 1], offset: 0 };
const expanded: Layout = { shape: [5, 3], strides: [0, 1], offset: 0 };
const nine: Layout = {
  shape: [1, 2, 1, 3, 1, 2, 1, 1, 2],
  strides: [24, 12, 12, 4, 4, 2, 2, 2, 1],
  offset: 7,
};

describe("the address of an index", () => {
  test("is spelled as index times stride plus offset", () => {
    expect(spellAddress(matrix, [2, 1])).toBe("2·4 + 1·1 + offset 3 = 12");
  });
  test("of a 0-d tensor is its offset", () => {
    expect(spellAddress(scalar, [])).toBe("offset 3 = 3");
    expect(indicesAt(scalar, 3, 5)).toEqual([[]]);
    expect(indicesAt(scalar, 2, 5)).toEqual([]);
  });
  test("of a 9-d tensor adds nine products", () => {
    expect(addressOf(nine, [0, 1, 0, 2, 0, 1, 0, 0, 1])).toBe(7 + 12 + 8 + 2 + 1);
    expect(spellAddress(nine, [0, 1, 0, 2, 0, 1, 0, 0, 1]).split("+")).toHaveLength(10);
  });
});

describe("the addresses of a tensor", () => {
  test("are none when a dimension is empty", () => {
    expect(addressRange(hollow)).toBeNull();
    expect(distinctAddresses(hollow)).toBe(0);
    expect(reaches(hollow, 5)).toBe(false);
    expect(isContiguous(hollow)).toBe(true);
  });
  test("are shared by overlapping windows", () => {
    expect(distinctAddresses(windows)).toBe(6);
    expect(indicesAt(windows, 2, 10)).toHaveLength(3);
    expect(describeLayout(windows)).toBe(
      "Not contiguous: 12 indices share 6 addresses.",
    );
  });
  test("are shared by all rows of an expanded tensor", () => {
    expect(distinctAddresses(expanded)).toBe(3);
    expect(indicesAt(expanded, 1, 10)).toHaveLength(5);
  });
  test("are counted without enumerating a huge expanded tensor", () => {
    const huge: Layout = { shape: [2 ** 31, 2 ** 40], strides: [0, 0], offset: 8 };
    expect(distinctAddresses(huge)).toBe(1);
    expect(indicesAt(huge, 8, 2)).toHaveLength(2);
  });
  test("give up on a layout that would take for ever, without an answer", () => {
    const wide: Layout = { shape: [1e6, 1e6], strides: [2, 2], offset: 0 };
    expect(distinctAddresses(wide)).toBeNull();
    expect(indicesAt(wide, 1, 1)).toEqual([]);
  });
});

describe("a layout in words", () => {
  test("names a transposed tensor dense but permuted", () => {
    const transposed: Layout = { shape: [3, 2], strides: [1, 3], offset: 0 };
    expect(describeLayout(transposed)).toMatch(/permuted/);
  });
  test("counts what a step skips", () => {
    const stepped: Layout = { shape: [4], strides: [3], offset: 1 };
    expect(describeLayout(stepped)).toBe(
      "Not contiguous: 6 of 10 addresses are skipped.",
    );
  });
});

test("indicesAt finds exactly the indices that brute force finds", () => {
  fc.assert(
    fc.property(layouts, fc.nat({ max: 60 }), (layout, address) => {
      const expected = allIndices(layout).filter(
        (index) => addressOf(layout, index) === address,
      );
      const sorted = (indices: readonly Index[]) => indices.map(String).sort();
      expect(sorted(indicesAt(layout, address, 1000))).toEqual(sorted(expected));
    }),
  );
});

test("range and distinct count agree with brute force", () => {
  fc.assert(
    fc.property(layouts, (layout) => {
      const addresses = allIndices(layout).map((index) => addressOf(layout, index));
      expect(distinctAddresses(layout)).toBe(new Set(addresses).size);
      expect(addressRange(layout)).toEqual(
        addresses.length === 0
          ? null
          : { low: Math.min(...addresses), high: Math.max(...addresses) },
      );
    }),
  );
});
