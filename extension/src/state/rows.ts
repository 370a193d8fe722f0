// The nodes as rows of a table: the same facts as the graph, sortable.
import { moduleAround } from "../graph/fold.js";
import { gradientNorm } from "../graph/gradients.js";
import { nodeTitle, placeOf } from "./inspect.js";
import { rowAt, type Tables } from "./tables.js";

export interface NodeRow {
  readonly id: number;
  readonly name: string;
  readonly call: string;
  readonly scope: string;
  readonly shape: readonly number[] | null;
  readonly dtype: string;
  readonly gradientNorm: number | null;
  readonly source: string;
}

/** The norm of the gradient that came into a node; from its edges where the node has none. */
export function receivedNorm(tables: Tables, id: number): number | null {
  const { snapshot } = tables;
  const node = rowAt(snapshot.nodes, id);
  const own = node === null ? null : gradientNorm(snapshot, node);
  if (own !== null) return own;
  for (const { edge } of tables.outgoing.get(id) ?? []) {
    const found = rowAt(snapshot.statistics, edge.gradient);
    if (found !== null) return found.norm;
  }
  return null;
}

export function nodeRows(tables: Tables): NodeRow[] {
  const { snapshot } = tables;
  return snapshot.nodes.map((node, id) => {
    const tensor = rowAt(snapshot.tensors, node.outputs[0]);
    return {
      id,
      name: nodeTitle(id, node),
      call: node.call,
      scope: moduleAround(snapshot, node.scope)?.path ?? "",
      shape: tensor?.shape ?? null,
      dtype: tensor?.dtype ?? "",
      gradientNorm: receivedNorm(tables, id),
      source: placeOf(snapshot, node.site)?.label ?? "",
    };
  });
}

/** Elements of the output; null where it is not known. */
export function elementsOf({ shape }: NodeRow): number | null {
  return shape === null ? null : shape.reduce((product, size) => product * size, 1);
}
