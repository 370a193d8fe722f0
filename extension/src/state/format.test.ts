import { expect, test } from "vitest";
import {
  formatBytes,
  formatCount,
  formatNanoseconds,
  formatNumber,
  formatPercent,
  formatTuple,
} from "./format.js";

test.each([
  [[], "()"],
  [[8], "(8,)"],
  [[8, 1, 3, 3], "(8, 1, 3, 3)"],
])("a shape reads as Python prints it: %j", (shape, text) => {
  expect(formatTuple(shape)).toBe(text);
});

test.each([
  [null, "–"],
  [Number.NaN, "NaN"],
  [Number.POSITIVE_INFINITY, "Inf"],
  [Number.NEGATIVE_INFINITY, "-Inf"],
  [0, "0"],
  [12, "12"],
  [0.0469812, "0.04698"],
  [1e-7, "1e-7"],
  [-1.23456e-5, "-1.235e-5"],
  [12345678, "1.235e7"],
  [1e10, "1e10"],
])("a number keeps four digits: %s", (value, text) => {
  expect(formatNumber(value)).toBe(text);
});

test("percentages never round something to nothing or all", () => {
  expect(formatPercent(1, 1e6)).toBe("< 0.1 %");
  expect(formatPercent(999_999, 1e6)).toBe("> 99.9 %");
  expect(formatPercent(1, 3)).toBe("33.3 %");
  expect(formatPercent(0, 0)).toBe("–");
});

test("counts, bytes and times carry their units", () => {
  expect(formatCount(1234567)).toBe("1,234,567");
  expect(formatBytes(1023)).toBe("1023 B");
  expect(formatBytes(4608)).toBe("4.5 KiB");
  expect(formatNanoseconds(1500)).toBe("1.5 µs");
});
