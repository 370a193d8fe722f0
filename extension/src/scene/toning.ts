// The tone of every node under each meaning of colour, with the legend that goes with it.
import type { Graph } from "../graph/build.js";
import type { ColorBy } from "../graph/color-by.js";
import { isFold } from "../graph/fold.js";
import { gradientNorm } from "../graph/gradients.js";
import { eachDrawn } from "../graph/shown.js";
import type { OpNode, Snapshot, TensorMeta } from "../ir/types.js";
import { formatBytes, formatNanoseconds } from "../state/format.js";
import { FAMILY_LABELS, type Family, familyOf } from "./families.js";
import {
  logRange,
  PLAIN,
  RAMP_STEPS,
  SERIES_COUNT,
  shareOf,
  type Tone,
  type Toning,
} from "./tones.js";

export function toneNodes(graph: Graph, colorBy: ColorBy): Toning {
  const { snapshot } = graph;
  const { nodes } = snapshot;
  switch (colorBy) {
    case "family":
      return byFamily(graph);
    case "gradient":
      return byNumber({
        caption: "norm of the gradient",
        values: nodes.map((node) => gradientNorm(snapshot, node)),
        format: short,
        missing: "no gradient recorded",
      });
    case "value":
      return byNumber({
        caption: "largest value, without sign",
        values: nodes.map((node) => largestValue(snapshot, node)),
        format: short,
        missing: "no value recorded",
      });
    case "time":
      return byNumber({
        caption: "time of the backward function",
        values: nodes.map((node) => node.elapsed_ns),
        format: (elapsed) => formatNanoseconds(Math.round(elapsed)),
        missing: "not run, or not timed",
      });
    case "memory":
      return byNumber({
        caption: "bytes kept for backward",
        values: savedBytes(snapshot),
        format: (nbytes) => formatBytes(Math.round(nbytes)),
        missing: "keeps nothing",
      });
    case "version":
      return byNumber({
        caption: "times its memory was written in place",
        values: nodes.map((node) => versionOf(snapshot, node) || null),
        format: (version) => String(Math.round(version)),
        missing: "never written in place",
      });
    case "scope":
      return byWord(nodes, (node) => topScope(graph, node), "no module");
    case "dtype":
      return byWord(nodes, (node) => outputOf(snapshot, node)?.dtype, "no output");
    case "device":
      return byWord(nodes, (node) => outputOf(snapshot, node)?.device, "no output");
    case "storage":
      return byStorage(snapshot);
  }
}

function byFamily(graph: Graph): Toning {
  const tones = new Map<Family, Tone>();
  const toneOf = (node: OpNode): Tone => {
    const family = familyOf(node);
    const tone = tones.get(family) ?? { kind: "family", family };
    tones.set(family, tone);
    return tone;
  };
  const { snapshot } = graph;
  return {
    caption: null,
    nodeTone: (id) => {
      const node = graph.shown?.[id] === 0 ? undefined : snapshot.nodes[id];
      return node === undefined ? PLAIN : toneOf(node);
    },
    get meanings() {
      const used = new Set<Family>();
      eachDrawn(snapshot, (node) => used.add(familyOf(node)));
      return (Object.keys(FAMILY_LABELS) as Family[])
        .filter((family) => used.has(family))
        .map((family) => ({
          tone: { kind: "family", family } as const,
          text: FAMILY_LABELS[family],
        }));
    },
  };
}

interface Numbers {
  readonly caption: string;
  /** Per node; null where it is not known. */
  readonly values: readonly (number | null)[];
  readonly format: (value: number) => string;
  readonly missing: string;
}

/** On a logarithmic ramp: gradients vanish and explode by factors, as times differ. */
function byNumber({ caption, values, format, missing }: Numbers): Toning {
  const range = logRange(values);
  const ramp = Array.from({ length: RAMP_STEPS }, (_, step): Tone => {
    return { kind: "ramp", step };
  });
  const last = RAMP_STEPS - 1;
  const nodeTone = (node: number): Tone => {
    const value = values[node] ?? null;
    if (value === null || !Number.isFinite(value)) return PLAIN;
    return ramp[Math.round(shareOf(range, value) * last)] ?? PLAIN;
  };
  const rest = { tone: PLAIN, text: missing };
  if (range === null) return { caption, nodeTone, meanings: [rest] };
  const shares = range.high === range.low ? [0.5] : [0, 0.5, 1];
  const meanings = shares.map((share) => ({
    tone: ramp[Math.round(share * last)] ?? PLAIN,
    text: format(range.low * (range.high / range.low) ** share),
  }));
  const hasRest = values.some((value) => value === null || !Number.isFinite(value));
  return { caption, nodeTone, meanings: hasRest ? [...meanings, rest] : meanings };
}

