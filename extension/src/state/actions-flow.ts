// Changes of the gradient flow: what it shows, and which layer and step are chosen.
import { batch } from "@preact/signals-core";
import { goToNode } from "./actions.js";
import type { Store } from "./store.js";
import type { FlowView } from "./ui.js";

export function setFlowView({ ui }: Store, view: FlowView): void {
  ui.flowView.value = view;
}

/** Choose a step by its place; the last one where no other is drawn is followed, as a
 * training goes on. */
export function setFlowStep({ ui, derived }: Store, step: number): void {
  const isLast = step === (derived.flow.value?.steps.length ?? 0) - 1;
  const isFollowed = isLast && derived.steps.value.length === 0;
  ui.flowStep.value = isFollowed ? null : step;
}

/** Choose one of several processes that trained together. */
export function setFlowRank({ ui }: Store, rank: number): void {
  ui.flowRank.value = rank;
}

/** Choose a layer, and its node in the graph; the flow stays beside it. */
export function pickLayer(store: Store, layer: number): void {
  const { ui, derived } = store;
  const node = derived.flow.value?.layers[layer]?.node ?? null;
  batch(() => {
    ui.flowLayer.value = layer;
    if (node === null) return;
    goToNode(store, node);
    ui.pane.value = "flow";
  });
}
