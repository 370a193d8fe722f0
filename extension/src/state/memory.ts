// What a node keeps alive, and which names of the program keep the node.
import type { Snapshot, TensorMeta } from "../ir/types.js";
import { rowAt, type Tables } from "./tables.js";

/** A name that leads to the node, and how far away it is. */
export interface Holder {
  readonly name: string;
  /** The node whose output the name holds. */
  readonly node: number;
  /** Nodes on the way: 0 is the node's own output. */
  readonly steps: number;
}

export interface MemoryUse {
  /** Bytes of the storages that this node saves, those that are freed left out. */
  readonly own: number;
  /** The part of it that nothing else saves, and no name holds. */
  readonly alone: number;
  /** Bytes of all storages saved by this node and what is behind it. */
  readonly behind: number;
  readonly nodesBehind: number;
  readonly isFreed: boolean;
  /** Names that keep the node, the nearest first. */
  readonly holders: readonly Holder[];
  /** Names that keep memory of it all the same: the tensors themselves. */
  readonly memoryHolders: readonly string[];
  /** Whether the recording tells of names. */
  readonly namesKnown: boolean;
}

const HOLDERS = 6;

function storagesOf({ snapshot, savedBy }: Tables, node: number): Set<number> {
  const found = new Set<number>();
  for (const saved of savedBy.get(node) ?? []) {
    const storage = rowAt(snapshot.tensors, saved.tensor)?.storage ?? null;
    if (storage !== null && !saved.freed) found.add(storage);
  }
  return found;
}

function bytesOf({ storages }: Snapshot, ids: Iterable<number>): number {
  let sum = 0;
  for (const id of ids) sum += storages[id]?.nbytes ?? 0;
  return sum;
}

/** The nodes behind a node, itself first: what backward() would walk from there. */
function behind({ incoming }: Tables, node: number): number[] {
  const found = new Set([node]);
  for (const at of found) {
    for (const { edge } of incoming.get(at) ?? []) {
      if (edge.kind === "data") found.add(edge.source);
    }
  }
  return [...found];
}

/** The names of a tensor; without any in the recording, a variable that it was seen as. */
function namesOf(tensor: TensorMeta | null, known: boolean): readonly string[] {
  if (tensor === null) return [];
  if (known) return tensor.holders;
  return tensor.name === null ? [] : [tensor.name];
}

function holdersOf(tables: Tables, node: number, known: boolean): Holder[] {
  const { snapshot, outgoing } = tables;
  const steps = new Map([[node, 0]]);
  const found: Holder[] = [];
  for (const [at, step] of steps) {
    for (const output of rowAt(snapshot.nodes, at)?.outputs ?? []) {
      for (const name of namesOf(rowAt(snapshot.tensors, output), known)) {
        // One variable may have been seen several times, as in-place writes went on.
        const isNew = !found.some((holder) => holder.name === name);
        if (isNew && found.length < HOLDERS)
          found.push({ name, node: at, steps: step });
      }
    }
    if (found.length >= HOLDERS) break;
    for (const { edge } of outgoing.get(at) ?? []) {
      if (edge.kind === "data" && !steps.has(edge.target)) {
        steps.set(edge.target, step + 1);
      }
    }
  }
  return found;
}

export function memoryOf(tables: Tables, node: number): MemoryUse {
  const { snapshot } = tables;
  const own = storagesOf(tables, node);
  const nodes = behind(tables, node);
  const all = new Set(nodes.flatMap((id) => [...storagesOf(tables, id)]));
  const others = new Set<number>();
  for (const saved of snapshot.saved) {
    const storage = rowAt(snapshot.tensors, saved.tensor)?.storage ?? null;
    if (saved.node !== node && !saved.freed && storage !== null) others.add(storage);
  }
  const known = snapshot.tensors.some(({ holders }) => holders.length > 0);
  const memory = new Map<number, readonly string[]>();
  for (const storage of own) {
    const aliases = rowAt(snapshot.storages, storage)?.tensors ?? [];
    const names = aliases.flatMap((id) => namesOf(rowAt(snapshot.tensors, id), known));
    memory.set(storage, [...new Set(names)]);
  }
  const alone = [...own].filter(
    (storage) => !others.has(storage) && memory.get(storage)?.length === 0,
  );
  return {
    own: bytesOf(snapshot, own),
    alone: bytesOf(snapshot, alone),
    behind: bytesOf(snapshot, all),
    nodesBehind: nodes.length - 1,
    isFreed: rowAt(snapshot.nodes, node)?.flags.includes("freed") ?? false,
    holders: holdersOf(tables, node, known),
    memoryHolders: [...new Set([...memory.values()].flat())],
    namesKnown: known,
  };
}
