// The numbers about gradients that search, colours and edge widths share.
import type { OpNode, Snapshot, Statistics } from "../ir/types.js";

/** Statistics of the gradients that came into a node, without the missing ones. */
export function incomingGradients(snapshot: Snapshot, node: OpNode): Statistics[] {
  const found: Statistics[] = []; // a search asks this of every node: no flatMap
  for (const row of node.grad_outputs) {
    const statistics = row < 0 ? undefined : snapshot.statistics[row];
    if (statistics !== undefined) found.push(statistics);
  }
  return found;
}

/** The L2 norm of all gradients that came into a node, or null when none is known. */
export function gradientNorm(snapshot: Snapshot, node: OpNode): number | null {
  let squares: number | null = null;
  for (const { norm } of incomingGradients(snapshot, node)) {
    if (norm !== null) squares = (squares ?? 0) + norm * norm;
  }
  return squares === null ? null : Math.sqrt(squares);
}

export interface BadValues {
  readonly nans: number;
  readonly infs: number;
}

/** NaN and Inf among a node's outputs and the gradients that came in. */
export function badValues(snapshot: Snapshot, node: OpNode): BadValues {
  let nans = 0;
  let infs = 0;
  const add = (statistics: Statistics | undefined) => {
    nans += statistics?.nans ?? 0;
    infs += statistics?.infs ?? 0;
  };
  for (const output of node.outputs) {
    const row = snapshot.tensors[output]?.statistics ?? null;
    if (row !== null) add(snapshot.statistics[row]);
  }
  for (const statistics of incomingGradients(snapshot, node)) add(statistics);
  return { nans, infs };
}

/** Masks that a call was told to write, as attention does; softmax takes them away. */
const MASKS = /^(masked_fill_?|where)$/;
const INFINITY = /^(\w+=)?-inf$/;

/** NaN and Inf that nobody asked for. */
export function unwantedValues(snapshot: Snapshot, node: OpNode): BadValues {
  const isMask =
    MASKS.test(node.call) && node.arguments.some((text) => INFINITY.test(text));
  return isMask
    ? badValues(snapshot, { ...node, outputs: [] })
    : badValues(snapshot, node);
}