function short(value: number): string {
  return value.toPrecision(2);
}

/** A colour for each word; where there are more words than colours, for the most frequent
 * ones, and one for all others: no colour has two meanings. */
function byWord(
  nodes: readonly OpNode[],
  wordOf: (node: number) => string | null | undefined,
  missing: string,
  caption: string | null = null,
): Toning {
  const words = nodes.map((_, node) => wordOf(node) ?? null);
  const counts = new Map<string, number>();
  for (const word of words) {
    if (word !== null) counts.set(word, (counts.get(word) ?? 0) + 1);
  }
  const frequent = [...counts].sort((a, b) => b[1] - a[1]).map(([word]) => word);
  const own = frequent.length > SERIES_COUNT ? SERIES_COUNT - 1 : SERIES_COUNT;
  const kept = new Set(frequent.slice(0, own));
  const others: Tone = { kind: "series", index: SERIES_COUNT - 1 };
  const tones = new Map<string, Tone>();
  for (const word of counts.keys()) {
    if (kept.has(word)) tones.set(word, { kind: "series", index: tones.size });
  }
  const meanings = Array.from(tones, ([text, tone]) => ({ tone, text }));
  const rest = frequent.length - kept.size;
  if (rest > 0) meanings.push({ tone: others, text: `${rest} others` });
  if (words.includes(null)) meanings.push({ tone: PLAIN, text: missing });
  const toneOf = (word: string | null): Tone =>
    word === null ? PLAIN : (tones.get(word) ?? others);
  return { caption, nodeTone: (node) => toneOf(words[node] ?? null), meanings };
}

/** Nodes whose outputs look into the same memory have one colour. */
function byStorage(snapshot: Snapshot): Toning {
  const { nodes } = snapshot;
  const storages = nodes.map((node) => outputOf(snapshot, node)?.storage ?? null);
  const users = new Map<number, number>();
  for (const storage of storages) {
    if (storage !== null) users.set(storage, (users.get(storage) ?? 0) + 1);
  }
  const wordOf = (node: number) => {
    const storage = storages[node] ?? null;
    if (storage === null || (users.get(storage) ?? 0) < 2) return null;
    const size = formatBytes(snapshot.storages[storage]?.nbytes ?? 0);
    return `storage #${storage}, ${size}`;
  };
  return byWord(nodes, wordOf, "memory of its own", "nodes that share memory");
}

function outputOf(snapshot: Snapshot, node: number | OpNode): TensorMeta | null {
  const row = typeof node === "number" ? snapshot.nodes[node] : node;
  return snapshot.tensors[row?.outputs[0] ?? -1] ?? null;
}

function largestValue(snapshot: Snapshot, node: OpNode): number | null {
  let largest: number | null = null;
  for (const output of node.outputs) {
    const row = snapshot.tensors[output]?.statistics ?? null;
    const { minimum = null, maximum = null } =
      row === null ? {} : (snapshot.statistics[row] ?? {});
    if (minimum === null || maximum === null) continue;
    largest = Math.max(largest ?? 0, Math.abs(minimum), Math.abs(maximum));
  }
  return largest;
}

function versionOf(snapshot: Snapshot, node: OpNode): number {
  const storage = outputOf(snapshot, node)?.storage ?? null;
  return storage === null ? 0 : (snapshot.storages[storage]?.version ?? 0);
}

/** Per node: the memory that its saved tensors look into, each storage once. */
function savedBytes(snapshot: Snapshot): (number | null)[] {
  const kept = new Map<number, Set<number>>();
  for (const { node, tensor } of snapshot.saved) {
    const storage = snapshot.tensors[tensor]?.storage ?? null;
    if (storage === null) continue;
    const known = kept.get(node);
    if (known === undefined) kept.set(node, new Set([storage]));
    else known.add(storage);
  }
  return snapshot.nodes.map((_, node) => {
    const storages = kept.get(node);
    if (storages === undefined) return null;
    let nbytes = 0;
    for (const id of storages) nbytes += snapshot.storages[id]?.nbytes ?? 0;
    return nbytes;
  });
}

function topScope(graph: Graph, node: number): string | null {
  const { snapshot } = graph;
  const names: string[] = [];
  let scope = graph.nodeScope[node] ?? -1;
  while (scope >= 0) {
    const name = snapshot.scopes[scope]?.name.replace(/#\d+$/, "") ?? "";
    if (!isFold(snapshot, scope)) names.push(name);
    scope = graph.scopeParent[scope] ?? -1;
  }
  // A model that is one module all over would be one colour: use its children then.
  return names[names.length - 2] ?? names[0] ?? null;
}
