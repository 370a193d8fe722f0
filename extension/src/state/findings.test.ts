import { describe, expect, test } from "vitest";
import {
  clear,
  collapseAll,
  receiveSnapshot,
  selectNode,
  setQuery,
  showFinding,
  stepFinding,
} from "./actions.js";
import { countSentence, findingsOfNode, worstOf } from "./findings.js";
import { onlyFindings, withFindings } from "./findings.test-util.js";
import { convolution } from "./snapshots.test-util.js";
import { createStore, type Store } from "./store.js";

function storeWith(snapshot = withFindings()): Store {
  const store = createStore();
  receiveSnapshot(store, snapshot);
  return store;
}

describe("the details of a finding", () => {
  test("join culprit, related lines, nodes, tensors and storages", () => {
    const details = storeWith().derived.finding.value;
    expect(details?.culprit?.label).toBe("train.py:5");
    expect(details?.related.map(({ role, place }) => [role, place.label])).toEqual([
      ["made here", "train.py:4"],
      ["related", "train.py:5"], // a role that was not given
      ["shows here", "train.py:6"],
    ]);
    expect(details?.nodes.map(({ id }) => id)).toEqual([2, 1]);
    expect(details?.tensors.map(({ id }) => id)).toEqual([3]);
    expect(details?.storages.map(({ id }) => id)).toEqual([3]);
  });

  test("take the tensors of the storages where none is named", () => {
    const store = storeWith();
    showFinding(store, 1);
    expect(store.derived.finding.value?.tensors.map(({ id }) => id)).toEqual([1]);
  });

  test("leave out rows that are missing", () => {
    const snapshot = withFindings();
    const [first] = snapshot.findings;
    if (first === undefined) throw new Error("no finding");
    const broken = {
      ...first,
      nodes: [99],
      storages: [99],
      tensors: [99],
      culprit: 99,
    };
    const details = storeWith({ ...snapshot, findings: [broken] }).derived.finding
      .value;
    expect(details).toMatchObject({
      culprit: null,
      nodes: [],
      storages: [],
      tensors: [],
    });
  });

  test("are counted by severity, the worst first", () => {
    const { findings } = withFindings();
    expect(countSentence(findings)).toBe("1 error, 1 warning, 1 info");
    expect(countSentence([...findings, ...findings].slice(1))).toBe(
      "1 error, 2 warnings, 2 info",
    );
    expect([worstOf(findings.slice(1)), worstOf([])]).toEqual(["warning", null]);
  });

  test("are words to search for", () => {
    const store = storeWith();
    setQuery(store, "has:finding");
    expect(store.derived.matches.value).toEqual([0, 1, 2]);
    setQuery(store, "gv101");
    expect(store.derived.matches.value).toEqual([1, 2]);
    setQuery(store, "-has:finding");
    expect(store.derived.matches.value).toEqual([3]);
  });

  test("are found from the node that they point at", () => {
    expect(findingsOfNode(withFindings(), 1).map(({ id }) => id)).toEqual([0]);
    expect(findingsOfNode(withFindings(), 3)).toEqual([]);
  });
});

describe("choosing a finding", () => {
  test("the first finding is chosen at first, even one that is only worth knowing", () => {
    const store = storeWith();
    expect([store.ui.finding.value, store.derived.pane.value]).toEqual([0, "findings"]);
    const findings = withFindings().findings.slice(2);
    const calm = storeWith({ ...withFindings(), findings });
    expect([calm.ui.finding.value, calm.derived.pane.value]).toEqual([0, "findings"]);
  });

  test("opens scopes, selects the first node, marks all and asks to reveal them", () => {
    const store = storeWith();
    collapseAll(store);
    showFinding(store, 0);
    expect(store.ui.collapsed.value).toEqual(new Set());
    expect(store.ui.selection.value).toEqual({ kind: "node", id: 2 });
    expect(store.ui.revealRequest.value).toEqual({ nodes: [2, 1] });
    expect(store.derived.marks.value).toEqual(
      new Map([
        [2, "error"],
        [1, "error"],
      ]),
    );
  });

  test("walks around the end, and comes back from the inspector to where it was", () => {
    const store = storeWith();
    stepFinding(store, -1);
    expect(store.ui.finding.value).toBe(2);
    stepFinding(store, 1);
    stepFinding(store, 1);
    expect(store.ui.finding.value).toBe(1);
    selectNode(store, 3);
    expect(store.derived.pane.value).toBe("inspector");
    stepFinding(store, 1);
    expect([store.ui.finding.value, store.derived.pane.value]).toEqual([1, "findings"]);
  });

  test("is announced with its place and its message", () => {
    const store = storeWith();
    expect(store.derived.announcement.value).toBe(
      "Finding 1 of 3, error GV101 inplace-saved-output, train.py:5, 2 nodes marked. " +
        "`y.add_(1)` wrote over the result that relu saved.",
    );
  });

  test("Esc clears the selection first, then the marks", () => {
    const store = storeWith();
    showFinding(store, 0);
    clear(store);
    expect(store.derived.marks.value.size).toBe(2);
    clear(store);
    expect(store.derived.marks.value.size).toBe(0);
  });

  test("a later snapshot keeps it where it is the same, else shows the first", () => {
    const store = storeWith();
    showFinding(store, 1);
    receiveSnapshot(store, withFindings());
    expect(store.ui.finding.value).toBe(1);
    receiveSnapshot(store, onlyFindings());
    expect(store.ui.finding.value).toBe(0);
    receiveSnapshot(store, convolution());
    expect([store.ui.finding.value, store.derived.pane.value]).toEqual([
      null,
      "inspector",
    ]);
  });

  test("without a node there is nothing but findings", () => {
    const store = storeWith(onlyFindings());
    expect([store.derived.graphless.value, store.derived.pane.value]).toEqual([
      true,
      "findings",
    ]);
  });
});
