import { expect, test } from "vitest";
import { selectedExpression } from "./selection.js";

const LINES = ["loss = net.fc(x).sum()", "y  = 3"];

function editor(line: number, from: number, to = from, endLine = line) {
  return {
    getLine: (row: number) => LINES[row],
    getCursorPosition: () => ({ line: endLine, column: to }),
    getSelection: () => ({
      start: { line, column: from },
      end: { line: endLine, column: to },
    }),
  };
}

test.each([
  ["the name under the cursor", editor(0, 2), "loss"],
  ["its end counts too", editor(0, 4), "loss"],
  ["a path of attributes", editor(0, 9), "net.fc"],
  ["what is selected", editor(0, 7, 16), "net.fc(x)"],
  ["selected from right to left", editor(0, 16, 7), "net.fc(x)"],
  ["nothing under the cursor", editor(1, 2), ""],
  ["several lines", editor(0, 2, 1, 1), ""],
])("%s", (_, given, expected) => {
  expect(selectedExpression(given)).toBe(expected);
});
