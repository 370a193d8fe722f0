// What a view would look like: shape, strides and offset after `.t()`, `[1:]` and the like.
//
// The rules are PyTorch's: a view keeps the storage, and fails where strides cannot say it.
import { isContiguous, type Layout } from "./strides.js";
import { Refusal, refuse, rowMajor, sizesFor, viewStrides } from "./view-strides.js";
import { type Item, parseStep, type Slice, type Step } from "./what-if-parse.js";

export interface Outcome {
  readonly layout: Layout;
  /** The elements moved to memory of their own. */
  readonly copies: boolean;
  /** What happened, in one sentence. */
  readonly why: string;
}

/** The outcome of a step, or one sentence that says why it cannot be. */
export function applyStep(
  layout: Layout,
  text: string,
  storageLength: number | null,
): Outcome | string {
  const step = parseStep(text);
  if (typeof step === "string") return step;
  try {
    const outcome = perform(layout, step);
    const reach = highest(outcome.layout);
    if (!outcome.copies && storageLength !== null && reach >= storageLength) {
      return `This reaches address ${reach}, but the storage ends at ${storageLength - 1}.`;
    }
    return outcome;
  } catch (error) {
    if (error instanceof Refusal) return error.message;
    throw error;
  }
}

function highest({ shape, strides, offset }: Layout): number {
  if (shape.includes(0)) return -1;
  return shape.reduce(
    (sum, size, dim) => sum + (size - 1) * (strides[dim] ?? 0),
    offset,
  );
}

function perform(layout: Layout, step: Step): Outcome {
  if (step.kind === "index") return indexed(layout, step.items);
  const rule = RULES.get(step.name);
  if (rule === undefined) {
    return refuse(`"${step.name}" is not among ${[...RULES.keys()].join(", ")}.`);
  }
  return rule(layout, step.numbers, step.lists);
}

type Rule = (
  layout: Layout,
  numbers: readonly number[],
  lists: readonly (readonly number[])[],
) => Outcome;

const same = (layout: Layout, why: string): Outcome => ({ layout, copies: false, why });

/** A dimension counted from the front; PyTorch counts from behind too. */
function dimension(ndim: number, dim: number | undefined, extra = 0): number {
  const count = ndim + extra;
  if (dim === undefined) return refuse("A dimension is missing.");
  const most = Math.max(count, 1); // PyTorch lets a scalar have dimension 0
  const at = dim < 0 ? dim + most : dim;
  if (at < 0 || at >= most) {
    return refuse(`There is no dimension ${dim}: the tensor has ${ndim}.`);
  }
  return at;
}

function permuted(layout: Layout, order: readonly number[], why: string): Outcome {
  const { shape, strides, offset } = layout;
  const pick = (values: readonly number[]) => order.map((dim) => values[dim] ?? 0);
  return same({ shape: pick(shape), strides: pick(strides), offset }, why);
}

const SWAPS = "Sizes and strides change places; no element moves.";

function transpose(layout: Layout, dims: readonly number[]): Outcome {
  const { length } = layout.shape;
  const [a, b] = [dimension(length, dims[0]), dimension(length, dims[1])];
  const order = layout.shape.map((_, dim) => (dim === a ? b : dim === b ? a : dim));
  return permuted(layout, order, SWAPS);
}

function permute(layout: Layout, dims: readonly number[]): Outcome {
  const { length } = layout.shape;
  const order = dims.map((dim) => dimension(length, dim));
  if (new Set(order).size !== length || order.length !== length) {
    return refuse(`permute needs each of the ${length} dimensions once.`);
  }
  return permuted(layout, order, SWAPS);
}

