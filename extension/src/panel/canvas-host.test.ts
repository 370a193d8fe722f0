import { expect, test } from "vitest";
import type { GraphView } from "../render/graph-view.js";
import { collapseAll, goToNode, receiveSnapshot } from "../state/actions.js";
import { convolution } from "../state/snapshots.test-util.js";
import { createStore } from "../state/store.js";
import { follow } from "./canvas-host.js";

/** A view that notes what is asked of it. */
function listener(): { view: GraphView; heard: string[] } {
  const heard: string[] = [];
  const view = {
    setSnapshot: () => heard.push("snapshot"),
    setState: ({ collapsed }) => heard.push(`closed ${collapsed.size}`),
    reveal: (nodes) => heard.push(`reveal ${nodes}`),
    look: () => heard.push("look"),
  } as Partial<GraphView> as GraphView;
  return { view, heard };
}

test("a node is brought into view after the parts around it were opened", () => {
  const store = createStore();
  receiveSnapshot(store, convolution());
  collapseAll(store);
  const { view, heard } = listener();
  const stop = follow(store, view);
  const node = store.data.snapshot.value?.nodes.findIndex(
    ({ scope }) => scope !== null,
  );
  expect(node).toBeGreaterThanOrEqual(0);
  const before = store.ui.collapsed.value.size;

  goToNode(store, node ?? -1);

  const after = store.ui.collapsed.value.size;
  expect(after).toBeLessThan(before);
  expect(heard).toEqual([
    "snapshot",
    `closed ${before}`,
    `closed ${after}`,
    `reveal ${node}`,
  ]);

  goToNode(store, node ?? -1); // once more: it may have been moved out of view
  expect(heard.at(-1)).toBe(`reveal ${node}`);
  expect(heard.filter((each) => each === "snapshot")).toHaveLength(1);
  stop();
});
