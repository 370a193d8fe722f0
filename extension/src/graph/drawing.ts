// How the graph is drawn: which way the arrows point, and what is drawn beside them.

/** forward: tensors flow down; backward: the same edges with the gradients' arrows, up;
 * both: the backward functions as a second column that mirrors the forward one. */
export type Flow = "forward" | "backward" | "both";

export interface Drawing {
  readonly flow: Flow;
  /** Dashed links between nodes whose outputs look into the same memory. */
  readonly links: boolean;
}

export const FIRST_DRAWING: Drawing = { flow: "forward", links: false };

/** In the order of the menu. */
export const FLOW_LABELS: Readonly<Record<Flow, string>> = {
  forward: "forward",
  backward: "gradients",
  both: "side by side",
};

export const FLOWS = Object.keys(FLOW_LABELS) as readonly Flow[];
