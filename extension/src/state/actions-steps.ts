// Which step of a training is drawn, and what stays the same when another one is.
import { batch, effect, untracked } from "@preact/signals-core";
import { foldRepeats, unfolded } from "../graph/fold.js";
import { shownNodes } from "../graph/shown.js";
import type { Snapshot } from "../ir/types.js";
import { firstCollapsed } from "./collapse.js";
import { carryToStep } from "./collapse-steps.js";
import { partnerOf } from "./step-news.js";
import { nodesOfSteps, stepOfNode, stepsOf } from "./steps.js";
import type { Store } from "./store.js";

/** A recording as it is drawn at first, or with the steps that are drawn now. */
export function foldSteps(recorded: Snapshot, drawn: readonly number[]): Snapshot {
  return foldRepeats(recorded, nodesOfSteps(stepsOf(recorded), drawn));
}

/** Draw the steps that are asked for; what is closed stays closed in the other one, and
 * the selection goes to the node that corresponds. */
function draw(store: Store): void {
  const { data, ui, derived } = store;
  const before = data.snapshot.value;
  const shown = derived.shown.value;
  if (before === null || shownNodes(before) === shown) return;
  const isBeside =
    shown !== null && derived.steps.value.every(({ nodes }) => nodes !== shown);
  const after = foldRepeats(unfolded(before), shown, isBeside);
  batch(() => {
    ui.collapsed.value = carryToStep(before, ui.collapsed.value, after, firstCollapsed);
    const selection = ui.selection.value;
    if (selection !== null && selection.kind !== "node") ui.selection.value = null;
    else if (selection !== null && shown?.[selection.id] === 0) {
      const id = partnerOf(after, selection.id, derived.step.value ?? 0);
      ui.selection.value = id === null ? null : { kind: "node", id };
    }
    ui.hovered.value = null;
    ui.matchPosition.value = null;
    data.snapshot.value = after;
  });
}

/** Draw a step, counted from 0. */
export function showStep(store: Store, at: number): void {
  const { ui, derived } = store;
  const steps = derived.steps.value;
  const step = steps[at];
  if (step === undefined) return;
  batch(() => {
    ui.step.value = at;
    const { value: position } = ui.position;
    if (position !== null && (position <= step.from || position > step.to)) {
      ui.position.value = step.to;
    }
    draw(store);
  });
}

/** The next step, or the one before; stops at either end. */
export function stepOn(store: Store, by: 1 | -1): void {
  const { steps, step } = store.derived;
  const at = (step.value ?? 0) + by;
  if (at >= 0 && at < steps.value.length) showStep(store, at);
}

/** Draw the step of a node, if it is none of those that are drawn. */
export function showStepOf(store: Store, node: number): void {
  const { steps, shown } = store.derived;
  if (shown.value?.[node] !== 0) return;
  const at = stepOfNode(steps.value, node);
  if (at < 0) return;
  if (store.ui.pane.value === "compare") store.ui.pane.value = "inspector";
  showStep(store, at);
}

/** Put a step and the one before it side by side, with what differs. */
export function compareSteps(store: Store): void {
  const { ui, derived } = store;
  const steps = derived.steps.value;
  const at = derived.step.value ?? 0;
  const [before, after] = at > 0 ? [at - 1, at] : [at, at + 1];
  const passOf = (step: number) =>
    steps.slice(0, step + 1).reduce((sum, { passes }) => sum + passes, 0) - 1;
  batch(() => {
    ui.compare.value = {
      ...ui.compare.value,
      before: passOf(before),
      after: passOf(after),
      show: "differences",
      text: "",
    };
    ui.viewMode.value = "graph";
    ui.pane.value = "compare";
    draw(store);
  });
}

/** Draw other steps when a comparison asks for them, until the answer is called. */
export function followSteps(store: Store): () => void {
  const { data, derived } = store;
  return effect(() => {
    if (data.snapshot.value === null) return;
    derived.shown.value;
    untracked(() => draw(store));
  });
}
