// Which views of a snapshot stand beside the graph, as tabs in this order.
import type { Snapshot } from "../ir/types.js";
import { isComparable } from "./comparison.js";
import { hasFlow } from "./flow.js";

export type PaneName = "findings" | "inspector" | "ledger" | "flow" | "compare";

interface Offer {
  readonly name: PaneName;
  /** Whether the tab has anything to say about this snapshot. */
  readonly offers: (snapshot: Snapshot) => boolean;
}

const OFFERS: readonly Offer[] = [
  { name: "findings", offers: ({ findings }) => findings.length > 0 },
  { name: "inspector", offers: ({ nodes }) => nodes.length > 0 },
  { name: "ledger", offers: ({ nodes }) => nodes.length > 0 },
  { name: "flow", offers: hasFlow },
  { name: "compare", offers: isComparable },
];

/** The tabs for a snapshot; the inspector alone while there is nothing to look at. */
export function panesFor(snapshot: Snapshot | null): readonly PaneName[] {
  if (snapshot === null) return ["inspector"];
  const names = OFFERS.filter(({ offers }) => offers(snapshot)).map(({ name }) => name);
  return names.length > 0 ? names : ["inspector"];
}
