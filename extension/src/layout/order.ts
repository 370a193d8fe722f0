// Stage 2: orders each rank from left to right so that few segments cross.
import { groupBy, type Rows } from "../graph/build.js";
import { countCrossings, type Neighbours, type Sides } from "./crossings.js";
import type { Layered, Ordering } from "./local.js";
import { transpose } from "./transpose.js";

/** Depth-first start (keeps chains together), or the earlier picture's order, then
 * barycentre sweeps; the order with the fewest crossings wins. */
export function orderVertices(layered: Layered, sweeps: number): Ordering {
  const sides = findSides(layered);
  const starts = rankStarts(layered);
  const order = new Int32Array(layered.count);
  const position = new Int32Array(layered.count);
  const state = { starts, order, position };
  depthFirst(layered, sides, state);
  const isWarm = layered.graph.previousX.some((x) => !Number.isNaN(x));
  if (isWarm) fromPrevious(layered, sides, state);
  let best = countCrossings(state, sides);
  let bestOrder = order.slice();
  const tryBetter = () => {
    const crossings = countCrossings(state, sides);
    if (crossings >= best) return false;
    best = crossings;
    bestOrder = order.slice();
    return true;
  };
  const keys = new Float64Array(layered.count);
  let useless = 0;
  // A warm start keeps the order that the reader knows, unless many crossings go.
  const limit = isWarm ? 2 : sweeps;
  for (let sweep = 0; sweep < limit && best > 0 && useless < 4; sweep++) {
    sweepOnce(layered, sides, state, keys, sweep % 2 === 0);
    transpose(state, sides);
    useless = tryBetter() ? 0 : useless + 1;
  }
  order.set(bestOrder);
  fillPositions(state);
  return { ...state, crossings: best };
}

interface State {
  readonly starts: Int32Array;
  readonly order: Int32Array;
  readonly position: Int32Array;
}

function findSides(layered: Layered): Sides {
  const { segmentSource, segmentTarget, count, width } = layered;
  const share = (offset: Float64Array, vertex: Int32Array) =>
    offset.map((each, segment) => each / ((width[vertex[segment] ?? 0] ?? 0) + 1));
  const sourcePort = share(layered.segmentSourceOffset, segmentSource);
  const targetPort = share(layered.segmentTargetOffset, segmentTarget);
  return {
    up: neighbours(segmentTarget, segmentSource, targetPort, sourcePort, count),
    down: neighbours(segmentSource, segmentTarget, sourcePort, targetPort, count),
  };
}

function neighbours(
  from: Int32Array,
  to: Int32Array,
  fromPort: Float64Array,
  toPort: Float64Array,
  count: number,
): Neighbours {
  const { starts, items } = groupBy(from, count);
  for (let row = 0; row < count; row++) {
    const size = (starts[row + 1] ?? 0) - (starts[row] ?? 0);
    if (size < 2) continue;
    sortByKey(items.subarray(starts[row], starts[row + 1]), fromPort);
  }
  const port = new Float64Array(items.length);
  const ownPort = new Float64Array(items.length);
  for (let i = 0; i < items.length; i++) {
    const segment = items[i] ?? 0;
    port[i] = toPort[segment] ?? 0;
    ownPort[i] = fromPort[segment] ?? 0;
    items[i] = to[segment] ?? 0;
  }
  return { starts, items, port, ownPort };
}

function rankStarts(layered: Layered): Int32Array {
  const starts = new Int32Array(layered.ranking.count + 1);
  for (const rank of layered.rank) starts[rank + 1] = (starts[rank + 1] ?? 0) + 1;
  for (let rank = 0; rank < layered.ranking.count; rank++) {
    starts[rank + 1] = (starts[rank + 1] ?? 0) + (starts[rank] ?? 0);
  }
  return starts;
}

function depthFirst(layered: Layered, sides: Sides, state: State): void {
  const next = state.starts.slice();
  const seen = new Uint8Array(layered.count);
  const stack: number[] = [];
  const push = (rows: Rows, vertex: number) => {
    for (
      let i = (rows.starts[vertex + 1] ?? 0) - 1;
      i >= (rows.starts[vertex] ?? 0);
      i--
    ) {
      const other = rows.items[i] ?? 0;
      if (seen[other] === 0) stack.push(other);
    }
  };
  for (let start = 0; start < layered.count; start++) {
    stack.push(start);
    while (stack.length > 0) {
      const vertex = stack.pop() ?? 0;
      if (seen[vertex] === 1) continue;
      seen[vertex] = 1;
      const rank = layered.rank[vertex] ?? 0;
      const place = next[rank] ?? 0;
      state.order[place] = vertex;
      state.position[vertex] = place - (state.starts[rank] ?? 0);
      next[rank] = place + 1;
      push(sides.up, vertex);
      push(sides.down, vertex);
    }
  }
}

