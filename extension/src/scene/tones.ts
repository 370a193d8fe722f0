// Which colour a box asks for. Themes turn tones into colours.
import type { Layer } from "../graph/calls.js";
import type { VisibleGraph } from "../graph/collapse.js";
import type { Family } from "./families.js";

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
  /** What the colours measure; null where the meanings say it all. */
  readonly caption: string | null;
  readonly nodeTone: (node: number) => Tone;
  /** For legends: tones with their meaning, in order. */
  readonly meanings: readonly { readonly tone: Tone; readonly text: string }[];
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

/** The tone of every item; a closed scope takes its strongest ramp or its one series, and
 * a layer the family of what it computes. */
export function toneItems(
  visible: VisibleGraph,
  toning: Toning,
  half = visible.node.length,
  layers: ReadonlyMap<number, Layer> = new Map(),
): readonly Tone[] {
  const tones: Tone[] = Array.from(visible.node, (node, item) => {
    if (node >= 0) return toning.nodeTone(node);
    const layer =
      visible.open[item] === 1 ? undefined : layers.get(visible.scope[item] ?? -1);
    const tone = toning.nodeTone(layer?.core ?? -1);
    return tone.kind === "family" ? tone : PLAIN;
  });
  visible.itemOfNode.forEach((item, node) => {
    if ((visible.scope[item] ?? -1) < 0) return;
    tones[item] = stronger(tones[item] ?? PLAIN, toning.nodeTone(node));
  });
  for (let item = half; item < tones.length; item++) {
    tones[item] = tones[item - half] ?? PLAIN;
  }
  return tones;
}

function stronger(a: Tone, b: Tone): Tone {
  if (b.kind === "series" && a.kind === "plain") return b;
  if (b.kind !== "ramp") return a;
  return a.kind !== "ramp" || b.step > a.step ? b : a;
}
