// What a running kernel sends between two snapshots: numbers that replace those of the
// snapshot before. A delta stands for itself: one that is lost or late does no harm.
import { SnapshotError } from "./errors.js";
import type { FlowPoint, Snapshot, Statistics } from "./types.js";

/** Columns of gradviz/live.py. */
const STATISTICS = 8;
const FLOW_NUMBERS = 5;
const BINS = 32;
const HISTOGRAM = 2 + BINS;
/** Older steps of the flow are dropped beyond this many points, as the kernel does. */
const MOST_POINTS = 100_000;

export interface FlowTail {
  readonly numbers: readonly number[];
  readonly times_ns: readonly number[];
  readonly stepped: readonly boolean[];
  /** Steps × layers × (norm, largest, zeros, NaN, Inf); NaN where there is no point. */
  readonly points: Float32Array;
  /** Layers × (low, high, bins…) of the last step. */
  readonly histograms: Float32Array;
}

export interface Delta {
  /** The snapshot that it belongs to, and its place among the deltas of the kernel. */
  readonly revision: number;
  readonly number: number;
  /** How many statistics that snapshot has. */
  readonly statistics: number;
  readonly rows: Uint32Array;
  readonly values: Float32Array;
  readonly flow: FlowTail | null;
}

const DAMAGED = "An update from the kernel did not arrive whole.";

/** Read a message of the kernel.
 *
 * @throws SnapshotError when it is no delta. */
export function decodeDelta(content: unknown, buffers: readonly DataView[]): Delta {
  const live = content as Partial<Record<string, unknown>> | null;
  const { revision, number, rows, statistics, flow } = live ?? {};
  const [ids, values, points, histograms] = buffers;
  if (!isCount(revision) || !isCount(number) || !isCount(rows)) fail();
  if (!isCount(statistics)) fail();
  if (ids?.byteLength !== 4 * rows) fail();
  if (values?.byteLength !== 4 * STATISTICS * rows) fail();
  return {
    revision,
    number,
    statistics,
    rows: new Uint32Array(copy(ids)),
    values: new Float32Array(copy(values)),
    flow: flow === undefined ? null : tailOf(flow, points, histograms),
  };
}

function tailOf(
  flow: unknown,
  points: DataView | undefined,
  histograms: DataView | undefined,
): FlowTail {
  const { numbers, times_ns, stepped } = flow as Partial<FlowTail>;
  if (numbers === undefined || times_ns === undefined || stepped === undefined) fail();
  const steps = numbers.length;
  if (times_ns.length !== steps || stepped.length !== steps) fail();
  if (points === undefined || histograms === undefined) fail();
  const layers = histograms.byteLength / (4 * HISTOGRAM);
  if (points.byteLength !== 4 * FLOW_NUMBERS * steps * layers) fail();
  return {
    numbers,
    times_ns,
    stepped,
    points: new Float32Array(copy(points)),
    histograms: new Float32Array(copy(histograms)),
  };
}

/** The snapshot with the numbers of the delta; tables without numbers are the same.
 *
 * @throws SnapshotError when it belongs to another snapshot. */
export function applyDelta(snapshot: Snapshot, delta: Delta): Snapshot {
  const { rows, values, flow } = delta;
  // What a delta before has added goes: it was about an older step.
  const statistics = snapshot.statistics.slice(0, delta.statistics);
  for (let at = 0; at < rows.length; at++) {
    const row = rows[at] ?? 0;
    const before = statistics[row];
    if (before === undefined) fail();
    statistics[row] = statisticsOf(before.count, values, at * STATISTICS);
  }
  const changed = { ...snapshot, statistics };
  return flow === null
    ? changed
    : { ...changed, ...flowOf(snapshot, flow, statistics) };
}

function statisticsOf(count: number, values: Float32Array, at: number): Statistics {
  const number = (column: number) => {
    const value = values[at + column] ?? Number.NaN;
    return Number.isNaN(value) ? null : value;
  };
  return {
    count,
    norm: number(0),
    minimum: number(1),
    maximum: number(2),
    mean: number(3),
    std: number(4),
    zeros: number(5) ?? 0,
    nans: number(6) ?? 0,
    infs: number(7) ?? 0,
    first_bad: null,
    histogram: [], // only whole snapshots have them
    histogram_low: null,
    histogram_high: null,
  };
}

