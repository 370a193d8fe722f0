// The gradients of parameters over the steps of a training, as charts and lists need them.
import type { FlowLayer, FlowPoint, Snapshot, Statistics } from "../ir/types.js";
import { type FailedPass, failedPasses } from "./flow-failed.js";

/** What is wrong with the gradient of a layer; "" where nothing is. */
export type Verdict = "" | "none" | "zero" | "vanishing" | "exploding" | "not finite";

export interface Flow {
  readonly layers: readonly FlowLayer[];
  /** The numbers of the steps: of a recording those of its passes, from 1; those that a
   * watch counts begin at 0, as in its findings. */
  readonly steps: readonly number[];
  /** Per step: its backward pass, where that one raised. */
  readonly failed: readonly (FailedPass | null)[];
  /** Layers × steps; NaN where nothing was measured. */
  readonly norms: Float64Array;
  /** What each step changed of a parameter, as a share of its norm. */
  readonly ratios: Float64Array;
  /** How many elements are NaN or infinite. */
  readonly bad: Float64Array;
  /** How many elements are 0. */
  readonly zeros: Float64Array;
  /** Per layer: the last full statistics, and the step they are of. */
  readonly histograms: readonly (LayerHistogram | null)[];
  readonly hasRatios: boolean;
  /** Which of several processes this is; null where there is one. */
  readonly rank: number | null;
  readonly ranks: readonly number[];
}

export interface LayerHistogram {
  readonly step: number;
  readonly statistics: Statistics;
}

/** Elements this much smaller than those of the largest gradient hardly learn. */
const VANISHING = 1e-5;
/** Times the share by which a step usually changes a weight: who gets that learns. */
const MOVED = 0.01;
/** Norms this much larger than the layer's own so far are no ordinary spike. */
const EXPLODING = 100;
/** Times the median of all layers, where there are no earlier steps. */
const BEYOND = 1e5;
const ENOUGH = 5; // earlier steps before a layer has an ordinary norm
const ROOM = 32; // steps that say what is ordinary

export function hasFlow({ flow, nodes }: Snapshot): boolean {
  return flow.length > 0 || nodes.some((node) => isReachedLeaf(node));
}

function isReachedLeaf({ kind, grad_outputs }: Snapshot["nodes"][number]): boolean {
  return kind === "accumulate" && grad_outputs.some((row) => row >= 0);
}

/** The flow of one process, else of the first; without a history, one step. */
export function flowOf(snapshot: Snapshot, wanted: number | null = null): Flow {
  const source = snapshot.flow.length === 0 ? ofLeaves(snapshot) : snapshot;
  const { flow_layers: layers, flow_steps, flow, statistics } = source;
  const ranks = [...new Set(flow_steps.flatMap(({ rank }) => rank ?? []))];
  ranks.sort((a, b) => a - b);
  const isThere = wanted !== null && ranks.includes(wanted);
  const rank = isThere ? wanted : (ranks[0] ?? null);
  const isRecording = snapshot.nodes.length > 0 && rank === null;
  // Of other passes of a recording nothing but their numbers is known.
  const told = new Set(flow.map(({ step }) => step));
  const rows = flow_steps.flatMap((step, row) =>
    step.rank === rank && (told.has(row) || !isRecording) ? [row] : [],
  );
  rows.sort((a, b) => (flow_steps[a]?.number ?? 0) - (flow_steps[b]?.number ?? 0));
  const from = isRecording ? 1 : 0;
  const numberOf = (row: number) => (flow_steps[row]?.number ?? 0) + from;
  const column = new Map(rows.map((row, place) => [row, place]));
  const cells = () => new Float64Array(layers.length * rows.length).fill(Number.NaN);
  const [norms, ratios, bad, zeros] = [cells(), cells(), cells(), cells()];
  const histograms: (LayerHistogram | null)[] = layers.map(() => null);
  let hasRatios = false;
  for (const point of flow) {
    const place = column.get(point.step);
    if (place === undefined) continue;
    const at = point.layer * rows.length + place;
    norms[at] = point.norm ?? Number.NaN;
    bad[at] = point.nans + point.infs;
    zeros[at] = point.zeros;
    const ratio = ratioOf(point);
    if (ratio !== null) {
      ratios[at] = ratio;
      hasRatios = true;
    }
    const full = point.gradient === null ? undefined : statistics[point.gradient];
    if (full !== undefined && full.histogram.length > 0) {
      const step = numberOf(point.step);
      histograms[point.layer] = { step, statistics: full };
    }
  }
  const steps = rows.map(numberOf);
  const passes = failedPasses(snapshot);
  const failed = rows.map((row) => {
    const at = flow_steps[row]?.time_ns ?? 0;
    return passes.find((pass) => pass.begin_ns <= at && at <= pass.end_ns) ?? null;
  });
  const values = { norms, ratios, bad, zeros, histograms, hasRatios };
  return { layers, steps, failed, ...values, rank, ranks };
}

function ratioOf({ update_norm, weight_norm }: FlowPoint): number | null {
  return update_norm === null || !weight_norm ? null : update_norm / weight_norm;
}

