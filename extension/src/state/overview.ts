// The graph at a glance: the leaves that collect gradients, and the nodes to look at.
import { badValues } from "../graph/gradients.js";
import type { Snapshot, Statistics } from "../ir/types.js";
import { nodeTitle, tensorLabel } from "./inspect.js";
import { rowAt } from "./tables.js";

export interface LeafRow {
  readonly id: number;
  readonly name: string;
  readonly shape: readonly number[] | null;
  readonly gradient: Statistics | null;
}

/** Leaves in the order of the table, with the gradient that arrived at each. */
export function leafRows(snapshot: Snapshot): LeafRow[] {
  return snapshot.nodes.flatMap((node, id): LeafRow[] => {
    if (node.kind !== "accumulate" && node.kind !== "leaf") return [];
    const output = node.outputs[0];
    const tensor = rowAt(snapshot.tensors, output);
    const named = tensor === null ? null : tensorLabel(output ?? 0, tensor);
    return [
      {
        id,
        name: node.call || named || nodeTitle(id, node),
        shape: tensor?.shape ?? null,
        gradient: rowAt(snapshot.statistics, node.grad_outputs[0]),
      },
    ];
  });
}

/** A fact about a node that backward() or training will stumble over. */
export interface Trouble {
  readonly id: number;
  readonly title: string;
  readonly what: string;
}

/** Saved tensors that were overwritten, then NaN and Inf; a healthy graph has none. */
export function troubles(snapshot: Snapshot): Trouble[] {
  const titleOf = (id: number) => {
    const node = rowAt(snapshot.nodes, id);
    return node === null ? `node #${id}` : nodeTitle(id, node);
  };
  const overwritten = snapshot.saved.flatMap((saved): Trouble[] => {
    if (saved.freed || saved.version_now === saved.version_saved) return [];
    const versions = `version ${saved.version_saved} → ${saved.version_now}`;
    const what = `${saved.slot} was overwritten after it was saved (${versions})`;
    return [{ id: saved.node, title: titleOf(saved.node), what }];
  });
  const bad = snapshot.nodes.flatMap((node, id): Trouble[] => {
    const { nans, infs } = badValues(snapshot, node);
    if (nans + infs === 0) return [];
    const what = `${nans} NaN, ${infs} Inf in its output or gradient`;
    return [{ id, title: titleOf(id), what }];
  });
  return [...overwritten, ...bad];
}
