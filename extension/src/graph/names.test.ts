import { expect, test } from "vitest";
import { parseSnapshot } from "../ir/parse.js";
import type { Site } from "../ir/types.js";
import { buildGraph } from "./build.js";
import { assignedName, codeNames, scopeNames } from "./names.js";
import { search } from "./search.js";

/** The site of a part of a line. */
function site(text: string, part: string): Site {
  const at = text.indexOf(part) + 1;
  return {
    file: "a.py",
    line: 3,
    end_line: 3,
    column: at,
    end_column: at + part.length,
    text,
    function: "f",
    source: null,
  };
}

test.each([
  ["  k = k.transpose(1, 2)", "k.transpose(1, 2)", "k"],
  ["  k = k.view(4).transpose(1, 2)", "k.view(4)", ""],
  ["att = (q @ k) / 4  # scaled", "(q @ k) / 4", "att"],
  ["weights += 0.01", "weights += 0.01", "weights"],
  ["self.state = x.tanh()", "x.tanh()", "state"],
  ["q, k = self.q(x, 1), self.k(x)", "self.q(x, 1)", "q"],
  ["q, k = self.q(x, 1), self.k(x)", "self.k(x)", "k"],
  ["q, k = x.split(2)", "x.split(2)", "q, k"],
  ["return self.out(y)", "self.out(y)", ""],
  ["if x == y.sum():", "y.sum()", ""],
  ["loss = f(x); loss.backward()", "f(x)", "loss"],
])("%s: the name of %s is %o", (text, part, name) => {
  expect(assignedName(site(text, part))).toBe(name);
});

test("of what one expression made, the last node has the name", () => {
  const line = "h = self.fc(x)";
  const snapshot = parseSnapshot({
    format: "gradviz",
    schema: [1, 0],
    producer: "test",
    nodes: ["t", "addmm"].map((call) => ({ name: call, kind: "op", call, site: 0 })),
    edges: [{ source: 0, target: 1, output: 0, input: 0 }],
    sites: [site(line, "self.fc(x)")],
  });
  expect([...codeNames(snapshot)]).toEqual([[1, "h"]]);
  expect(search(buildGraph(snapshot), "h")).toEqual([1]); // as it is written in its box
});

test("the only call of a module goes without its number", () => {
  const scopes = ["net#3", "d#2", "d#3"].map((path) => ({
    path,
    name: path,
    kind: "Net",
    parent: null,
  }));
  const nodes = [0, 1, 2].map((scope) => ({ name: "Mul", kind: "op", scope }));
  const made = parseSnapshot({
    format: "gradviz",
    schema: [1, 0],
    producer: "test",
    nodes,
    scopes,
  });
  expect([...scopeNames(made)]).toEqual([[0, "net"]]);
});
