import { describe, expect, test } from "vitest";
import { otherText, overlapOf } from "./picture.js";
import type { Layout } from "./strides.js";
import cases from "./what-if.cases.json";
import { applyStep, presets } from "./what-if.js";
import { splitSteps } from "./what-if-parse.js";

// What PyTorch gives for the same steps; tests/gradviz/capture/test_what_if_cases.py asks it again.
test.each(cases)("$shape, strides $strides: $step", (given) => {
  const { shape, strides, offset, step, gives } = given;
  const found = applyStep({ shape, strides, offset }, step, 40);
  const flat =
    typeof found === "string" ? null : { ...found.layout, copies: found.copies };
  expect(flat).toEqual(gives);
});

const matrix: Layout = { shape: [4, 3], strides: [3, 1], offset: 0 };

describe("what cannot be is one sentence", () => {
  test.each([
    ["view(5)", "The shape (5) does not hold 12 elements."],
    ["t", 'Write a step as Python would: ".transpose(0, 1)" or "[1:, ::2]".'],
    ["[::-1]", "A slice steps forwards: its step must be above 0."],
    ["[9]", "Index 9 is out of range: dimension 0 has size 4."],
    ["[0, 0, 0]", "There are more indices than dimensions."],
    [".expand(5, 3)", "Only sizes of 1 expand: dimension 0 has 4."],
    [
      ".transpose(0, x)",
      "The arguments of transpose are whole numbers, or lists of them.",
    ],
    [
      ".as_strided((4, 4), (4, 1))",
      "This reaches address 15, but the storage ends at 11.",
    ],
    [".fly()", /^"fly" is not among t, transpose, /],
    ["", /^Write a step/],
  ])("%s", (text, sentence) => {
    expect(applyStep(matrix, text, 12)).toEqual(
      typeof sentence === "string" ? sentence : expect.stringMatching(sentence),
    );
  });

  test("a view that strides cannot say names reshape", () => {
    const turned = { shape: [3, 4], strides: [1, 3], offset: 0 };
    expect(applyStep(turned, ".view(-1)", 12)).toContain("use reshape");
    expect(applyStep(turned, ".reshape(-1)", 12)).toMatchObject({ copies: true });
  });
});

test.each([
  [matrix],
  [{ shape: [], strides: [], offset: 2 }],
  [{ shape: [6], strides: [2], offset: 0 }],
  [{ shape: [2, 1, 2, 1, 2, 2], strides: [8, 8, 4, 4, 2, 1], offset: 0 }],
])("every preset of %j works, but for a view of what is not dense", (layout) => {
  for (const text of presets(layout)) {
    expect(applyStep(layout, text, 40), text).toMatchObject({
      why: expect.any(String),
    });
  }
});

test("several steps in one line are told apart", () => {
  expect(splitSteps(" .t()[1:, 0].as_strided((2, 2), (1, 1))")).toEqual([
    ".t()",
    "[1:, 0]",
    ".as_strided((2, 2), (1, 1))",
  ]);
  expect(splitSteps(".t() + 1")).toEqual([".t() + 1"]);
});

describe("two views of one storage", () => {
  const rows: Layout = { shape: [2, 3], strides: [3, 1], offset: 6 };
  const column: Layout = { shape: [4], strides: [3], offset: 1 };

  test("share the addresses that both reach", () => {
    expect(overlapOf(matrix, rows)).toBe(6);
    expect(overlapOf(rows, column)).toBe(2);
    expect(overlapOf(column, { shape: [2], strides: [3], offset: 0 })).toBe(0);
    expect(overlapOf(matrix, { shape: [0], strides: [1], offset: 0 })).toBe(0);
    const huge: Layout = { shape: [1_000_000], strides: [1], offset: 0 };
    expect(overlapOf(huge, { ...huge, offset: 5 })).toBeNull();
    expect(overlapOf(huge, matrix)).toBe(12);
  });

  test("each spell their own way to an address", () => {
    expect(otherText("column", column, 7)).toBe("column (2): 2·3 + offset 1 = 7");
    expect(otherText("column", column, 8)).toBeNull();
  });
});