function reshaped(layout: Layout, sizes: readonly number[], mayCopy: boolean): Outcome {
  const shape = sizesFor(layout, sizes);
  const strides = viewStrides(layout, shape);
  if (strides !== null) {
    const why = "The same addresses in the same order, counted in another shape.";
    return same({ shape, strides, offset: layout.offset }, why);
  }
  if (!mayCopy) {
    return refuse(
      "No strides walk these addresses in that shape: use reshape, which copies here.",
    );
  }
  return copied(
    shape,
    "No strides can say this shape here, so the elements are copied.",
  );
}

function copied(shape: readonly number[], why: string): Outcome {
  return { layout: { shape, strides: rowMajor(shape), offset: 0 }, copies: true, why };
}

function expand({ shape, strides, offset }: Layout, sizes: readonly number[]): Outcome {
  const extra = sizes.length - shape.length;
  if (extra < 0) return refuse(`expand needs at least ${shape.length} sizes.`);
  const target = sizes.map((size, at) => {
    const own = shape[at - extra];
    const wanted = size === -1 ? own : size;
    if (wanted === undefined || wanted < 0) {
      return refuse("A new dimension needs a size of its own.");
    }
    if (own !== undefined && own !== 1 && own !== wanted) {
      return refuse(`Only sizes of 1 expand: dimension ${at - extra} has ${own}.`);
    }
    return wanted;
  });
  const found: number[] = [];
  for (let at = target.length - 1; at >= 0; at--) {
    const own = shape[at - extra] ?? 1;
    const dense = (target[at + 1] ?? 1) * (found[0] ?? 1);
    const stride = at < extra ? dense : (strides[at - extra] ?? 0);
    found.unshift(own === target[at] ? stride : 0);
  }
  const why = "A stride of 0: many indices share one address, and nothing is copied.";
  return same({ shape: target, strides: found, offset }, why);
}

function indexed(layout: Layout, items: readonly Item[]): Outcome {
  const shape: number[] = [];
  const strides: number[] = [];
  let { offset } = layout;
  let dim = 0;
  for (const item of spelledOut(items, layout.shape.length)) {
    const size = layout.shape[dim];
    const stride = layout.strides[dim] ?? 1;
    if (item === null) {
      shape.push(1);
      strides.push((size ?? 1) * stride);
      continue;
    }
    if (size === undefined) return refuse("There are more indices than dimensions.");
    if (typeof item === "number") {
      const at = item < 0 ? item + size : item;
      if (at < 0 || at >= size) {
        return refuse(
          `Index ${item} is out of range: dimension ${dim} has size ${size}.`,
        );
      }
      offset += at * stride;
    } else {
      const { start, count, step } = bounds(item, size);
      shape.push(count);
      strides.push(stride * step);
      offset += start * stride;
    }
    dim++;
  }
  const why = "The offset moves to the first element; a step multiplies its stride.";
  return same({ shape, strides, offset }, why);
}

/** The index with every dimension named: "..." stands for those that are not. */
function spelledOut(items: readonly Item[], ndim: number): Exclude<Item, "...">[] {
  const named = items.filter((item) => item !== null && item !== "...").length;
  const rest: Slice[] = new Array(Math.max(0, ndim - named)).fill(WHOLE);
  const whole = items.includes("...") ? items : [...items, "..." as const];
  return whole.flatMap((item) => (item === "..." ? rest : [item]));
}

const WHOLE: Slice = { start: null, stop: null, step: 1 };

function bounds({ start, stop, step }: Slice, size: number) {
  if (step < 1) return refuse("A slice steps forwards: its step must be above 0.");
  const clip = (at: number) => Math.min(size, Math.max(0, at < 0 ? at + size : at));
  const [from, to] = [clip(start ?? 0), clip(stop ?? size)];
  return { start: from, count: Math.max(0, Math.ceil((to - from) / step)), step };
}

