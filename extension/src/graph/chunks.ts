// Groups the parts of scopes that hold too many to be read, in the order they were made.
import { rowOf } from "./build.js";
import type { Folds } from "./fold.js";

/** More nodes than this in one scope are grouped; a scope counts as ten: it can be opened,
 * and so many of them say nothing at first sight. */
const MOST_PARTS = 400;
const PARTS_OF_SCOPE = 10;
/** Groups of a level, at most. */
const MOST_GROUPS = 36;

/** Put groups into every scope that is too long, on as many levels as it needs. */
export function addChunks(order: Float64Array, folds: Folds): void {
  const inside = folds.inside();
  const size = folds.sizes();
  const isDrawn = (item: number) =>
    item < 0 ? size[-1 - item] !== 0 : folds.shown?.[item] !== 0;
  const drawnItems = (row: number) => rowOf(inside, row).filter(isDrawn);
  const long: number[] = [];
  for (let row = 0; row + 1 < inside.starts.length; row++) {
    if ((size[row - 1] ?? MOST_PARTS) * PARTS_OF_SCOPE <= MOST_PARTS) continue;
    let count = 0;
    for (const item of rowOf(inside, row)) {
      if (isDrawn(item)) count += item < 0 ? PARTS_OF_SCOPE : 1;
    }
    if (count > MOST_PARTS) long.push(row - 1);
  }
  if (long.length === 0) return;
  const first = firstOf(order, folds);
  for (const scope of long) {
    const items = drawnItems(scope + 1);
    const when = (item: number) => (item < 0 ? first[-1 - item] : order[item]) ?? 0;
    items.sort((a, b) => when(a) - when(b));
    const isLoop = / {2}t = \d+…\d+$/.test(folds.scopes[scope]?.name ?? "");
    const nodes = (item: number) => (item < 0 ? (size[-1 - item] ?? 0) : 1);
    split({ folds, nodes, isLoop }, items, scope, { index: 0, nodes: 0 });
  }
}

interface Splitting {
  readonly folds: Folds;
  readonly nodes: (item: number) => number;
  /** The parts are turns: they are counted, not their nodes. */
  readonly isLoop: boolean;
}

function split(
  work: Splitting,
  items: Int32Array,
  scope: number,
  before: { readonly index: number; readonly nodes: number },
): void {
  const levels = Math.ceil(Math.log(items.length) / Math.log(MOST_GROUPS));
  if (levels <= 1) return;
  const groups = Math.ceil(items.length ** (1 / levels));
  let { index, nodes } = before;
  for (let group = 0; group < groups; group++) {
    const from = Math.floor((group * items.length) / groups);
    const to = Math.floor(((group + 1) * items.length) / groups);
    const own = items.subarray(from, to);
    const count = own.reduce((sum, item) => sum + work.nodes(item), 0);
    const name = work.isLoop
      ? `t = ${index}…${index + own.length - 1}`
      : `nodes ${nodes + 1}…${nodes + count}`;
    const chunk = work.folds.add(name, scope, `part ${group}`);
    for (const item of own) work.folds.move(item, chunk);
    split(work, own, chunk, { index, nodes });
    index += own.length;
    nodes += count;
  }
}

/** Per scope, at all depths: when the first of its nodes was made. */
function firstOf(order: Float64Array, { scopes, nodeScope }: Folds): Float64Array {
  const first = new Float64Array(scopes.length).fill(Number.POSITIVE_INFINITY);
  nodeScope.forEach((own, node) => {
    let scope = own;
    for (let depth = 0; scope >= 0 && depth <= scopes.length; depth++) {
      first[scope] = Math.min(first[scope] ?? 0, order[node] ?? 0);
      scope = scopes[scope]?.parent ?? -1;
    }
  });
  return first;
}
