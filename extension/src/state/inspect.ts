// Everything the inspector shows about one node or edge, joined from the tables.
import { moduleAround } from "../graph/fold.js";
import type {
  Edge,
  OpNode,
  Saved,
  Scope,
  Site,
  Snapshot,
  Source,
  Statistics,
  StorageMeta,
  TensorMeta,
  Write,
} from "../ir/types.js";
import { scopeChain } from "./collapse.js";
import { baseName } from "./format.js";
import type { EdgeRef, Tables } from "./tables.js";
import { rowAt } from "./tables.js";

/** A tensor in the part it plays for the node: "input 0", "output 1", "_saved_self". */
export interface TensorUse {
  readonly role: string;
  readonly id: number;
  readonly tensor: TensorMeta;
}

export interface SavedUse extends TensorUse {
  readonly saved: Saved;
  readonly modified: boolean;
}

/** A gradient at the node: what came in for an output, or went back for an input. */
export interface GradientUse {
  readonly label: string;
  readonly incoming: boolean;
  readonly statistics: Statistics;
}

export interface Place {
  readonly site: Site;
  readonly source: Source | null;
  /** "train.py" or "Cell In[3]" */
  readonly name: string;
  /** "train.py:12" or "Cell In[3]:12" */
  readonly label: string;
}

export interface WriteUse {
  readonly write: Write;
  readonly place: Place | null;
}

export interface StorageUse {
  readonly id: number;
  readonly storage: StorageMeta;
  /** Roles in which the node meets this storage. */
  readonly roles: readonly string[];
  readonly writes: readonly WriteUse[];
}

export interface Neighbour {
  readonly edgeId: number;
  readonly edge: Edge;
  readonly nodeId: number;
  readonly node: OpNode;
}

export interface HookUse {
  readonly name: string;
  readonly place: Place | null; // where it is defined
}

export interface NodeDetails {
  readonly id: number;
  readonly node: OpNode;
  readonly scopes: readonly { readonly id: number; readonly scope: Scope }[];
  /** The innermost one that the program knows. */
  readonly module: Scope | null;
  readonly place: Place | null;
  readonly stack: readonly Place[];
  readonly inputs: readonly TensorUse[];
  readonly outputs: readonly TensorUse[];
  readonly saved: readonly SavedUse[];
  readonly gradients: readonly GradientUse[];
  readonly storages: readonly StorageUse[];
  readonly producers: readonly Neighbour[];
  readonly consumers: readonly Neighbour[];
  readonly hooks: readonly HookUse[];
}

export interface EdgeDetails {
  readonly id: number;
  readonly edge: Edge;
  readonly source: OpNode | null;
  readonly target: OpNode | null;
  readonly tensor: TensorUse | null;
  readonly gradient: Statistics | null;
  readonly storages: readonly StorageUse[];
}

export function placeOf(
  snapshot: Snapshot,
  index: number | null | undefined,
): Place | null {
  const site = rowAt(snapshot.sites, index);
  if (site === null) return null;
  const source = rowAt(snapshot.sources, site.source);
  const name = source?.label ?? baseName(site.file);
  return { site, source, name, label: `${name}:${site.line}` };
}

function usesOf(snapshot: Snapshot, ids: readonly number[], role: string): TensorUse[] {
  return ids.flatMap((id, position) => {
    const tensor = rowAt(snapshot.tensors, id);
    return tensor === null ? [] : [{ role: `${role} ${position}`, id, tensor }];
  });
}

/** Tensors that the call consumed; from the edges when the call kept no list. */
function inputsOf(snapshot: Snapshot, node: OpNode, edges: readonly EdgeRef[]) {
  if (node.inputs.length > 0) return usesOf(snapshot, node.inputs, "input");
  return edges.flatMap(({ edge }): TensorUse[] => {
    const tensor = rowAt(snapshot.tensors, edge.tensor);
    if (tensor === null || edge.tensor === null) return [];
    return [{ role: `input ${edge.input}`, id: edge.tensor, tensor }];
  });
}

