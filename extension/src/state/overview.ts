// The graph at a glance: the leaves that collect gradients, and the nodes to look at.
import { unwantedValues } from "../graph/gradients.js";
import type { Snapshot, Statistics } from "../ir/types.js";
import { nodeTitle, tensorLabel } from "./inspect.js";
import { rowAt, type Tables } from "./tables.js";

export interface LeafRow {
  readonly id: number;
  readonly name: string;
  readonly shape: readonly number[] | null;
  readonly gradient: Statistics | null;
}

/** The gradient that arrived at a leaf; along its edge where the node kept none. */
function arrived(tables: Tables, id: number): Statistics | null {
  const { statistics, nodes } = tables.snapshot;
  const own = rowAt(statistics, nodes[id]?.grad_outputs[0]);
  if (own !== null) return own;
  // Several edges add up, and a sum of summaries is not a summary of the sum.
  const edges = tables.outgoing.get(id) ?? [];
  return edges.length === 1 ? rowAt(statistics, edges[0]?.edge.gradient) : null;
}

/** Leaves in the order of the table, with the gradient that arrived at each. */
export function leafRows(tables: Tables): LeafRow[] {
  const { snapshot } = tables;
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
        gradient: arrived(tables, id),
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

/** Saved tensors that were overwritten before the pass that needs them, then NaN and Inf;
 * a healthy graph has none. */
export function troubles(snapshot: Snapshot): Trouble[] {
  const titleOf = (id: number) => {
    const node = rowAt(snapshot.nodes, id);
    return node === null ? `node #${id}` : nodeTitle(id, node);
  };
  const overwritten = snapshot.saved.flatMap((saved): Trouble[] => {
    const isNeeded = snapshot.nodes[saved.node]?.flags.includes("modified") === true;
    if (!isNeeded || saved.freed || saved.version_now === saved.version_saved)
      return [];
    const versions = `version ${saved.version_saved} → ${saved.version_now}`;
    const what = `${saved.slot} was overwritten after it was saved (${versions})`;
    return [{ id: saved.node, title: titleOf(saved.node), what }];
  });
  const bad = snapshot.nodes.flatMap((node, id): Trouble[] => {
    const { nans, infs } = unwantedValues(snapshot, node);
    if (nans + infs === 0) return [];
    const what = `${nans} NaN, ${infs} Inf in its output or gradient`;
    return [{ id, title: titleOf(id), what }];
  });
  return [...overwritten, ...bad];
}
