// How the graph is drawn: the direction of the arrows, the links of shared memory.
import { FLOWS, type Flow } from "../graph/drawing.js";
import type { Store } from "./store.js";

export function setFlow({ ui }: Store, flow: Flow): void {
  ui.drawing.value = { ...ui.drawing.value, flow };
}

/** forward, gradients, side by side, forward again. */
export function nextFlow(store: Store): void {
  const at = FLOWS.indexOf(store.ui.drawing.value.flow);
  setFlow(store, FLOWS[(at + 1) % FLOWS.length] ?? "forward");
}

export function toggleLinks({ ui }: Store): void {
  const { links } = ui.drawing.value;
  ui.drawing.value = { ...ui.drawing.value, links: !links };
}
