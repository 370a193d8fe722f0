// Which part of a tensor an in-place operation on a view wrote: "[1:3, :]".
import type { OpNode, Snapshot, TensorMeta } from "../ir/types.js";

/** The indices along one dimension: start, end (exclusive), step; a size of null is a
 * single index, which the view does not have as a dimension. */
export interface Span {
  readonly start: number;
  readonly end: number;
  readonly step: number;
  readonly isIndex: boolean;
}

export interface Region {
  readonly spans: readonly Span[];
  readonly shape: readonly number[];
}

/** The region that a CopySlices wrote; null where the recording does not say. */
export function writtenRegion(snapshot: Snapshot, node: OpNode): Region | null {
  if (node.name !== "CopySlices") return null;
  const base = writtenTensor(snapshot, node);
  const view = snapshot.tensors[node.inputs[0] ?? -1];
  if (base === undefined || view === undefined) return null;
  return regionOf(base, view);
}

/** The tensor whose part was written: what is no view among those that share the memory
 * of the output, which may be recorded as the view itself. */
export function writtenTensor(
  snapshot: Snapshot,
  node: OpNode,
): TensorMeta | undefined {
  const output = snapshot.tensors[node.outputs[0] ?? -1];
  const aliases = snapshot.storages[output?.storage ?? -1]?.tensors ?? [];
  const tensors = aliases.map((id) => snapshot.tensors[id]);
  return tensors.find((tensor) => tensor !== undefined && !tensor.is_view) ?? output;
}

/** What a view sees of its base, dimension by dimension; null where it is no slice of it
 * (a transposed or reshaped view mixes dimensions). */
export function regionOf(base: TensorMeta, view: TensorMeta): Region | null {
  const order = base.strides
    .map((stride, axis) => ({ stride, axis }))
    .sort((a, b) => b.stride - a.stride);
  const spans: Span[] = new Array(base.shape.length);
  let offset = view.offset - base.offset;
  let next = 0; // the view's dimensions come in the order of the base's
  if (offset < 0) return null;
  for (const { stride, axis } of order) {
    const size = base.shape[axis] ?? 0;
    if (stride <= 0) return null;
    const start = Math.floor(offset / stride);
    offset -= start * stride;
    const step = (view.strides[next] ?? 0) / stride;
    const count = view.shape[next] ?? 0;
    const isKept =
      next < view.shape.length &&
      Number.isInteger(step) &&
      step >= 1 &&
      start + (count - 1) * step < size;
    const end = isKept ? start + (count - 1) * step + 1 : start + 1;
    if (start >= size) return null;
    spans[axis] = { start, end, step: isKept ? step : 1, isIndex: !isKept };
    if (isKept) next++;
  }
  return next === view.shape.length && offset === 0
    ? { spans, shape: base.shape }
    : null;
}

/** As Python would index it: "[1:3, :]". */
export function regionText({ spans, shape }: Region): string {
  const words = spans.map(({ start, end, step, isIndex }, axis) => {
    if (isIndex) return `${start}`;
    const isAll = start === 0 && end === shape[axis];
    const from = start === 0 ? "" : `${start}`;
    const to = end === shape[axis] ? "" : `${end}`;
    const range = isAll ? ":" : `${from}:${to}`;
    return step === 1 ? range : `${range === ":" ? ":" : range}:${step}`;
  });
  while (words.length > 1 && words[words.length - 1] === ":") words.pop();
  return `[${words.join(", ")}]`;
}

/** The region as shares of a rectangle: the last two dimensions that are not 1 wide. */
export function regionPicture({ spans, shape }: Region): {
  readonly left: number;
  readonly top: number;
  readonly right: number;
  readonly bottom: number;
} {
  const wide = spans
    .map((span, axis) => ({ ...span, size: shape[axis] ?? 1 }))
    .filter(({ size }) => size > 1);
  const whole = { start: 0, end: 1, size: 1 };
  const across = wide.at(-1) ?? whole;
  const down = wide.at(-2) ?? whole;
  return {
    left: across.start / across.size,
    right: across.end / across.size,
    top: down.start / down.size,
    bottom: down.end / down.size,
  };
}
