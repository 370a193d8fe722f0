import { describe, expect, test } from "vitest";
import {
  receiveSnapshot,
  selectNode,
  setColorBy,
  setQuery,
  showFinding,
  toggleScope,
} from "./actions.js";
import { setFlow, toggleLinks } from "./actions-drawing.js";
import {
  followHistory,
  redo,
  rememberGaze,
  reportGaze,
  undo,
} from "./actions-history.js";
import { applyBookmark, writeBookmark } from "./bookmark.js";
import { withFindings } from "./findings.test-util.js";
import { convolution } from "./snapshots.test-util.js";
import { createStore } from "./store.js";

function storeWithStep() {
  const store = createStore();
  receiveSnapshot(store, convolution());
  return store;
}

const gaze = { scale: 0.81234, x: 120.4, y: -30 };

describe("a bookmark", () => {
  test("brings back what was looked at", () => {
    const store = storeWithStep();
    toggleScope(store, 1);
    selectNode(store, 2);
    setQuery(store, "grad>1 & ünï,x=%");
    setColorBy(store, "dtype");
    setFlow(store, "both");
    toggleLinks(store);
    reportGaze(store, gaze);
    const text = writeBookmark(store);
    expect(text).toMatch(/^[\w=&.,%~-]+$/);

    const other = storeWithStep();
    applyBookmark(other, text);
    const { ui } = other;
    expect(ui.selection.value).toEqual({ kind: "node", id: 2 });
    expect([...ui.collapsed.value]).toEqual([...store.ui.collapsed.value]);
    expect(ui.query.value).toBe("grad>1 & ünï,x=%");
    expect(ui.colorBy.value).toBe("dtype");
    expect(ui.drawing.value).toEqual({ flow: "both", links: true });
    expect(ui.lookRequest.value).toEqual({ scale: 0.8123, x: 120, y: -30 });
    ui.gaze.value = ui.lookRequest.value;
    expect(writeBookmark(other)).toBe(text);
  });

  test("brings back the finding that was unfolded", () => {
    const withThree = () => {
      const store = createStore();
      receiveSnapshot(store, withFindings());
      return store;
    };
    const store = withThree();
    expect(writeBookmark(store)).not.toContain("finding=");
    showFinding(store, 2);
    const text = writeBookmark(store);
    expect(text).toContain("finding=3");
    const other = withThree();
    applyBookmark(other, text);
    expect(other.ui.finding.value).toBe(2);
    expect(other.ui.pane.value).toBe("findings");
    applyBookmark(other, "finding=9&finding=-1");
    expect(other.ui.finding.value).toBe(2);
  });

  test.each([
    "at=n9999&closed=88.1x-&look=a,b,c&colour=pink&view=cube&arrows=up&links=2",
    "look=1e9,0,0&at=z1",
    "look=1,2&find=%E0%A4%A",
    "&&&=",
  ])("that is damaged changes nothing: %s", (text) => {
    const store = storeWithStep();
    const before = writeBookmark(store);
    applyBookmark(store, text);
    expect(writeBookmark(store)).toBe(before);
    expect(store.ui.lookRequest.value).toBeNull();
  });
});

test("many closed modules are short in an address", () => {
  const store = storeWithStep();
  store.ui.collapsed.value = new Set([0, 1, 2, 5, 7, 8]);
  expect(writeBookmark(store)).toContain("closed=0~2.5.7~8-");
  store.ui.collapsed.value = new Set(Array.from({ length: 2000 }, (_, i) => 2 * i));
  expect(writeBookmark(store)).not.toContain("closed=");
});

describe("undo", () => {
  test("walks back through selections, scopes and jumps, and redo forth again", () => {
    const store = storeWithStep();
    const { ui } = store;
    const stop = followHistory(store);
    const start = [...ui.collapsed.value];
    reportGaze(store, gaze);
    selectNode(store, 1);
    toggleScope(store, 1);
    const toggled = [...ui.collapsed.value];
    rememberGaze(store);
    reportGaze(store, { ...gaze, x: 500 });

    undo(store);
    expect(ui.lookRequest.value).toEqual(gaze);
    undo(store);
    expect([...ui.collapsed.value]).toEqual(start);
    expect(ui.selection.value).toEqual({ kind: "node", id: 1 });
    undo(store);
    expect(ui.selection.value).toBeNull();
    undo(store);
    expect(ui.notice.value).toBe("There is nothing to undo in this view.");

    redo(store);
    redo(store);
    expect([...ui.collapsed.value]).toEqual(toggled);
    redo(store);
    redo(store);
    expect(ui.notice.value).toBe("There is nothing to redo in this view.");
    stop();
  });

  test("a change after undo begins another future; a new graph another history", () => {
    const store = storeWithStep();
    const stop = followHistory(store);
    selectNode(store, 1);
    undo(store);
    selectNode(store, 2);
    expect(store.ui.history.value.future).toEqual([]);
    receiveSnapshot(store, { ...convolution(), nodes: [], edges: [], scopes: [] });
    expect(store.ui.history.value.past).toEqual([]);
    stop();
  });
});
