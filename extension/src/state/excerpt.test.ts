import { expect, test } from "vitest";
import type { Site } from "../ir/types.js";
import { excerpt } from "./excerpt.js";

const site = (part: Partial<Site>): Site => ({
  file: "a.py",
  line: 1,
  end_line: 1,
  column: null,
  end_column: null,
  text: "",
  function: "",
  source: null,
  ...part,
});

const source = (text: string) => ({ file: "a.py", text, label: null, cell_id: null });

const marked = (lines: ReturnType<typeof excerpt>) =>
  lines.map((line) =>
    line.segments
      .filter((segment) => segment.marked)
      .map((segment) => segment.text)
      .join(""),
  );

test("marks the columns, which count from 1 and end before the last", () => {
  const lines = excerpt(
    site({ line: 2, end_line: 2, column: 5, end_column: 12 }),
    source("one\ny = conv(x) + 1\nthree"),
    1,
  );
  expect(lines.map((line) => line.number)).toEqual([1, 2, 3]);
  expect(marked(lines)).toEqual(["", "conv(x)", ""]);
});

test("columns count characters, not UTF-16 halves", () => {
  const text = 's = "😀"; y = f(x)';
  expect(marked(excerpt(site({ column: 10, end_column: 18, text }), null, 3))).toEqual([
    "y = f(x)",
  ]);
});

test("an expression over several lines is marked without its indentation", () => {
  const text = "y = f(\n    a,\n)";
  const place = site({ line: 7, end_line: 9, column: 5, end_column: 2, text });
  expect(marked(excerpt(place, null, 3))).toEqual(["f(", "a,", ")"]);
});

test("the end of the text is not shown as an empty line", () => {
  expect(excerpt(site({}), source("y = 1\n"), 3)).toHaveLength(1);
});

test("without columns the whole line is marked", () => {
  expect(marked(excerpt(site({ text: "    y = 1" }), null, 0))).toEqual(["y = 1"]);
});

test("the text of the place serves where the source is shorter or missing", () => {
  const place = site({ line: 9, end_line: 9, text: "late()" });
  expect(marked(excerpt(place, source("only one line"), 3))).toEqual(["late()"]);
  expect(excerpt(site({}), null, 3)).toEqual([]);
});
