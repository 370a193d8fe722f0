// Which items of two sequences correspond: a diff of keys in nearly linear time.
//
// The same rules as gradviz/analysis/align.py: trim equal ends, trust what is unique on both
// sides (patience), and between those a longest common subsequence, where it is short.

/** Keys of one item, the strictest first; items pair only where the last ones are equal. */
export type Keys = readonly string[];
export type Pair = readonly [a: number, b: number];

interface Stretch {
  readonly a0: number;
  readonly a1: number;
  readonly b0: number;
  readonly b1: number;
}

const CELLS = 40_000; // of the table for a stretch without anything unique

/** Pairs of items, rising in both sequences. */
export function align(a: readonly Keys[], b: readonly Keys[]): Pair[] {
  const found: Pair[] = [];
  const waiting: Stretch[] = [{ a0: 0, a1: a.length, b0: 0, b1: b.length }];
  for (let stretch = waiting.pop(); stretch !== undefined; stretch = waiting.pop()) {
    const rest = trimmed(a, b, stretch, found);
    if (rest.a0 === rest.a1 || rest.b0 === rest.b1) continue;
    const anchors = anchorsOf(a, b, rest);
    if (anchors.length === 0) {
      found.push(...plain(a, b, rest));
      continue;
    }
    found.push(...anchors);
    let [fromA, fromB] = [rest.a0, rest.b0];
    for (const [toA, toB] of [...anchors, [rest.a1, rest.b1] as const]) {
      waiting.push({ a0: fromA, a1: toA, b0: fromB, b1: toB });
      fromA = toA + 1;
      fromB = toB + 1;
    }
  }
  return found.sort((one, other) => one[0] - other[0]);
}

const last = (rows: readonly Keys[], at: number) => rows[at]?.at(-1);

function trimmed(
  a: readonly Keys[],
  b: readonly Keys[],
  { a0, a1, b0, b1 }: Stretch,
  found: Pair[],
): Stretch {
  let rest = { a0, a1, b0, b1 };
  while (rest.a0 < rest.a1 && rest.b0 < rest.b1) {
    if (last(a, rest.a0) !== last(b, rest.b0)) break;
    found.push([rest.a0, rest.b0]);
    rest = { ...rest, a0: rest.a0 + 1, b0: rest.b0 + 1 };
  }
  while (rest.a0 < rest.a1 && rest.b0 < rest.b1) {
    if (last(a, rest.a1 - 1) !== last(b, rest.b1 - 1)) break;
    rest = { ...rest, a1: rest.a1 - 1, b1: rest.b1 - 1 };
    found.push([rest.a1, rest.b1]);
  }
  return rest;
}

/** Places of the keys that occur once in a stretch. */
function unique(rows: readonly Keys[], from: number, to: number, level: number) {
  const places = new Map<string, number>();
  for (let at = from; at < to; at++) {
    const key = rows[at]?.[level] ?? "";
    places.set(key, places.has(key) ? -1 : at);
  }
  return places;
}

/** What is unique on both sides, by the strictest key that finds anything. */
function anchorsOf(
  a: readonly Keys[],
  b: readonly Keys[],
  { a0, a1, b0, b1 }: Stretch,
): Pair[] {
  for (let level = 0; level < (a[a0]?.length ?? 0); level++) {
    const others = unique(b, b0, b1, level);
    const pairs: Pair[] = [];
    for (const [key, at] of unique(a, a0, a1, level)) {
      const other = others.get(key) ?? -1;
      if (at >= 0 && other >= 0 && last(a, at) === last(b, other)) {
        pairs.push([at, other]);
      }
    }
    pairs.sort((one, other) => one[0] - other[0]);
    if (pairs.length > 0) return increasing(pairs);
  }
  return [];
}

function plain(a: readonly Keys[], b: readonly Keys[], stretch: Stretch): Pair[] {
  const { a0, a1, b0, b1 } = stretch;
  if ((a1 - a0) * (b1 - b0) <= CELLS) return common(a, b, stretch);
  const places = new Map<string, number[]>();
  for (let at = b1 - 1; at >= b0; at--) {
    const key = last(b, at) ?? "";
    const known = places.get(key);
    if (known === undefined) places.set(key, [at]);
    else known.push(at);
  }
  const pairs: Pair[] = [];
  for (let at = a0; at < a1; at++) {
    const other = places.get(last(a, at) ?? "")?.pop();
    if (other !== undefined) pairs.push([at, other]);
  }
  return increasing(pairs);
}

/** A longest common subsequence, by the table of the textbook. */
function common(
  a: readonly Keys[],
  b: readonly Keys[],
  { a0, a1, b0, b1 }: Stretch,
): Pair[] {
  const width = b1 - b0 + 1;
  const best = new Uint32Array((a1 - a0 + 1) * width);
  const at = (i: number, j: number) => best[(i - a0) * width + j - b0] ?? 0;
  const same = (i: number, j: number) => last(a, i) === last(b, j);
  for (let i = a1 - 1; i >= a0; i--) {
    for (let j = b1 - 1; j >= b0; j--) {
      best[(i - a0) * width + j - b0] = same(i, j)
        ? at(i + 1, j + 1) + 1
        : Math.max(at(i + 1, j), at(i, j + 1));
    }
  }
  const pairs: Pair[] = [];
  let [i, j] = [a0, b0];
  while (i < a1 && j < b1) {
    if (same(i, j)) pairs.push([i++, j++]);
    else if (at(i + 1, j) >= at(i, j + 1)) i++;
    else j++;
  }
  return pairs;
}

/** The longest run of pairs, sorted by the first number, that rises in the second. */
function increasing(pairs: readonly Pair[]): Pair[] {
  const ends: number[] = []; // the pair with the smallest end of a run of each length
  const before: number[] = [];
  for (const [at, [, value]] of pairs.entries()) {
    let [low, high] = [0, ends.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((pairs[ends[middle] ?? 0]?.[1] ?? 0) < value) low = middle + 1;
      else high = middle;
    }
    before.push(low > 0 ? (ends[low - 1] ?? -1) : -1);
    ends[low] = at;
  }
  const run: Pair[] = [];
  for (let at = ends.at(-1) ?? -1; at >= 0; at = before[at] ?? -1) {
    const pair = pairs[at];
    if (pair !== undefined) run.push(pair);
  }
  return run.reverse();
}
