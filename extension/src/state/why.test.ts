import { describe, expect, test } from "vitest";
import type { Answer, Snapshot } from "../ir/types.js";
import { clear, receiveSnapshot, selectNode } from "./actions.js";
import { goToStop, hideAnswer, showAnswer, stepStory } from "./actions-story.js";
import { applyBookmark, writeBookmark } from "./bookmark.js";
import { answerStep } from "./findings.test-util.js";
import { convolution } from "./snapshots.test-util.js";
import { createStore, type Store } from "./store.js";
import { answerStops } from "./story.js";
import { answerOfModule, answerOfNode } from "./why.js";

const answer = (kind: string, names: string[], verdict: string): Answer => ({
  names,
  kind,
  question: "learns",
  verdict,
  finding: "",
});

const leafOf = ({ nodes }: Snapshot) =>
  nodes.findIndex(({ kind }) => kind === "accumulate");

/** A leaf of a convolution, its loss and its module, each with an answer. */
function answered(): Snapshot {
  const snapshot = convolution();
  const names = ["conv.other", snapshot.nodes[leafOf(snapshot)]?.call ?? ""];
  const site = snapshot.nodes[snapshot.roots[0] ?? 0]?.site ?? null;
  return {
    ...snapshot,
    answers: [
      answer("parameter", names, "conv.other has no gradient."),
      answer("loss", ["loss"], "loss teaches 1 of 2 parameters."),
      answer("module", ["conv.sub", "head"], "conv.sub learns."),
    ],
    answer_steps: [
      answerStep(0, "use", site, null),
      answerStep(0, "gate", null, 2),
      answerStep(0, "state", null, null),
      answerStep(1, "term", site, null),
    ],
  };
}

function shown(): Store {
  const store = createStore();
  receiveSnapshot(store, answered());
  store.ui.settled.value = true;
  return store;
}

describe("an answer is found", () => {
  test("for a parameter, which takes the first one's place in the verdict", () => {
    const snapshot = answered();
    const leaf = leafOf(snapshot);
    const name = snapshot.nodes[leaf]?.call;
    expect(answerOfNode(snapshot, leaf)).toEqual({
      id: 0,
      verdict: `${name} has no gradient.`,
    });
  });

  test("for a term and a root of the only loss, not for other nodes", () => {
    const snapshot = answered();
    const [root = -1] = snapshot.roots;
    expect(answerOfNode(snapshot, root)?.id).toBe(1);
    const elsewhere = snapshot.nodes.findIndex(
      ({ kind, site }, row) =>
        kind === "op" && row !== root && site !== snapshot.nodes[root]?.site,
    );
    if (elsewhere >= 0) expect(answerOfNode(snapshot, elsewhere)).toBeNull();
    expect(answerOfNode(convolution(), root)).toBeNull();
    expect(answerOfNode(snapshot, 10_000)).toBeNull();
  });

  test("for a module, by its path behind the model's name", () => {
    const snapshot = answered();
    expect(answerOfModule(snapshot, "Net.head")).toEqual({
      id: 2,
      verdict: "head learns.",
    });
    expect(answerOfModule(snapshot, "Net")).toBeNull();
    expect(answerOfModule(snapshot, "Net.other")).toBeNull();
  });
});

describe("the story of an answer", () => {
  test("has all its steps, those without a line too", () => {
    const stops = answerStops(answered(), 0);
    expect(stops.map(({ sentence, isBirth }) => [sentence, isBirth])).toEqual([
      ["use.", false],
      ["gate.", true],
      ["state.", false],
    ]);
    expect(stops[1]?.nodes).toEqual([2]);
    expect(answerStops(answered(), 9)).toEqual([]);
  });

  test("is told beside the inspector, and ends with Esc or another node", () => {
    const store = shown();
    const { ui, derived } = store;
    selectNode(store, leafOf(answered()));
    showAnswer(store, 0);
    expect(ui.selection.value).toEqual({ kind: "node", id: leafOf(answered()) });
    stepStory(store, 1);
    goToStop(store, 1);
    expect(ui.selection.value).toEqual({ kind: "node", id: 2 });
    expect(ui.pane.value).toBe("inspector");
    expect(derived.announcement.value).toContain("Stop 2 of 3");
    expect(derived.storyMarks.value.stops.get(2)?.number).toBe(2);
    clear(store);
    expect([ui.answer.value, ui.stop.value]).toEqual([0, null]);
    clear(store);
    expect(derived.story.value).toEqual([]);
    showAnswer(store, 0);
    selectNode(store, 2);
    expect(ui.answer.value).toBeNull();
    showAnswer(store, 1);
    hideAnswer(store);
    expect(ui.answer.value).toBeNull();
  });

  test("comes back with an address", () => {
    const store = shown();
    showAnswer(store, 0);
    goToStop(store, 1);
    const again = shown();
    applyBookmark(again, writeBookmark(store));
    expect([again.ui.answer.value, again.ui.stop.value]).toEqual([0, 1]);
    expect(again.ui.pane.value).toBe("inspector");
  });
});
