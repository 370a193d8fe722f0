import { describe, expect, test } from "vitest";
import { parseSnapshot } from "../ir/parse.js";
import type { Answer, AnswerStep, Snapshot } from "../ir/types.js";
import { clear, receiveSnapshot, selectNode, showFinding } from "./actions.js";
import { goToStop, stepStory } from "./actions-story.js";
import { applyBookmark, writeBookmark } from "./bookmark.js";
import { answerStep, withFindings } from "./findings.test-util.js";
import { createStore, type Store } from "./store.js";
import { type Stop, stopMarks, storyOf } from "./story.js";
import { buildTables } from "./tables.js";

const brief = ({ place, isBirth, side, nodes }: Stop) => [
  place?.site.line ?? null,
  isBirth,
  side,
  nodes,
];

const tellOf = (snapshot: Snapshot, id = 0) =>
  storyOf(buildTables(snapshot), id).map(brief);

function told(snapshot = withFindings()): Store {
  const store = createStore();
  receiveSnapshot(store, snapshot);
  store.ui.settled.value = true;
  return store;
}

const answer: Answer = {
  names: ["w"],
  kind: "parameter",
  question: "none",
  verdict: "w has no gradient.",
  finding: "GV101",
};

function withAnswers(steps: readonly AnswerStep[]): Snapshot {
  const answers = [answer, { ...answer, names: ["b"] }];
  return { ...withFindings(), answers, answer_steps: steps };
}

/** w ─> log ─> mul ─> neg (the loss); log makes a NaN, and all that follow have it. */
function bornInLog(where: "value" | "gradient"): Snapshot {
  const isValue = where === "value";
  const site = (line: number) => ({
    file: "a.py",
    line,
    end_line: line,
    text: `l${line}`,
  });
  const node = (call: string, row: number, kind = "op") => ({
    name: call,
    kind,
    call,
    sequence: row,
    site: row,
    inputs: row === 0 ? [] : [row - 1],
    outputs: [row],
    grad_outputs: [isValue || row < 1 ? 1 : 0],
  });
  const edge = (source: number) => ({
    source,
    output: 0,
    target: source + 1,
    input: 0,
    tensor: source,
    gradient: isValue || source < 1 ? 1 : 0,
    kind: "data",
  });
  return parseSnapshot({
    format: "gradviz",
    schema: [1, 4],
    producer: "test",
    nodes: [
      { ...node("w", 0, "accumulate"), site: null },
      node("log", 1),
      node("mul", 2),
      node("neg", 3),
    ],
    edges: [edge(0), edge(1), edge(2)],
    tensors: [0, 1, 2, 3].map((row) => ({
      shape: [2],
      strides: [1],
      offset: 0,
      dtype: "float32",
      device: "cpu",
      statistics: isValue && row > 0 ? 1 : 0,
    })),
    statistics: [0, 1].map((nans) => ({ count: 2, nans })),
    sites: [site(1), site(2), site(3), site(4)],
    findings: [
      {
        code: "GV401",
        slug: "log-of-zero",
        severity: "error",
        message: "log of 0",
        culprit: 1,
        nodes: [1],
      },
    ],
    roots: [3],
  });
}

describe("the story of a finding", () => {
  test("is the line to blame, then the other lines, each with its nodes", () => {
    expect(tellOf(withFindings())).toEqual([
      [5, true, null, []],
      [4, false, null, [1]],
      [6, false, null, [1]], // it called what made node 1
    ]);
    expect(tellOf(withFindings(), 2)).toEqual([]);
  });

  test("is the chain of the answer that blames the same line, where one does", () => {
    const snapshot = withAnswers([
      answerStep(0, "gate", 2, 3), // of another line, by the same rule
      answerStep(1, "use", 0, 1),
      answerStep(1, "gate", 1, 2),
      answerStep(1, "state", null, null),
    ]);
    expect(tellOf(snapshot)).toEqual([
      [4, false, "value", [1]],
      [5, true, "gradient", [2]],
      [6, false, null, [1]],
    ]);
  });

  test("goes from the birth of a NaN to the loss, and back to the weights", () => {
    const value = storyOf(buildTables(bornInLog("value")), 0);
    expect(value.map(brief)).toEqual([
      [2, true, "value", [1]],
      [3, false, "value", [2]],
      [4, false, "value", [3]],
      [3, false, "gradient", [2]],
      [null, false, "gradient", [0]],
    ]);
    expect(value.map(({ sentence }) => sentence)).toEqual([
      "log of zero",
      "NaN spreads to 1 value",
      "NaN reaches the loss",
      "NaN goes back in 1 gradient",
      "NaN comes to 1 parameter",
    ]);
    expect(tellOf(bornInLog("gradient"))).toEqual([
      [2, true, "gradient", [1]],
      [null, false, "gradient", [0]],
    ]);
  });

  test("marks a node for the stop that is told, else the birth, else the first", () => {
    const stops = storyOf(buildTables(bornInLog("value")), 0);
    const numbers = (at: number | null) =>
      [...stopMarks(stops, "error", at)]
        .sort()
        .map(([node, { number }]) => [node, number]);
    expect(numbers(null)).toEqual([
      [0, 5],
      [1, 1],
      [2, 2],
      [3, 3],
    ]);
    expect(numbers(3)).toContainEqual([2, 4]);
  });
});

describe("telling it", () => {
  test("goes from stop to stop and no further, with view, pane and words", () => {
    const store = told();
    const { ui, derived } = store;
    expect(derived.storyMarks.value.isTold).toBe(false);
    stepStory(store, 1);
    expect(derived.announcement.value).toBe(
      "Stop 1 of 3, train.py:5, the cause: inplace saved output",
    );
    expect(derived.storyMarks.value.isTold).toBe(true);
    stepStory(store, 1);
    expect(ui.revealRequest.value).toEqual({ nodes: [1] });
    expect(ui.selection.value).toEqual({ kind: "node", id: 1 });
    expect(derived.announcement.value).toBe("Stop 2 of 3, train.py:4: made here");
    stepStory(store, 1);
    stepStory(store, 1);
    expect([ui.stop.value, ui.pane.value]).toEqual([2, "findings"]);
    stepStory(store, -1);
    expect(ui.stop.value).toBe(1);
  });

  test("ends with Esc, another finding, or a look at another node", () => {
    const store = told();
    for (const end of [
      () => clear(store),
      () => showFinding(store, 1),
      () => selectNode(store, 0),
    ]) {
      showFinding(store, 0);
      goToStop(store, 1);
      expect(store.ui.stop.value).toBe(1);
      end();
      expect(store.ui.stop.value).toBeNull();
    }
    expect(store.derived.marks.value.size).toBeGreaterThan(0);
  });

  test("waits for the first picture, and stands in the address", () => {
    const store = createStore();
    receiveSnapshot(store, withFindings());
    expect(store.derived.story.value).toEqual([]);
    store.ui.settled.value = true;
    goToStop(store, 1);
    const other = told();
    applyBookmark(other, writeBookmark(store));
    expect([other.ui.finding.value, other.ui.stop.value]).toEqual([0, 1]);
    expect(other.ui.pane.value).toBe("findings");
    applyBookmark(other, "story=99"); // of another recording: there is no such stop
    expect(other.derived.announcement.value).toContain("Finding 1 of 3");
  });
});