function savedOf(tables: Tables, id: number): SavedUse[] {
  return (tables.savedBy.get(id) ?? []).flatMap((saved) => {
    const tensor = rowAt(tables.snapshot.tensors, saved.tensor);
    if (tensor === null) return [];
    const modified = saved.version_now !== saved.version_saved;
    return [{ role: saved.slot, id: saved.tensor, tensor, saved, modified }];
  });
}

function gradientsOf(tables: Tables, id: number, node: OpNode): GradientUse[] {
  const { snapshot } = tables;
  const several = node.grad_outputs.length > 1;
  const into = node.grad_outputs.flatMap((index, output): GradientUse[] => {
    const statistics = rowAt(snapshot.statistics, index);
    if (statistics === null) return [];
    const leaf = node.kind === "accumulate";
    const label = leaf ? `of ${node.call || "the leaf"}` : `of output ${output}`;
    return [
      { label: several || leaf ? label : "of the output", incoming: true, statistics },
    ];
  });
  const back = (tables.incoming.get(id) ?? []).flatMap(({ edge }): GradientUse[] => {
    const statistics = rowAt(snapshot.statistics, edge.gradient);
    if (statistics === null) return [];
    const producer = rowAt(snapshot.nodes, edge.source);
    const name = rowAt(snapshot.tensors, edge.tensor)?.name ?? producer?.call;
    const label = `of input ${edge.input}${name ? `, ${name}` : ""}`;
    return [{ label, incoming: false, statistics }];
  });
  if (into.length > 0) return [...into, ...back];
  // A producer that keeps no statistics per node may still know them per edge.
  const fromConsumers = (tables.outgoing.get(id) ?? []).flatMap(({ edge }) => {
    const statistics = rowAt(snapshot.statistics, edge.gradient);
    if (statistics === null) return [];
    const consumer = rowAt(snapshot.nodes, edge.target)?.name ?? "its consumer";
    const label = `of output ${edge.output}, from ${consumer}`;
    return [{ label, incoming: true, statistics }];
  });
  return [...fromConsumers, ...back];
}

function storagesOf(tables: Tables, uses: readonly TensorUse[]): StorageUse[] {
  const roles = new Map<number, string[]>();
  for (const { tensor, role } of uses) {
    if (tensor.storage === null) continue;
    const known = roles.get(tensor.storage) ?? [];
    known.push(role);
    roles.set(tensor.storage, known);
  }
  return [...roles].flatMap(([id, names]) => storageUse(tables, id, names) ?? []);
}

/** A storage with who wrote it; null where the row is missing. */
export function storageUse(
  tables: Tables,
  id: number,
  roles: readonly string[],
): StorageUse | null {
  const { snapshot } = tables;
  const storage = rowAt(snapshot.storages, id);
  if (storage === null) return null;
  const writes = (tables.writesTo.get(id) ?? []).map((write) => ({
    write,
    place: placeOf(snapshot, write.site),
  }));
  return { id, storage, roles: [...new Set(roles)], writes };
}

function neighbours(
  snapshot: Snapshot,
  edges: readonly EdgeRef[],
  end: "source" | "target",
): Neighbour[] {
  return edges.flatMap(({ id, edge }) => {
    const node = rowAt(snapshot.nodes, edge[end]);
    return node === null ? [] : [{ edgeId: id, edge, nodeId: edge[end], node }];
  });
}

