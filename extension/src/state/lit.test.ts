import { expect, test } from "vitest";
import { parseSnapshot } from "../ir/parse.js";
import { litBy } from "./lit.js";

const CELL = "def f(x):\n    return x.exp()\ny = f(x)\n\nz = (y +\n     1)";

const site = (line: number, end_line = line) => ({
  file: "/tmp/ipykernel_1/2.py",
  line,
  end_line,
  source: 0,
});
const node = (row: number, stack: number[] = []) => ({
  name: "N",
  kind: "op",
  site: row,
  stack,
});
const snapshot = parseSnapshot({
  format: "gradviz",
  schema: [1, 0],
  producer: "test",
  nodes: [node(0, [1]), node(2), node(2), node(3)],
  sites: [site(2), site(3), site(5, 6), { ...site(1), file: "/w/net/a.py", source: 1 }],
  sources: [
    { file: "/tmp/ipykernel_1/2.py", text: CELL, cell_id: "c1", label: "Cell In[3]" },
    { file: "/w/net/a.py", text: "w = v * 2" },
  ],
});
const inCell = (line: number, text = CELL.split("\n")[line - 1] ?? "") =>
  litBy(snapshot, { cell_id: "c1", file: null, line, text })?.words ?? null;
const inFile = (file: string) =>
  litBy(snapshot, { cell_id: null, file, line: 1, text: "w = v * 2" })?.nodes ?? null;

test("a line lights what it made, any line of an expression all of it", () => {
  expect(inCell(2)).toBe("1 node from line 2");
  expect([inCell(5), inCell(6)]).toEqual([
    "2 nodes from line 5",
    "2 nodes from line 6",
  ]);
});

test("a line that only calls lights what the call made", () => {
  expect(inCell(3)).toBe("1 node from line 3");
});

test("an empty line, an edited one, another cell light nothing", () => {
  expect([inCell(4), inCell(1), inCell(2, "return x.log()")]).toEqual([
    null,
    null,
    null,
  ]);
  const place = { cell_id: "c2", file: null, line: 2, text: "    return x.exp()" };
  expect(litBy(snapshot, place)).toBeNull();
});

test("a file is known by the end of its path", () => {
  expect([inFile("net/a.py"), inFile("a.py"), inFile("t/a.py")]).toEqual([
    [3],
    [3],
    null,
  ]);
});
