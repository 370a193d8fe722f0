// The events of a recording as something to scrub: what had happened after so many of them.
import type { Event, Snapshot } from "../ir/types.js";

/** What has become of a node: its forward call is still to come, it was made, its
 * backward function runs, or its gradient has arrived in the pass that is shown. */
export const STAGE = { ahead: 0, made: 1, running: 2, lit: 3 } as const;

/** A stretch of the recording: the forward calls, one backward pass, or what follows it. */
export interface Phase {
  readonly kind: "forward" | "backward" | "update";
  /** Counts from 1 among its kind. */
  readonly number: number;
  /** Positions: events from + 1 to to, counted from 1. */
  readonly from: number;
  readonly to: number;
}

/** The recording after its first `position` events. */
export interface Moment {
  readonly position: number;
  /** The last of these events; null before the first. */
  readonly event: Event | null;
  /** Per node. */
  readonly stage: Uint8Array;
  /** The node of the event. */
  readonly node: number | null;
  /** Nodes with an output in the storage that the event wrote. */
  readonly touched: readonly number[];
  /** Nodes that gradients have reached, and leaves that took theirs in, in this pass. */
  readonly reached: number;
  readonly taken: number;
  readonly writes: number;
}

export interface Timeline {
  readonly length: number;
  readonly phases: readonly Phase[];
  /** Time grows with the events between checkpoints, not with the recording. */
  at(position: number): Moment;
  /** The next position at which something happens to a node, around the end; or null. */
  nextOf(node: number, position: number): number | null;
}

interface Replay {
  readonly made: Uint8Array;
  /** Per node: the pass that last reached it. */
  readonly pass: Int32Array;
  current: number;
  running: number;
  reached: number;
  taken: number;
  writes: number;
}

const CHECKPOINT = { events: 512, bytes: 8 << 20 } as const;

/** Index the events of a snapshot; a null result means that none were recorded. */
export function buildTimeline(snapshot: Snapshot): Timeline | null {
  const { events, nodes } = snapshot;
  if (events.length === 0) return null;
  const every = Math.max(
    CHECKPOINT.events,
    Math.ceil((events.length * nodes.length * 5) / CHECKPOINT.bytes),
  );
  let played: { readonly madeAt: Made; readonly checkpoints: Replay[] } | null = null;
  const play = () => {
    const madeAt = madeBy(snapshot);
    return { madeAt, checkpoints: replayAll(snapshot, madeAt, every) };
  };
  const replayed = (position: number): Replay => {
    played ??= play(); // nobody who only looks has to wait for it
    const { madeAt, checkpoints } = played;
    const at = Math.floor(position / every);
    const replay = copyOf(checkpoints[at] ?? empty(snapshot, madeAt));
    for (let index = at * every; index < position; index++) {
      apply(replay, events[index] as Event, madeAt.rows[index]);
    }
    return replay;
  };
  return {
    length: events.length,
    phases: phasesOf(events),
    at(wanted) {
      const position = Math.min(events.length, Math.max(0, Math.round(wanted)));
      const replay = replayed(position);
      const event = events[position - 1] ?? null;
      const { reached, taken, writes } = replay;
      const node = event?.node ?? null;
      const touched = event?.kind === "write" ? inStorage(snapshot, event.storage) : [];
      const stage = stagesOf(replay);
      return { position, event, stage, node, touched, reached, taken, writes };
    },
    nextOf(node, position) {
      for (let step = 1; step <= events.length; step++) {
        const at = ((position + step - 1) % events.length) + 1;
        if (events[at - 1]?.node === node) return at;
      }
      return null;
    },
  };
}

interface Made {
  /** Per event: the nodes that its call made. */
  readonly rows: readonly (readonly number[] | undefined)[];
  /** Nodes that no event of the recording made: they are there from the start. */
  readonly early: readonly number[];
}