export function nodeDetails(tables: Tables, id: number): NodeDetails | null {
  const { snapshot } = tables;
  const node = rowAt(snapshot.nodes, id);
  if (node === null) return null;
  const incoming = tables.incoming.get(id) ?? [];
  const outgoing = tables.outgoing.get(id) ?? [];
  const inputs = inputsOf(snapshot, node, incoming);
  const outputs = usesOf(snapshot, node.outputs, "output");
  const saved = savedOf(tables, id);
  return {
    id,
    node,
    scopes: scopeChain(snapshot.scopes, node.scope).flatMap((scopeId) => {
      const scope = rowAt(snapshot.scopes, scopeId);
      return scope === null ? [] : [{ id: scopeId, scope }];
    }),
    module: moduleAround(snapshot, node.scope),
    place: placeOf(snapshot, node.site),
    stack: node.stack.flatMap((site) => placeOf(snapshot, site) ?? []),
    inputs,
    outputs,
    saved,
    gradients: gradientsOf(tables, id, node),
    storages: storagesOf(tables, [...inputs, ...outputs, ...saved]),
    producers: neighbours(snapshot, incoming, "source"),
    consumers: neighbours(snapshot, outgoing, "target"),
    hooks: node.hooks.map((name, at) => ({
      name,
      place: placeOf(snapshot, node.hook_sites[at]),
    })),
  };
}

export function edgeDetails(tables: Tables, id: number): EdgeDetails | null {
  const { snapshot } = tables;
  const edge = rowAt(snapshot.edges, id);
  if (edge === null) return null;
  const meta = rowAt(snapshot.tensors, edge.tensor);
  const tensor =
    meta === null || edge.tensor === null
      ? null
      : { role: "tensor", id: edge.tensor, tensor: meta };
  return {
    id,
    edge,
    source: rowAt(snapshot.nodes, edge.source),
    target: rowAt(snapshot.nodes, edge.target),
    tensor,
    gradient: rowAt(snapshot.statistics, edge.gradient),
    storages: storagesOf(tables, tensor === null ? [] : [tensor]),
  };
}

/** What a node is called where its own name is empty. */
export function nodeTitle(id: number, node: OpNode): string {
  return node.name || node.call || `node #${id}`;
}

/** A short name of a tensor: its own where known, else its number. */
export function tensorLabel(id: number, tensor: TensorMeta): string {
  return tensor.name ?? `tensor #${id}`;
}

/** The tensors of a node to choose from, each once, with every role it plays. */
export function tensorChoices(details: {
  readonly outputs: readonly TensorUse[];
  readonly inputs: readonly TensorUse[];
  readonly saved: readonly TensorUse[];
}): TensorUse[] {
  const byId = new Map<number, TensorUse>();
  for (const use of [...details.outputs, ...details.inputs, ...details.saved]) {
    const known = byId.get(use.id);
    const role = known === undefined ? use.role : `${known.role}, ${use.role}`;
    byId.set(use.id, { ...use, role });
  }
  return [...byId.values()];
}

/** How a tensor is called and lies in memory: what was seen twice is the same here. */
function viewKey({ name, shape, strides, offset }: TensorMeta): string {
  return [name ?? "", shape, strides, offset].join("|");
}

export interface ViewRow {
  readonly id: number;
  readonly tensor: TensorMeta;
}

/** The tensors that look into a storage; the same one, seen again after a write, once. */
export function viewsOf(snapshot: Snapshot, storage: number | null): ViewRow[] {
  const seen = new Map<string, ViewRow>();
  for (const id of rowAt(snapshot.storages, storage)?.tensors ?? []) {
    const tensor = rowAt(snapshot.tensors, id);
    if (tensor === null) continue;
    const key = viewKey(tensor);
    if (!seen.has(key)) seen.set(key, { id, tensor });
  }
  return [...seen.values()];
}

/** The views that share a tensor's storage, itself left out. */
export function otherViews(snapshot: Snapshot, id: number): ViewRow[] {
  const own = rowAt(snapshot.tensors, id);
  if (own === null) return [];
  const key = viewKey(own);
  return viewsOf(snapshot, own.storage).filter(({ tensor }) => viewKey(tensor) !== key);
}

/** How many elements a storage holds, as far as it is known. */
export function storageLength(snapshot: Snapshot, tensor: TensorMeta): number | null {
  const storage = rowAt(snapshot.storages, tensor.storage);
  if (storage === null || storage.itemsize <= 0) return null;
  return Math.floor(storage.nbytes / storage.itemsize);
}
