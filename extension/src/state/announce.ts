// The sentence a screen reader hears when the selection changes.
import { formatNumber, formatPlural, formatTuple } from "./format.js";
import { type EdgeDetails, type NodeDetails, nodeTitle } from "./inspect.js";
import type { ModuleDetails } from "./module.js";

function nodeSentence(details: NodeDetails, closed: ReadonlySet<number>): string {
  const { id, node, scopes, module, outputs, gradients, place } = details;
  const parts = [`Selected ${nodeTitle(id, node)}`];
  if (node.call !== "") parts.push(node.call);
  if (module !== null) parts.push(`in ${module.path}`);
  const shape = outputs[0]?.tensor.shape;
  if (shape !== undefined) parts.push(`output ${formatTuple(shape)}`);
  const norm = gradients.find((gradient) => gradient.incoming)?.statistics.norm;
  if (norm !== undefined && norm !== null)
    parts.push(`gradient norm ${formatNumber(norm)}`);
  if (place !== null) parts.push(place.label);
  const hiding = scopes.find((around) => closed.has(around.id))?.scope;
  if (hiding)
    parts.push(
      `in the closed module ${hiding.kind === "" ? hiding.name : hiding.path}, Enter opens it`,
    );
  return `${parts.join(", ")}.`;
}

export function moduleSentence(
  { id, name, kind, nodes }: ModuleDetails,
  closed: ReadonlySet<number>,
): string {
  const what = [`Selected module ${name}`, kind, formatPlural(nodes, "node")];
  const does = closed.has(id) ? "Enter unfolds it" : "Enter folds it";
  return `${[...what, does].filter(Boolean).join(", ")}.`;
}

export function announcement(
  node: NodeDetails | null,
  edge: EdgeDetails | null,
  closed: ReadonlySet<number>,
): string {
  if (node !== null) return nodeSentence(node, closed);
  if (edge === null) return "";
  const shape =
    edge.tensor === null ? "" : `, ${formatTuple(edge.tensor.tensor.shape)}`;
  const ends = `${edge.source?.name ?? "?"} to ${edge.target?.name ?? "?"}`;
  return `Selected edge from ${ends}${shape}.`;
}
