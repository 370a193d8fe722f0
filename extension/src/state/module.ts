// One call of a module: what it is, holds and costs, and the gradient on either side of it.
import type { Graph } from "../graph/build.js";
import { moduleAround } from "../graph/fold.js";
import { incomingGradients, unwantedValues } from "../graph/gradients.js";
import { scopeNames } from "../graph/names.js";
import { isLeaf } from "../graph/parts.js";
import { scopeChain } from "./collapse.js";
import { flopsOf } from "./flops.js";
import { type Place, placeOf } from "./inspect.js";
import { rowAt } from "./tables.js";

export interface ModuleParameter {
  readonly id: number;
  readonly name: string;
  readonly shape: readonly number[];
  readonly norm: number | null;
}

export interface ModuleDetails {
  readonly id: number;
  readonly name: string;
  readonly path: string;
  /** Its class; "" where folding made the box. */
  readonly kind: string;
  /** The first line of the user's that ran in it. */
  readonly place: Place | null;
  readonly nodes: number;
  readonly parameters: readonly ModuleParameter[];
  /** Elements and bytes of the parameters. */
  readonly elements: number;
  readonly parameterBytes: number;
  /** Bytes of the storages that its nodes keep for backward, each once. */
  readonly savedBytes: number;
  /** Of its backward functions; null where none was timed. */
  readonly elapsedNs: number | null;
  /** Of its products of matrices in the forward pass; null: none, or not known. */
  readonly flops: number | null;
  /** Norms of the gradient that came in from what uses it, and that it handed on. */
  readonly gradientIn: number | null;
  readonly gradientOut: number | null;
  readonly nans: number;
  readonly infs: number;
  /** Positions of the findings that point into it. */
  readonly findings: readonly number[];
}

/** All gradients of the edges that cross into it, as the norm of one vector. */
function crossing({ snapshot, shown }: Graph, inside: ReadonlySet<number>) {
  let [into, out]: [number | null, number | null] = [null, null];
  for (const { source, target, gradient } of snapshot.edges) {
    if (inside.has(source) === inside.has(target)) continue;
    if (shown?.[source] === 0 || shown?.[target] === 0) continue;
    const norm = rowAt(snapshot.statistics, gradient)?.norm ?? null;
    if (norm === null) continue;
    if (inside.has(source)) into = Math.hypot(into ?? 0, norm);
    else out = Math.hypot(out ?? 0, norm);
  }
  return { gradientIn: into, gradientOut: out };
}

/** Join the tables for one module; null where it holds nothing that is drawn. */
export function moduleDetails(graph: Graph, id: number): ModuleDetails | null {
  const { snapshot, shown } = graph;
  const scope = rowAt(snapshot.scopes, id);
  if (scope === null || graph.scopeSize[id] === 0) return null;
  const inside = new Set<number>();
  const isInside = new Map<number, boolean>();
  graph.nodeScope.forEach((own, node) => {
    if (own < 0 || shown?.[node] === 0) return;
    const known = isInside.get(own) ?? scopeChain(snapshot.scopes, own).includes(id);
    isInside.set(own, known);
    if (known) inside.add(node);
  });
  const parameters: ModuleParameter[] = [];
  const storages = new Map<number, number>();
  const bad = { nans: 0, infs: 0 };
  let parameterBytes = 0;
  let elapsedNs: number | null = null;
  let place: Place | null = null;
  for (const node of inside) {
    const row = snapshot.nodes[node];
    if (row === undefined) continue;
    const { nans, infs } = unwantedValues(snapshot, row);
    bad.nans += nans;
    bad.infs += infs;
    if (row.elapsed_ns !== null) elapsedNs = (elapsedNs ?? 0) + row.elapsed_ns;
    if (!isLeaf(row)) {
      place ??= placeOf(snapshot, row.site);
      continue;
    }
    const tensor = rowAt(snapshot.tensors, row.outputs[0]);
    parameterBytes += rowAt(snapshot.storages, tensor?.storage)?.nbytes ?? 0;
    parameters.push({
      id: node,
      name: row.call || tensor?.name || "leaf",
      shape: tensor?.shape ?? [],
      norm: incomingGradients(snapshot, row)[0]?.norm ?? null,
    });
  }
  for (const saved of snapshot.saved) {
    const storage = rowAt(snapshot.tensors, saved.tensor)?.storage ?? null;
    if (!inside.has(saved.node) || storage === null) continue;
    storages.set(storage, rowAt(snapshot.storages, storage)?.nbytes ?? 0);
  }
  const sum = (numbers: Iterable<number>) => [...numbers].reduce((a, b) => a + b, 0);
  return {
    id,
    name: scopeNames(snapshot).get(id) ?? scope.name,
    path: (moduleAround(snapshot, id) ?? scope).path,
    kind: scope.kind,
    place,
    nodes: inside.size,
    parameters,
    elements: sum(parameters.map(({ shape }) => shape.reduce((a, b) => a * b, 1))),
    parameterBytes,
    savedBytes: sum(storages.values()),
    elapsedNs,
    flops: flopsOf(snapshot, inside),
    ...crossing(graph, inside),
    ...bad,
    findings: snapshot.findings.flatMap(({ nodes }, at) =>
      nodes.some((node) => inside.has(node)) ? [at] : [],
    ),
  };
}