/** Add the steps that are new to the tables of the flow. */
function flowOf(
  snapshot: Snapshot,
  tail: FlowTail,
  statistics: Statistics[],
): Pick<Snapshot, "flow_steps" | "flow"> {
  const { flow_layers: layers } = snapshot;
  if (tail.histograms.length !== layers.length * HISTOGRAM) fail();
  const last = snapshot.flow_steps.at(-1)?.number ?? Number.NEGATIVE_INFINITY;
  const { flow_steps, flow } = withRoom(snapshot);
  const known = statistics.length;
  for (let at = flow.length - 1; at >= 0; at--) {
    const point = flow[at];
    if (point?.step !== flow_steps.length - 1) break;
    const isGone = point.gradient !== null && point.gradient >= known;
    if (isGone) flow[at] = { ...point, gradient: null };
  }
  tail.numbers.forEach((number, at) => {
    if (number <= last) return;
    const time_ns = tail.times_ns[at] ?? 0;
    const before = flow_steps.at(-1)?.time_ns;
    const step = flow_steps.push({
      number,
      time_ns,
      rank: null,
      step_ns: before === undefined ? null : time_ns - before,
      backward_ns: null,
      wait_ns: null,
      learning_rate: null,
      stepped: tail.stepped[at] ?? false,
    });
    const isLast = at === tail.numbers.length - 1;
    layers.forEach((_, layer) => {
      const place = (at * layers.length + layer) * FLOW_NUMBERS;
      const point = pointOf(tail.points, place, step - 1, layer);
      if (point === null) return;
      const full = isLast ? histogramOf(tail, layers, layer, point) : null;
      flow.push({ ...point, gradient: full && statistics.push(full) - 1 });
    });
  });
  return { flow_steps, flow };
}

/** Copies of the tables of the flow, without the oldest steps once there are too many. */
function withRoom({ flow_steps: steps, flow }: Snapshot) {
  if (flow.length <= MOST_POINTS) return { flow_steps: [...steps], flow: [...flow] };
  const first = flow[flow.length >> 2]?.step ?? 0;
  const kept = flow.filter(({ step }) => step >= first);
  return {
    flow_steps: steps.slice(first),
    flow: kept.map((point): FlowPoint => ({ ...point, step: point.step - first })),
  };
}

function pointOf(
  points: Float32Array,
  at: number,
  step: number,
  layer: number,
): FlowPoint | null {
  const zeros = points[at + 2] ?? Number.NaN;
  if (Number.isNaN(zeros)) return null;
  const number = (value: number | undefined) =>
    value === undefined || Number.isNaN(value) ? null : value;
  return {
    step,
    layer,
    norm: number(points[at]),
    largest: number(points[at + 1]),
    zeros,
    nans: points[at + 3] ?? 0,
    infs: points[at + 4] ?? 0,
    weight_norm: null,
    update_norm: null,
    local_norm: null,
    gradient: null,
  };
}

function histogramOf(
  { histograms }: FlowTail,
  layers: Snapshot["flow_layers"],
  layer: number,
  point: FlowPoint,
): Statistics | null {
  const at = layer * HISTOGRAM;
  const [low = 0, high = 0] = histograms.subarray(at, at + 2);
  const histogram = Array.from(histograms.subarray(at + 2, at + HISTOGRAM));
  if (!histogram.some((count) => count > 0)) return null;
  const { norm, zeros, nans, infs } = point;
  return {
    count: layers[layer]?.count ?? 0,
    ...{ norm, zeros, nans, infs, histogram },
    ...{ minimum: low, maximum: high, mean: null, std: null, first_bad: null },
    histogram_low: low,
    histogram_high: high,
  };
}

function isCount(value: unknown): value is number {
  return typeof value === "number" && Number.isInteger(value) && value >= 0;
}

function copy({ buffer, byteOffset, byteLength }: DataView): ArrayBuffer {
  return buffer.slice(byteOffset, byteOffset + byteLength) as ArrayBuffer;
}

function fail(): never {
  throw new SnapshotError(DAMAGED);
}