/** Sort by the earlier x; new vertices take the mean of their known neighbours. */
function fromPrevious(layered: Layered, sides: Sides, state: State): void {
  const x = new Float64Array(layered.count).fill(Number.NaN);
  x.set(layered.graph.previousX);
  const passes = 3; // enough for what hangs on new vertices; the rest keeps its place
  for (let pass = 0; pass < passes; pass++) {
    for (let vertex = 0; vertex < layered.count; vertex++) {
      if (Number.isNaN(x[vertex])) x[vertex] = meanOfKnown(sides, x, vertex);
    }
  }
  sortRanks(state, (vertex) => x[vertex] ?? 0);
}

function meanOfKnown(sides: Sides, x: Float64Array, vertex: number): number {
  let sum = 0;
  let known = 0;
  for (const rows of [sides.up, sides.down]) {
    const end = rows.starts[vertex + 1] ?? 0;
    for (let i = rows.starts[vertex] ?? 0; i < end; i++) {
      const other = x[rows.items[i] ?? 0] ?? Number.NaN;
      if (Number.isNaN(other)) continue;
      sum += other;
      known++;
    }
  }
  return known === 0 ? Number.NaN : sum / known;
}

function sortRanks(state: State, keyOf: (vertex: number) => number): void {
  for (let rank = 0; rank + 1 < state.starts.length; rank++) {
    const row = state.order.subarray(state.starts[rank], state.starts[rank + 1]);
    const known = Array.from(row).filter((vertex) => !Number.isNaN(keyOf(vertex)));
    known.sort((a, b) => keyOf(a) - keyOf(b));
    let next = 0;
    for (let i = 0; i < row.length; i++) {
      if (!Number.isNaN(keyOf(row[i] ?? 0))) row[i] = known[next++] ?? 0;
    }
  }
  fillPositions(state);
}

function fillPositions({ starts, order, position }: State): void {
  for (let rank = 0; rank + 1 < starts.length; rank++) {
    const first = starts[rank] ?? 0;
    const end = starts[rank + 1] ?? 0;
    for (let i = first; i < end; i++) position[order[i] ?? 0] = i - first;
  }
}

/** One pass over the ranks: each is sorted by the mean position of its neighbours. */
function sweepOnce(
  layered: Layered,
  sides: Sides,
  state: State,
  keys: Float64Array,
  downwards: boolean,
): void {
  const count = layered.ranking.count;
  const rows = downwards ? sides.up : sides.down;
  for (let step = 1; step < count; step++) {
    const rank = downwards ? step : count - 1 - step;
    const first = state.starts[rank] ?? 0;
    const row = state.order.subarray(first, state.starts[rank + 1]);
    if (row.length < 2) continue;
    for (const vertex of row) {
      keys[vertex] = barycentre(rows, state.position, vertex);
    }
    sortByKey(row, keys);
    for (let i = 0; i < row.length; i++) state.position[row[i] ?? 0] = i;
  }
}

function barycentre(rows: Neighbours, position: Int32Array, vertex: number): number {
  const start = rows.starts[vertex] ?? 0;
  const end = rows.starts[vertex + 1] ?? 0;
  if (start === end) return position[vertex] ?? 0;
  let sum = 0;
  for (let i = start; i < end; i++) {
    sum += (position[rows.items[i] ?? 0] ?? 0) + (rows.port[i] ?? 0);
  }
  return sum / (end - start);
}

const INSERTION_LIMIT = 24;

function sortByKey(row: Int32Array, keys: Float64Array): void {
  if (row.length > INSERTION_LIMIT) {
    const sorted = Array.from(row).sort((a, b) => (keys[a] ?? 0) - (keys[b] ?? 0));
    row.set(sorted);
    return;
  }
  for (let i = 1; i < row.length; i++) {
    const vertex = row[i] ?? 0;
    const key = keys[vertex] ?? 0;
    let j = i;
    while (j > 0 && (keys[row[j - 1] ?? 0] ?? 0) > key) {
      row[j] = row[j - 1] ?? 0;
      j--;
    }
    row[j] = vertex;
  }
}
