import { describe, expect, test } from "vitest";
import {
  clear,
  collapseAll,
  goToNode,
  receiveSnapshot,
  reportProblem,
  selectEdge,
  selectNode,
  setColorBy,
  setInspectorShare,
  setQuery,
  setTheme,
  stepMatch,
  toggleSelectedScope,
} from "./actions.js";
import { troubles } from "./overview.js";
import { nodeRows } from "./rows.js";
import { convolution, nothing } from "./snapshots.test-util.js";
import { sortBy } from "./sort.js";
import { createStore } from "./store.js";

function storeWith(snapshot = convolution()) {
  const store = createStore();
  receiveSnapshot(store, snapshot);
  return store;
}

describe("the details of a node", () => {
  test("join tensors, saved values, gradients, storages and neighbours", () => {
    const store = storeWith();
    selectNode(store, 2);
    const details = store.derived.selectedNode.value;
    expect(details?.inputs.map((use) => use.id)).toEqual([2]);
    expect(details?.saved[0]?.modified).toBe(true);
    expect(details?.producers.map((neighbour) => neighbour.nodeId)).toEqual([1]);
    expect(details?.consumers.map((neighbour) => neighbour.nodeId)).toEqual([3]);
    const saved = details?.storages.find((use) => use.id === 3);
    expect(saved?.writes.map(({ write }) => `v${write.version} ${write.op}`)).toEqual([
      "v1 add_",
      "v2 mul_",
    ]);
  });
  test("name what was received and what was sent back", () => {
    const store = storeWith();
    selectNode(store, 1);
    const uses = store.derived.selectedNode.value?.gradients ?? [];
    expect(uses.map((use) => [use.incoming, use.label, use.statistics.norm])).toEqual([
      [true, "of the output", 1.5],
      [false, "of input 1, net.conv.weight", 0.25],
    ]);
  });
  test("are null for a node that is not there", () => {
    const store = storeWith();
    selectNode(store, 99);
    expect(store.derived.selectedNode.value).toBeNull();
    expect(store.derived.announcement.value).toBe("");
  });
});

test("the announcement says name, call, scope, shape, gradient and place", () => {
  const store = storeWith();
  selectNode(store, 1);
  expect(store.derived.announcement.value).toBe(
    "Selected ConvolutionBackward0, conv2d, in net.conv, output (8, 4, 6, 6), " +
      "gradient norm 1.5, train.py:4.",
  );
  selectEdge(store, 1);
  expect(store.derived.announcement.value).toBe(
    "Selected edge from ConvolutionBackward0 to ReluBackward0, (8, 4, 6, 6).",
  );
});

test("going to a hidden node opens the scopes around it and asks to reveal it", () => {
  const store = storeWith();
  collapseAll(store);
  goToNode(store, 1);
  expect(store.ui.collapsed.value).toEqual(new Set());
  expect(store.ui.revealRequest.value).toEqual({ nodes: [1] });
});

test("toggling closes the innermost scope, then opens the outermost closed one", () => {
  const store = storeWith();
  selectNode(store, 1);
  toggleSelectedScope(store);
  expect(store.ui.collapsed.value).toEqual(new Set([1]));
  collapseAll(store);
  toggleSelectedScope(store);
  expect(store.ui.collapsed.value).toEqual(new Set([1]));
});

test("next and previous walk the matches around the end", () => {
  const store = storeWith();
  setQuery(store, "backward0");
  expect(store.derived.matches.value).toEqual([1, 2, 3]);
  const visited = ([1, 1, 1, 1, -1] as const).map((step) => {
    stepMatch(store, step);
    return store.ui.selection.value?.id;
  });
  expect(visited).toEqual([1, 2, 3, 1, 3]);
});

test("previous from the start goes to the last match", () => {
  const store = storeWith();
  setQuery(store, "backward0");
  stepMatch(store, -1);
  expect(store.ui.selection.value).toEqual({ kind: "node", id: 3 });
});

test("Esc clears the search before the selection", () => {
  const store = storeWith();
  selectNode(store, 1);
  setQuery(store, "relu");
  clear(store);
  expect([store.ui.query.value, store.ui.selection.value?.id]).toEqual(["", 1]);
  clear(store);
  expect(store.ui.selection.value).toBeNull();
});

describe("a new snapshot", () => {
  test("keeps a selection that still means the same node, and the closed scopes", () => {
    const store = storeWith();
    selectNode(store, 1);
    collapseAll(store);
    receiveSnapshot(store, convolution());
    expect(store.ui.selection.value).toEqual({ kind: "node", id: 1 });
    expect(store.ui.collapsed.value).toEqual(new Set([0, 1]));
  });
  test("drops a selection that is gone, and clears a problem", () => {
    const store = storeWith();
    selectNode(store, 1);
    reportProblem(store, new Error("first line\nsecond line"));
    expect(store.data.problem.value).toBe("first line");
    receiveSnapshot(store, nothing());
    expect(store.ui.selection.value).toBeNull();
    expect(store.data.problem.value).toBeNull();
  });
});

test("the inspector keeps room on both sides", () => {
  const store = createStore();
  setInspectorShare(store, 2);
  expect(store.ui.inspectorShare.value).toBe(18);
  setInspectorShare(store, 99);
  expect(store.ui.inspectorShare.value).toBe(75);
});

test("auto follows the ambient theme, a choice overrides it", () => {
  const store = createStore();
  store.ui.ambientTheme.value = "dark";
  expect(store.derived.theme.value).toBe("dark");
  setTheme(store, "light");
  expect(store.derived.theme.value).toBe("light");
  setColorBy(store, "dtype");
  expect(store.ui.colorBy.value).toBe("dtype");
});

describe("the rows of the table", () => {
  const rows = () => {
    const tables = storeWith().derived.tables.value;
    return tables === null ? [] : nodeRows(tables);
  };
  test("hold the first output, the gradient norm and the line", () => {
    expect(rows()[1]).toMatchObject({
      name: "ConvolutionBackward0",
      scope: "net.conv",
      shape: [8, 4, 6, 6],
      gradientNorm: 1.5,
      source: "train.py:4",
    });
  });
  test("sort by number and keep unknown values last both ways", () => {
    const norms = (descending: boolean) =>
      sortBy(rows(), (row) => row.gradientNorm, descending).map(
        (row) => row.gradientNorm,
      );
    expect(norms(false)).toEqual([0.25, 1.5, 3, null]);
    expect(norms(true)).toEqual([3, 1.5, 0.25, null]);
  });
});

test("a saved tensor that was overwritten is trouble while a pass may need it", () => {
  const snapshot = convolution();
  const overwritten = (freed: boolean, flags: readonly string[]) => {
    const saved = snapshot.saved.map((row) => ({ ...row, freed }));
    const nodes = snapshot.nodes.map((node) => ({ ...node, flags }));
    const found = troubles({ ...snapshot, saved, nodes });
    return found.filter(({ what }) => what.includes("overwritten"));
  };
  expect(overwritten(true, ["modified"])).toEqual([]);
  expect(overwritten(false, [])).toEqual([]);
  expect(overwritten(false, ["modified"])).toEqual([
    {
      id: 2,
      title: "ReluBackward0",
      what: "_saved_result was overwritten after it was saved (version 0 → 2)",
    },
  ]);
});
