// Stride arithmetic: where the elements of a strided tensor lie in its storage.

/** How a tensor looks into its storage; strides and offset count elements. */
export interface Layout {
  readonly shape: readonly number[];
  readonly strides: readonly number[];
  readonly offset: number;
}

/** First and last address that a tensor reaches, both inclusive. */
export interface AddressRange {
  readonly low: number;
  readonly high: number;
}

/** An index of the tensor, one number per dimension. */
export type Index = readonly number[];

// Odd layouts (many dimensions that overlap) could make the search for the indices of
// one address exponential; a picture needs only the first few, so it gives up early.
const SEARCH_STEPS = 20_000;
const COUNT_BY_HAND = 1 << 16;

/** Whether there is a stride for every dimension; sparse and meta tensors have none. */
export function isStrided(layout: Layout): boolean {
  return layout.strides.length === layout.shape.length;
}

export function elementCount(layout: Layout): number {
  return layout.shape.reduce((product, size) => product * size, 1);
}

/** The address of one element: the offset plus index times stride, summed. */
export function addressOf(layout: Layout, index: Index): number {
  return layout.strides.reduce(
    (sum, stride, dim) => sum + stride * (index[dim] ?? 0),
    layout.offset,
  );
}

/** Spell the arithmetic out: "2·4 + 1·1 + offset 3 = 12". A 0-d tensor has only its offset. */
export function spellAddress(layout: Layout, index: Index): string {
  const terms = layout.strides.map((stride, dim) => `${index[dim] ?? 0}·${stride}`);
  return `${[...terms, `offset ${layout.offset}`].join(" + ")} = ${addressOf(layout, index)}`;
}

/** The range of addresses, or null for a tensor without elements. */
export function addressRange(layout: Layout): AddressRange | null {
  if (elementCount(layout) === 0) return null;
  let low = layout.offset;
  let high = layout.offset;
  for (const [dim, stride] of layout.strides.entries()) {
    const reach = stride * ((layout.shape[dim] ?? 1) - 1);
    if (reach < 0) low += reach;
    else high += reach;
  }
  return { low, high };
}

interface Axis {
  readonly dim: number;
  readonly size: number;
  readonly stride: number;
  readonly reachAfter: number; // what the axes after this one can add at most
}

/** Axes from the largest stride to the smallest, so that a search can prune early. */
function searchAxes(layout: Layout): readonly Axis[] {
  const order = layout.shape
    .map((size, dim) => ({ dim, size, stride: layout.strides[dim] ?? 0 }))
    .sort((a, b) => b.stride - a.stride);
  let reachAfter = 0;
  const axes: Axis[] = [];
  for (const axis of order.reverse()) {
    axes.unshift({ ...axis, reachAfter });
    reachAfter += Math.max(0, axis.stride * (axis.size - 1));
  }
  return axes;
}

/** The indices that lie at an address, at most `limit` of them, in search order.
 *
 * Strides are expected to be zero or positive, as PyTorch's are. */
export function indicesAt(layout: Layout, address: number, limit: number): Index[] {
  if (elementCount(layout) === 0) return [];
  const axes = searchAxes(layout);
  const found: Index[] = [];
  const index: number[] = layout.shape.map(() => 0);
  let steps = 0;
  const visit = (depth: number, rest: number): void => {
    if (found.length >= limit || steps++ > SEARCH_STEPS) return;
    const axis = axes[depth];
    if (axis === undefined) {
      if (rest === 0) found.push([...index]);
      return;
    }
    const { size, stride, reachAfter, dim } = axis;
    const first = stride > 0 ? Math.max(0, Math.ceil((rest - reachAfter) / stride)) : 0;
    const last = stride > 0 ? Math.min(size - 1, Math.floor(rest / stride)) : size - 1;
    for (let i = first; i <= last && found.length < limit; i++) {
      index[dim] = i;
      visit(depth + 1, rest - i * stride);
    }
    index[dim] = 0;
  };
  visit(0, address - layout.offset);
  return found;
}

/** Whether the tensor has an element at the address. */
export function reaches(layout: Layout, address: number): boolean {
  return indicesAt(layout, address, 1).length > 0;
}

/** No two indices share an address, by the sorted-strides rule (sufficient). */
function surelyDistinct(layout: Layout): boolean {
  return searchAxes(layout).every(
    (axis) => axis.size <= 1 || axis.stride > axis.reachAfter,
  );
}

/** How many different addresses the tensor has; null where counting is too long. */
export function distinctAddresses(layout: Layout): number | null {
  const count = elementCount(layout);
  if (count === 0) return 0;
  const kept = layout.strides.map((stride) => stride !== 0);
  const packed: Layout = {
    shape: layout.shape.filter((_, dim) => kept[dim]),
    strides: layout.strides.filter((_, dim) => kept[dim]),
    offset: layout.offset,
  };
  if (surelyDistinct(packed)) return elementCount(packed);
  if (elementCount(packed) > COUNT_BY_HAND) return null;
  let addresses = new Set([packed.offset]);
  for (const [dim, size] of packed.shape.entries()) {
    const stride = packed.strides[dim] ?? 0;
    const next = new Set<number>();
    for (const address of addresses) {
      for (let i = 0; i < size; i++) next.add(address + i * stride);
    }
    addresses = next;
  }
  return addresses.size;
}

/** Row-major without gaps, as `is_contiguous()` answers. */
export function isContiguous(layout: Layout): boolean {
  if (elementCount(layout) === 0) return true;
  let expected = 1;
  for (let dim = layout.shape.length - 1; dim >= 0; dim--) {
    const size = layout.shape[dim] ?? 1;
    if (size === 1) continue;
    if (layout.strides[dim] !== expected) return false;
    expected *= size;
  }
  return true;
}

/** One sentence on how the tensor uses the part of the storage that it spans. */
export function describeLayout(layout: Layout): string {
  const range = addressRange(layout);
  if (range === null) return "No elements: nothing of the storage is read.";
  const count = elementCount(layout);
  if (count === 1) return `One element, at address ${range.low}.`;
  const contiguous = isContiguous(layout);
  if (contiguous) return "Contiguous: neighbours in the last dimension are neighbours.";
  const distinct = distinctAddresses(layout);
  const span = range.high - range.low + 1;
  if (distinct === null) return `Strided over ${span} addresses.`;
  const parts: string[] = [];
  if (distinct < count) parts.push(`${count} indices share ${distinct} addresses`);
  if (distinct < span)
    parts.push(`${span - distinct} of ${span} addresses are skipped`);
  if (parts.length === 0) return "Dense, but the order of dimensions is permuted.";
  return `Not contiguous: ${parts.join("; ")}.`;
}