/** Which event made which node; a node without a call of its own came with the next one. */
function madeBy({ events, nodes }: Snapshot): Made {
  const rows: number[][] = [];
  const own = new Set<number>();
  const calls: { readonly sequence: number; readonly event: number }[] = [];
  events.forEach(({ kind, node }, event) => {
    if (kind !== "op" || node === null || own.has(node)) return;
    own.add(node);
    rows[event] = [node];
    calls.push({ sequence: nodes[node]?.sequence ?? -1, event });
  });
  calls.sort((a, b) => a.sequence - b.sequence);
  const early: number[] = [];
  nodes.forEach(({ kind, sequence }, node) => {
    if (own.has(node)) return;
    const first = calls[0]?.sequence ?? Number.POSITIVE_INFINITY;
    const isInside =
      kind !== "accumulate" && sequence !== null && sequence >= first - 4;
    const call = isInside ? calls[firstAtLeast(calls, sequence)] : undefined;
    if (call === undefined) early.push(node);
    else rows[call.event]?.push(node);
  });
  return { rows, early };
}

function firstAtLeast(
  calls: readonly { readonly sequence: number }[],
  sequence: number,
): number {
  let [low, high] = [0, calls.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((calls[middle]?.sequence ?? 0) < sequence) low = middle + 1;
    else high = middle;
  }
  return low;
}

function empty({ nodes }: Snapshot, { early }: Made): Replay {
  const made = new Uint8Array(nodes.length);
  for (const node of early) made[node] = 1;
  const pass = new Int32Array(nodes.length);
  return { made, pass, current: 0, running: -1, reached: 0, taken: 0, writes: 0 };
}

function copyOf(replay: Replay): Replay {
  return { ...replay, made: replay.made.slice(), pass: replay.pass.slice() };
}

function replayAll(snapshot: Snapshot, madeAt: Made, every: number): Replay[] {
  const replay = empty(snapshot, madeAt);
  const checkpoints = [copyOf(replay)];
  snapshot.events.forEach((event, index) => {
    apply(replay, event, madeAt.rows[index]);
    if ((index + 1) % every === 0) checkpoints.push(copyOf(replay));
  });
  return checkpoints;
}

function apply(replay: Replay, event: Event, made: readonly number[] | undefined) {
  for (const node of made ?? []) replay.made[node] = 1;
  const { kind, node } = event;
  replay.running = -1;
  if (kind === "backward_begin") {
    replay.current += 1;
    replay.reached = 0;
    replay.taken = 0;
  } else if (kind === "write") replay.writes += 1;
  else if (node !== null && (kind === "node_enter" || kind === "accumulate")) {
    replay.made[node] = 1;
    if (replay.pass[node] !== replay.current) replay.reached += 1;
    replay.pass[node] = replay.current;
    if (kind === "accumulate") replay.taken += 1;
    else replay.running = node;
  }
}

function stagesOf({ made, pass, current, running }: Replay): Uint8Array {
  const stage = made.slice();
  if (current > 0) {
    for (let node = 0; node < stage.length; node++) {
      if (pass[node] === current) stage[node] = STAGE.lit;
    }
  }
  if (running >= 0) stage[running] = STAGE.running;
  return stage;
}

function inStorage({ nodes, storages }: Snapshot, storage: number | null): number[] {
  const row = storage === null ? undefined : storages[storage];
  if (row === undefined) return [];
  const tensors = new Set(row.tensors);
  const found: number[] = [];
  nodes.forEach(({ outputs }, node) => {
    if (outputs.some((tensor) => tensors.has(tensor))) found.push(node);
  });
  return found;
}

function phasesOf(events: readonly Event[]): Phase[] {
  const phases: Phase[] = [];
  const counts = { forward: 0, backward: 0, update: 0 };
  let [kind, from]: [Phase["kind"], number] = ["forward", 0];
  const close = (to: number, next: Phase["kind"]) => {
    if (to > from) {
      counts[kind] += 1;
      phases.push({ kind, number: counts[kind], from, to });
    }
    [kind, from] = [next, to];
  };
  events.forEach((event, index) => {
    if (event.kind === "backward_begin") close(index, "backward");
    else if (event.kind === "backward_end") close(index + 1, "update");
    else if (kind === "update" && isForward(event)) close(index, "forward");
  });
  close(events.length, "forward");
  return phases;
}

function isForward({ kind, node }: Event): boolean {
  return kind === "module_enter" || (kind === "op" && node !== null);
}

/** The phase that holds the last event before a position. */
export function phaseAt(phases: readonly Phase[], position: number): Phase | null {
  return phases.find(({ to }) => position <= to) ?? phases.at(-1) ?? null;
}