/** One step, made of the gradients that reached the leaves, and of leaves without. */
function ofLeaves(snapshot: Snapshot): Snapshot {
  const layers: FlowLayer[] = [];
  const flow: FlowPoint[] = [];
  snapshot.nodes.forEach((leaf, node) => {
    const gradient = leaf.grad_outputs.find((row) => row >= 0);
    const found = gradient === undefined ? undefined : snapshot.statistics[gradient];
    if (leaf.kind !== "accumulate") return;
    const tensor = leaf.outputs[0] ?? null;
    if (gradient !== undefined && found !== undefined) {
      const { norm, zeros, nans, infs } = found;
      const unknown = { weight_norm: null, update_norm: null, local_norm: null };
      const point = { norm, zeros, nans, infs, gradient, step: 0, largest: null };
      flow.push({ ...point, ...unknown, layer: layers.length });
    }
    const shape = tensor === null ? [] : (snapshot.tensors[tensor]?.shape ?? []);
    const count = found?.count ?? shape.reduce((all, size) => all * size, 1);
    const name = leaf.call || leaf.name;
    layers.push({ name, kind: "", count, node, tensor, optimizer: "", frozen: false });
  });
  const times = { step_ns: null, backward_ns: null, wait_ns: null };
  const step = { number: 0, time_ns: 0, rank: null, learning_rate: null };
  const flow_steps = [{ ...step, ...times, stepped: false }];
  return { ...snapshot, flow_layers: layers, flow_steps, flow };
}

const at = (flow: Flow, values: Float64Array, layer: number, step: number) =>
  values[layer * flow.steps.length + step] ?? Number.NaN;

export function normAt(flow: Flow, layer: number, step: number): number | null {
  const norm = at(flow, flow.norms, layer, step);
  return Number.isNaN(norm) ? null : norm;
}

/** What came to each leaf in a step (its number from 1; null: the last), by its node. */
export function leafNorms(flow: Flow, number: number | null): Map<number, number> {
  const found = number === null ? -1 : flow.steps.indexOf(number);
  const step = found >= 0 ? found : flow.steps.length - 1;
  const norms = new Map<number, number>();
  flow.layers.forEach(({ node }, layer) => {
    const norm = normAt(flow, layer, step);
    if (node !== null && norm !== null) norms.set(node, norm);
  });
  return norms;
}

export function isBadAt(flow: Flow, layer: number, step: number): boolean {
  return at(flow, flow.bad, layer, step) > 0;
}

/** The verdict on each layer at a step; as gradviz/flow/judge.py has it. */
export function judge(flow: Flow, step: number): Verdict[] {
  const { layers } = flow;
  const scales = layers.map((layer, row) => scaleOf(flow, layer, row, step));
  const known = scales.filter((scale) => scale !== null && scale > 0) as number[];
  const middle = medianOf(known) ?? 0;
  const verdicts = layers.map((_, row): Verdict => {
    const norm = normAt(flow, row, step);
    if (isBadAt(flow, row, step)) return "not finite";
    if (norm === null) return layers[row]?.frozen ? "" : "none";
    const scale = scales[row] ?? 0;
    // Of a spread parameter this process may hold no element at all.
    if (scale === 0) return at(flow, flow.zeros, row, step) > 0 ? "zero" : "";
    const usual = usualOf(flow, row, step);
    if (usual === null) {
      return scale > 1 && scale > BEYOND * middle ? "exploding" : "";
    }
    return norm > EXPLODING * usual ? "exploding" : "";
  });
  // Beside a gradient that explodes all others look small.
  const healthy = scales.filter((_, row) => verdicts[row] === "") as number[];
  const largest = Math.max(0, ...healthy);
  const shares = layers.map((layer, row) =>
    isShift(layer) ? Number.NaN : at(flow, flow.ratios, row, step),
  );
  const moved = MOVED * (medianOf(shares.filter((share) => !Number.isNaN(share))) ?? 0);
  return verdicts.map((verdict, row) => {
    const layer = layers[row];
    const stands = !((shares[row] ?? Number.NaN) > moved);
    const scale = scales[row] ?? 0;
    const isTiny = scale > 0 && scale < VANISHING * largest;
    const vanishes = stands && isTiny && layer !== undefined && !isShift(layer);
    return verdict === "" && vanishes ? "vanishing" : verdict;
  });
}

const isShift = ({ name }: FlowLayer) =>
  name.split(".").at(-1)?.includes("bias") ?? false;

/** The root mean square of a gradient's elements. */
function scaleOf(flow: Flow, { count }: FlowLayer, row: number, step: number) {
  const norm = normAt(flow, row, step);
  return norm === null ? null : norm / Math.sqrt(Math.max(1, count));
}

/** The median norm of a layer over the steps before. */
function usualOf(flow: Flow, row: number, step: number): number | null {
  const seen: number[] = [];
  for (let before = step - 1; before >= 0 && seen.length < ROOM; before--) {
    const norm = normAt(flow, row, before);
    if (norm !== null && norm > 0) seen.push(norm);
  }
  return seen.length < ENOUGH ? null : medianOf(seen);
}

function medianOf(values: readonly number[]): number | null {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle];
  if (upper === undefined) return null;
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] ?? upper)) / 2;
}

/** "2 vanishing: a.weight, b.weight" for each kind of trouble, the worst first. */
export const TROUBLES: readonly Exclude<Verdict, "">[] = [
  "not finite",
  "exploding",
  "vanishing",
  "zero",
  "none",
];

export const TROUBLE_WORDS: Readonly<Record<Exclude<Verdict, "">, string>> = {
  "not finite": "with NaN or Inf",
  exploding: "exploding",
  vanishing: "vanishing",
  zero: "all zero",
  none: "without a gradient",
};
