// Strides for another shape: which addresses a view can walk, by PyTorch's rules.
import { elementCount, type Layout } from "./strides.js";

/** Why a step cannot be, in one sentence. */
export class Refusal extends Error {}

export function refuse(sentence: string): never {
  throw new Refusal(sentence);
}

/** Fill in the size that is given as -1. */
export function sizesFor(layout: Layout, sizes: readonly number[]): number[] {
  const count = elementCount(layout);
  const rest = sizes.filter((size) => size !== -1);
  const known = rest.reduce((product, size) => product * size, 1);
  const open = sizes.length - rest.length;
  const free = known > 0 ? count / known : 0;
  const shape = sizes.map((size) => (size === -1 ? free : size));
  const fits = shape.reduce((product, size) => product * size, 1) === count;
  if (open > 1 || rest.some((size) => size < 0) || !Number.isInteger(free) || !fits) {
    return refuse(`The shape (${sizes.join(", ")}) does not hold ${count} elements.`);
  }
  return shape;
}

/** Strides of a dense tensor, the last dimension fastest. */
export function rowMajor(shape: readonly number[]): number[] {
  const strides: number[] = [];
  let stride = 1;
  for (const size of [...shape].reverse()) {
    strides.unshift(stride);
    stride *= Math.max(size, 1);
  }
  return strides;
}

/** Strides that walk the same addresses in another shape; null where there are none. */
export function viewStrides({ shape, strides }: Layout, sizes: readonly number[]) {
  if (shape.includes(0)) return rowMajor(sizes);
  const found: number[] = new Array(sizes.length).fill(1);
  let at = sizes.length - 1;
  let base = strides.at(-1) ?? 1;
  let chunk = 1; // elements of dimensions that lie densely behind each other
  let wanted = 1;
  for (let dim = shape.length - 1; dim >= 0; dim--) {
    chunk *= shape[dim] ?? 1;
    const next = shape[dim - 1] ?? 1;
    const joins = dim > 0 && (next === 1 || strides[dim - 1] === chunk * base);
    if (joins) continue;
    while (at >= 0 && (wanted < chunk || sizes[at] === 1)) {
      found[at] = wanted * base;
      wanted *= sizes[at] ?? 1;
      at--;
    }
    if (wanted !== chunk) return null;
    base = strides[dim - 1] ?? 1;
    chunk = 1;
    wanted = 1;
  }
  for (; at >= 0; at--) found[at] = wanted * base; // a 0-d tensor, sizes of 1
  return found;
}
