// Snapshots with findings, for the tests of state and panels.
import { parseSnapshot } from "../ir/parse.js";
import type { AnswerStep, Finding, Snapshot } from "../ir/types.js";
import { convolution } from "./snapshots.test-util.js";

const finding: Finding = {
  code: "GV101",
  slug: "inplace-saved-output",
  severity: "error",
  message: "`y.add_(1)` wrote over the result that relu saved.",
  fix: "Write `y = y + 1`.",
  culprit: 1,
  symptom: 2,
  related: [0, 1],
  roles: ["made here"],
  nodes: [2, 1],
  tensors: [3],
  storages: [3],
  edit: [],
  safe: true,
  diff: "--- a/train.py\n+++ b/train.py\n@@ -5 +5 @@\n-y.add_(1)\n+y = y.add(1)",
};

const quiet: Finding = {
  ...finding,
  code: "GV900",
  slug: "worth-knowing",
  severity: "info",
  message: "A lone ` is a character.",
  fix: "",
  culprit: null,
  symptom: null,
  related: [],
  roles: [],
  nodes: [],
  tensors: [],
  storages: [],
  edit: [],
  safe: false,
  diff: "",
};

/** The graph of `convolution` with an error at relu, a warning at the weight, an info. */
export function withFindings(): Snapshot {
  const warning: Finding = {
    ...quiet,
    code: "GV201",
    slug: "unused",
    severity: "warning",
    message: "Nobody uses it.",
    culprit: 0,
    nodes: [0],
    storages: [1],
  };
  return { ...convolution(), findings: [finding, warning, quiet] };
}

/** A program that raised before there was a graph. */
export function onlyFindings(): Snapshot {
  return parseSnapshot({
    format: "gradviz",
    schema: [1, 1],
    producer: "test 1.0",
    notes: ["Nothing was recorded."],
    sites: [{ file: "/home/me/a.py", line: 3, end_line: 3, text: "x = ones(3)" }],
    events: [{ kind: "error", time_ns: 5, text: "RuntimeError: no grad_fn\nmore" }],
    findings: [
      {
        code: "GV301",
        slug: "nothing-requires-grad",
        severity: "error",
        message: "`loss` requires no gradient.",
        culprit: 0,
      },
    ],
  });
}

/** A step of an answer; a gate is the line to change. */
export function answerStep(
  answer: number,
  kind: string,
  site: number | null,
  node: number | null,
): AnswerStep {
  return { answer, kind, sentence: `${kind}.`, site, node, decision: kind === "gate" };
}