function asStrided(
  layout: Layout,
  numbers: readonly number[],
  lists: readonly (readonly number[])[],
) {
  const [shape, strides] = lists;
  if (shape === undefined || strides === undefined || shape.length !== strides.length) {
    return refuse("as_strided needs sizes and as many strides: ((2, 2), (1, 1)).");
  }
  if ([...shape, ...strides].some((number) => number < 0)) {
    return refuse("Sizes and strides are not negative.");
  }
  const offset = numbers[0] ?? layout.offset;
  const why = "Any sizes and strides over the same storage; indices may overlap.";
  return same({ shape, strides, offset }, why);
}

/** The numbers, whether they were given one by one or as one list. */
const flat = (numbers: readonly number[], lists: readonly (readonly number[])[]) =>
  lists[0] ?? numbers;

function squeeze({ shape, strides, offset }: Layout, dims: readonly number[]): Outcome {
  const only = dims.map((dim) => dimension(shape.length, dim));
  const kept = shape.map(
    (size, dim) => size !== 1 || (only.length > 0 && !only.includes(dim)),
  );
  return same(
    {
      shape: shape.filter((_, dim) => kept[dim]),
      strides: strides.filter((_, dim) => kept[dim]),
      offset,
    },
    "Dimensions of size 1 go; their strides never mattered.",
  );
}

function unsqueeze(
  { shape, strides, offset }: Layout,
  dims: readonly number[],
): Outcome {
  const at = dimension(shape.length, dims[0], 1);
  const stride = (shape[at] ?? 1) * (strides[at] ?? 1);
  return same(
    {
      shape: [...shape.slice(0, at), 1, ...shape.slice(at)],
      strides: [...strides.slice(0, at), stride, ...strides.slice(at)],
      offset,
    },
    "One more dimension, of size 1: its stride never matters.",
  );
}

const RULES: ReadonlyMap<string, Rule> = new Map<string, Rule>([
  [
    "t",
    (layout) =>
      layout.shape.length < 2
        ? same(layout, "Fewer than two dimensions: nothing to swap.")
        : layout.shape.length > 2
          ? refuse("t() is for matrices; use transpose(0, 1).")
          : transpose(layout, [0, 1]),
  ],
  ["transpose", (layout, dims) => transpose(layout, dims)],
  ["permute", (layout, numbers, lists) => permute(layout, flat(numbers, lists))],
  ["view", (layout, numbers, lists) => reshaped(layout, flat(numbers, lists), false)],
  ["reshape", (layout, numbers, lists) => reshaped(layout, flat(numbers, lists), true)],
  ["flatten", (layout) => reshaped(layout, [-1], true)],
  ["expand", (layout, numbers, lists) => expand(layout, flat(numbers, lists))],
  ["squeeze", (layout, dims) => squeeze(layout, dims)],
  ["unsqueeze", (layout, dims) => unsqueeze(layout, dims)],
  ["as_strided", asStrided],
  [
    "contiguous",
    (layout) =>
      isContiguous(layout)
        ? same(layout, "It is contiguous already: the same tensor comes back.")
        : copied(
            layout.shape,
            "The elements are copied in the order of their indices.",
          ),
  ],
  ["clone", (layout) => copied(layout.shape, "A copy in memory of its own.")],
]);

/** Steps worth trying on a tensor, as code. */
export function presets({ shape }: Layout): string[] {
  const count = shape.reduce((product, size) => product * size, 1);
  const found: string[] = [];
  if (shape.length === 2) found.push(".t()");
  else if (shape.length > 2) found.push(".transpose(-2, -1)");
  if (shape.length !== 1) found.push(".view(-1)");
  else if (count % 2 === 0 && count > 2) found.push(".view(2, -1)");
  found.push(`.expand(${[2, ...shape].join(", ")})`);
  if ((shape[0] ?? 0) > 1) found.push("[1:]");
  if ((shape.at(-1) ?? 0) > 1) found.push(shape.length > 1 ? "[..., ::2]" : "[::2]");
  if (count >= 3) found.push(".as_strided((2, 2), (1, 1))");
  found.push(".contiguous()");
  return found;
}
