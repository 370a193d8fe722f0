// Which colour a box asks for. Themes turn tones into colours.
import type { Graph } from "../graph/build.js";
import type { VisibleGraph } from "../graph/collapse.js";
import type { ColorBy } from "../graph/color-by.js";
import { gradientNorm } from "../graph/gradients.js";
import type { OpNode } from "../ir/types.js";
import { FAMILY_LABELS, type Family, familyOf } from "./families.js";

export const SERIES_COUNT = 7;
export const RAMP_STEPS = 9;

/** A family's colour, one of a series of distinct colours, a step of a ramp from small
 * to large, or plain for "not known". */
export type Tone =
  | { readonly kind: "family"; readonly family: Family }
  | { readonly kind: "series"; readonly index: number }
  | { readonly kind: "ramp"; readonly step: number }
  | { readonly kind: "plain" };

export const PLAIN: Tone = { kind: "plain" };

/** The tones of all nodes under one meaning of colour, and what each tone means. */
export interface Toning {
  readonly nodeTone: (node: number) => Tone;
  /** For legends: tones with their meaning, in order. */
  readonly meanings: readonly { readonly tone: Tone; readonly text: string }[];
}

export function toneNodes(graph: Graph, colorBy: ColorBy): Toning {
  switch (colorBy) {
    case "family":
      return byFamily(graph);
    case "gradient":
      return byGradient(graph);
    case "scope":
      return byWord(graph, (node) => topScope(graph, node));
    case "dtype":
      return byWord(graph, (node) => {
        const output = graph.snapshot.nodes[node]?.outputs[0] ?? -1;
        return graph.snapshot.tensors[output]?.dtype ?? null;
      });
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
  const nodes = graph.snapshot.nodes.map(toneOf);
  const used = (Object.keys(FAMILY_LABELS) as Family[]).flatMap((family) => {
    const tone = tones.get(family);
    return tone === undefined ? [] : [{ tone, text: FAMILY_LABELS[family] }];
  });
  return { nodeTone: (node) => nodes[node] ?? PLAIN, meanings: used };
}

/** Norms on a logarithmic ramp: vanishing and exploding gradients are factors, not sums. */
function byGradient(graph: Graph): Toning {
  const norms = graph.snapshot.nodes.map((node) => gradientNorm(graph.snapshot, node));
  const range = logRange(norms);
  const ramp = Array.from({ length: RAMP_STEPS }, (_, step): Tone => {
    return { kind: "ramp", step };
  });
  const nodeTone = (node: number): Tone => {
    const norm = norms[node] ?? null;
    if (norm === null || !Number.isFinite(norm)) return PLAIN;
    const share = shareOf(range, norm);
    return ramp[Math.round(share * (RAMP_STEPS - 1))] ?? PLAIN;
  };
  if (range === null) {
    return { nodeTone, meanings: [{ tone: PLAIN, text: "no gradient recorded" }] };
  }
  const meanings = [0, 4, 8].map((step) => ({
    tone: ramp[step] ?? PLAIN,
    text: (range.low * (range.high / range.low) ** (step / 8)).toPrecision(2),
  }));
  return {
    nodeTone,
    meanings: [...meanings, { tone: PLAIN, text: "no gradient recorded" }],
  };
}

export interface LogRange {
  readonly low: number;
  readonly high: number;
}

/** The smallest and largest of the positive finite values. */
export function logRange(values: Iterable<number | null>): LogRange | null {
  let low = Number.POSITIVE_INFINITY;
  let high = 0;
  for (const value of values) {
    if (value === null || !(value > 0) || !Number.isFinite(value)) continue;
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  return high > 0 ? { low, high } : null;
}

/** Where a value lies in a range, from 0 to 1, by its logarithm; zero is 0. */
export function shareOf(range: LogRange | null, value: number): number {
  if (range === null || !(value > 0)) return 0;
  if (range.high === range.low) return 0.5;
  const share = Math.log(value / range.low) / Math.log(range.high / range.low);
  return Math.min(1, Math.max(0, share));
}

function topScope(graph: Graph, node: number): string | null {
  let scope = graph.nodeScope[node] ?? -1;
  if (scope < 0) return null;
  const names: string[] = [];
  while (scope >= 0) {
    names.push(graph.snapshot.scopes[scope]?.name.replace(/#\d+$/, "") ?? "");
    scope = graph.scopeParent[scope] ?? -1;
  }
  // A model that is one module all over would be one colour: use its children then.
  return names.length > 1 ? (names[names.length - 2] ?? null) : (names[0] ?? null);
}

function byWord(graph: Graph, wordOf: (node: number) => string | null): Toning {
  const tones = new Map<string, Tone>();
  const nodes = graph.snapshot.nodes.map((_, node) => {
    const word = wordOf(node);
    if (word === null) return PLAIN;
    const tone = tones.get(word) ?? {
      kind: "series",
      index: tones.size % SERIES_COUNT,
    };
    tones.set(word, tone);
    return tone;
  });
  const meanings = Array.from(tones, ([text, tone]) => ({ tone, text }));
  return { nodeTone: (node) => nodes[node] ?? PLAIN, meanings };
}

/** The tone of every item; a closed scope takes its strongest ramp or its one series. */
export function toneItems(visible: VisibleGraph, toning: Toning): readonly Tone[] {
  const tones: Tone[] = Array.from(visible.node, (node) =>
    node < 0 ? PLAIN : toning.nodeTone(node),
  );
  visible.itemOfNode.forEach((item, node) => {
    if ((visible.scope[item] ?? -1) < 0) return;
    tones[item] = stronger(tones[item] ?? PLAIN, toning.nodeTone(node));
  });
  return tones;
}

function stronger(a: Tone, b: Tone): Tone {
  if (b.kind === "series" && a.kind === "plain") return b;
  if (b.kind !== "ramp") return a;
  return a.kind !== "ramp" || b.step > a.step ? b : a;
}
