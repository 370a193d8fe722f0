// The steps of a training in one recording: which nodes belong to each. The view draws one.
//
//   forward  grad()  backward()  optimizer.step()  |  forward  backward()  …
//   └──────────────── step 1 ────────────────────┘   └─── step 2
import { isBeside } from "../graph/cuts.js";
import { unfolded } from "../graph/fold.js";
import { isLeaf } from "../graph/parts.js";
import type { Shown } from "../graph/shown.js";
import type { Event, OpNode, Snapshot, Statistics } from "../ir/types.js";
import { type Pass, type Run, runsOf, throughEdges } from "./passes.js";
import { buildTables, rowAt, type Tables } from "./tables.js";

export interface Step {
  /** Of its last pass in the training, from 1; steps between may not be kept. */
  readonly number: number;
  /** Of its first pass, likewise; that of the last where passes are not numbered. */
  readonly first: number;
  /** Positions of the timeline: events from + 1 to to, counted from 1. */
  readonly from: number;
  readonly to: number;
  /** A leaf belongs to every step that uses it, and to all if none does. */
  readonly nodes: Shown;
  /** The passes of the step as one, to be compared with another step's: worked out when
   * it is asked for. */
  pass(): Pass;
  readonly passes: number;
  /** Which lines made the losses that its passes began at, and began the passes. */
  readonly losses: string;
  /** Its passes were listened to from their roots on: else nothing is known of gradients
   * that were not told. */
  readonly isHeard: boolean;
  /** Its passes are here, and have ended. */
  readonly isWhole: boolean;
}

/** Whether the recording begins inside a step, whose first passes are not kept. */
function isTorn(events: readonly Event[]): boolean {
  const inside: readonly Event["kind"][] = ["optimizer_step", "backward_end"];
  return inside.includes(events[0]?.kind ?? "op");
}

/** Which event is the last of each step: the optimizer's at the line that was stepped
 * last, so that several backward passes, and those of several optimizers, stay together;
 * without an optimizer, the end of the pass at the line that ran last. */
function endsOf(events: readonly Event[]): number[] {
  const begins = events.findLast(({ kind }) => kind === "backward_begin");
  const updates = events.findLast(({ kind }) => kind === "optimizer_step");
  const ends: number[] = [];
  let isLast = false;
  events.forEach(({ kind, site }, at) => {
    if (updates !== undefined) {
      if (kind === "optimizer_step" && site === updates.site) ends.push(at + 1);
      return;
    }
    if (kind === "backward_begin") isLast = site === begins?.site;
    else if (kind === "backward_end" && isLast) ends.push(at + 1);
  });
  return ends;
}

/** Whether the last events, without a pass of their own, only read what the step before
 * made: `print(loss.mean())`. */
function isAfterword({ nodes, edges }: Snapshot, events: readonly Event[]): boolean {
  const made = new Set(
    events.flatMap(({ kind, node }) => (kind === "op" ? (node ?? []) : [])),
  );
  const [first] = made;
  if (first === undefined || events.some(({ kind }) => kind === "module_enter"))
    return false;
  const read = edges.filter(({ target }) => target === first);
  return read.some(({ source }) => !made.has(source) && !isLeafRow(nodes[source]));
}

/** Stretches of events, each with at least one backward pass; writes of an optimizer and
 * what else comes before the next call belong to the step that they end. */
function stretchesOf(snapshot: Snapshot): { from: number; to: number }[] {
  const { events } = snapshot;
  const stretches: { from: number; to: number }[] = [];
  const isForward = ({ kind, node }: Event) =>
    kind === "module_enter" || (kind === "op" && node !== null);
  let from = 0;
  const close = (end: number) => {
    let to = end;
    while (to < events.length && !isForward(events[to] as Event)) {
      if (events[to]?.kind === "backward_begin") break;
      to += 1;
    }
    const own = events.slice(from, to);
    if (!own.some(({ kind }) => kind === "backward_begin")) return;
    stretches.push({ from, to });
    from = to;
  };
  for (const end of endsOf(events)) if (end > from) close(end);
  const rest = events.slice(from);
  const goesOn = rest.some(({ kind }) => kind === "backward_begin");
  if (goesOn || (rest.some(isForward) && !isAfterword(snapshot, rest))) {
    stretches.push({ from, to: events.length });
  }
  const last = stretches.at(-1);
  if (last !== undefined) last.to = events.length;
  return stretches;
}

const NONE: readonly Step[] = [];
const known = new WeakMap<readonly Event[], readonly Step[]>();

/** The steps of a recording; none where it holds fewer than two, or graphs that are there
 * to be compared. */
export function stepsOf(snapshot: Snapshot): readonly Step[] {
  const { events } = snapshot;
  const found = known.get(events);
  if (found !== undefined) return found;
  const stretches = snapshot.parts.length > 0 ? [] : stretchesOf(snapshot);
  const steps =
    stretches.length < 2 ? NONE : divide(buildTables(unfolded(snapshot)), stretches);
  known.set(events, steps);
  return steps;
}

function divide(
  tables: Tables,
  stretches: readonly { readonly from: number; readonly to: number }[],
): readonly Step[] {
  const { snapshot } = tables;
  const runs = stretches.map(({ from, to }) =>
    runsOf({ ...snapshot, events: snapshot.events.slice(from, to) }),
  );
  const reached = runs.map((own) =>
    throughEdges(
      tables,
      own.map(({ root }) => root),
    ),
  );
  const members = assign(tables, stretches, reached);
  const numbers = numbersOf(snapshot, stretches);
  return stretches.map(({ from, to }, at): Step => {
    const nodes = members[at] ?? new Uint8Array();
    const { first, number } = numbers[at] ?? { first: at + 1, number: at + 1 };
    let pass: Pass | null = null;
    const events = snapshot.events.slice(from, to);
    const count = (wanted: Event["kind"]) =>
      events.filter(({ kind }) => kind === wanted).length;
    const [begun, ended] = [count("backward_begin"), count("backward_end")];
    return {
      number,
      first,
      from,
      to,
      nodes,
      pass() {
        const walked = reached[at] ?? new Set();
        pass ??= passOf(snapshot, { number, nodes, walked, runs: runs[at] ?? [] });
        return pass;
      },
      passes: (runs[at] ?? []).length,
      losses: lossesOf(snapshot, events),
      isHeard: isHeard(events),
      isWhole: ended > 0 && ended === begun && (at > 0 || !isTorn(snapshot.events)),
    };
  });
}

function lossesOf({ nodes }: Snapshot, events: readonly Event[]): string {
  const begun = events.filter(({ kind }) => kind === "backward_begin");
  const lines = begun.map(({ site, node }) => `${site} ${rowAt(nodes, node)?.site}`);
  return [...new Set(lines)].sort().join(", ");
}

function isHeard(events: readonly Event[]): boolean {
  let root: number | null = null;
  let heard = 0;
  let passes = 0;
  for (const { kind, node } of events) {
    if (kind === "backward_begin") {
      passes += 1;
      root = node;
    } else if (root !== null && node === root) {
      if (kind !== "node_enter" && kind !== "accumulate") continue;
      heard += 1;
      root = null;
    }
  }
  return heard === passes;
}

interface Walked {
  readonly number: number;
  readonly nodes: Shown;
  readonly walked: ReadonlySet<number>;
  readonly runs: readonly Run[];
}

function passOf(snapshot: Snapshot, { number, nodes, walked, runs }: Walked): Pass {
  const gradients = new Map<number, Statistics>();
  for (const run of runs) {
    for (const [node, row] of run.gradients) gradients.set(node, row);
  }
  const own = [...snapshot.nodes.keys()].filter(
    (id) => nodes[id] === 1 && isCompared(snapshot.nodes[id], walked.has(id)),
  );
  const sequence = (id: number) => snapshot.nodes[id]?.sequence ?? -1;
  own.sort((a, b) => sequence(a) - sequence(b) || a - b);
  return { label: `step ${number}`, nodes: own, gradients };
}

/** What ran beside the graph, and what no pass walks, is kept of the last step alone: that
 * it is there, or not, is no difference between two steps. */
function isCompared(node: OpNode | undefined, isWalked: boolean): boolean {
  if (node === undefined || isWalked) return node !== undefined;
  return node.kind === "cut" && !isBeside(node);
}

/** Of each stretch: which passes of the training it holds, by their times; its place where
 * that is not known of all. */
function numbersOf(
  { events, flow_steps }: Snapshot,
  stretches: readonly { readonly from: number; readonly to: number }[],
): { first: number; number: number }[] {
  const numberAt = new Map(flow_steps.map((step) => [step.time_ns, step.number + 1]));
  const numbers = stretches.map(({ from, to }) => {
    const own = events.slice(from, to);
    const begun = own.filter(({ kind }) => kind === "backward_begin");
    const known = begun.flatMap(({ time_ns }) => numberAt.get(time_ns) ?? []);
    return { first: known[0] ?? 0, number: known.at(-1) ?? 0 };
  });
  const isKnown = numbers.every(
    ({ number }, at) => number > (numbers[at - 1]?.number ?? 0),
  );
  return isKnown
    ? numbers
    : stretches.map((_, at) => ({ first: at + 1, number: at + 1 }));
}

/** How many steps were recorded, kept or not. */
export function countSteps({ flow_steps }: Snapshot, steps: readonly Step[]): number {
  const last = steps.at(-1)?.number ?? 0;
  return flow_steps.reduce((most, { number }) => Math.max(most, number + 1), last);
}

/** The nodes of each step: those its passes walked; of the rest, those that its events
 * tell of, those they are connected to, and those made between. */
function assign(
  { snapshot, incoming, outgoing }: Tables,
  stretches: readonly { readonly from: number; readonly to: number }[],
  reached: readonly ReadonlySet<number>[],
): Shown[] {
  const { nodes, events } = snapshot;
  const owner = new Int32Array(nodes.length).fill(-1);
  const members = stretches.map(() => new Uint8Array(nodes.length));
  const waiting: number[] = [];
  const give = (id: number, step: number) => {
    const node = rowAt(nodes, id);
    if (node === null || isLeaf(node) || owner[id] !== -1) return;
    owner[id] = step;
    waiting.push(id);
  };
  for (const [step, own] of reached.entries()) for (const id of own) give(id, step);
  for (const [step, { from, to }] of stretches.entries()) {
    for (let at = from; at < to; at++) {
      const { kind = "", node = null } = events[at] ?? {};
      if (kind === "op" && node !== null) give(node, step);
    }
  }
  for (const id of waiting) {
    for (const { edge } of incoming.get(id) ?? []) give(edge.source, owner[id] ?? 0);
    for (const { edge } of outgoing.get(id) ?? []) give(edge.target, owner[id] ?? 0);
  }
  fillBySequence(snapshot, owner);
  nodes.forEach((node, id) => {
    const own = members[owner[id] ?? 0];
    if (own !== undefined && !isLeaf(node)) own[id] = 1;
  });
  // A pass may walk into what an earlier step made: that is a part of its graph.
  for (const [step, own] of members.entries()) {
    for (const id of reached[step] ?? []) own[id] = 1;
  }
  for (const [id, node] of nodes.entries()) {
    if (!isLeaf(node)) continue;
    const users = (outgoing.get(id) ?? []).map(({ edge }) => edge.target);
    for (const own of members) {
      if (users.length === 0 || users.some((user) => own[user] === 1)) own[id] = 1;
    }
  }
  return members;
}

/** What nothing else tells of was made in the step of the next node that is known. */
function fillBySequence({ nodes }: Snapshot, owner: Int32Array): void {
  const order = [...nodes.keys()].filter((id) => !isLeafRow(nodes[id]));
  const sequence = (id: number) => nodes[id]?.sequence ?? Number.POSITIVE_INFINITY;
  order.sort((a, b) => sequence(b) - sequence(a) || b - a);
  let step = order.map((id) => owner[id] ?? -1).find((own) => own >= 0) ?? 0;
  for (const id of order) {
    if (owner[id] === -1) owner[id] = step;
    else step = owner[id] ?? step;
  }
}

/** The step to begin with: that of the first finding, else the last whole one. */
export function firstStep(snapshot: Snapshot, steps: readonly Step[]): number {
  for (const { nodes } of snapshot.findings.slice(0, 1)) {
    const op = nodes.find((id) => !isLeafRow(snapshot.nodes[id]));
    const at = op === undefined ? -1 : stepOfNode(steps, op);
    if (at >= 0) return at;
  }
  const whole = steps.findLastIndex(({ isWhole }) => isWhole);
  return whole >= 0 ? whole : steps.length - 1;
}

/** The first step that a node belongs to, or -1. */
export function stepOfNode(steps: readonly Step[], node: number): number {
  return steps.findIndex(({ nodes }) => nodes[node] === 1);
}

/** The step that holds the last event before a position of the timeline. */
export function stepAt(steps: readonly Step[], position: number): number {
  const at = steps.findIndex(({ to }) => position <= to);
  return at < 0 ? steps.length - 1 : at;
}

/** The step that one of the recording's passes belongs to. */
export function stepOfPass(steps: readonly Step[], pass: number): number {
  let before = 0;
  const at = steps.findIndex(({ passes }) => {
    before += passes;
    return pass < before;
  });
  return at < 0 ? steps.length - 1 : at;
}

/** The nodes of two steps together; those of one are its own. */
export function nodesOfSteps(
  steps: readonly Step[],
  wanted: readonly number[],
): Shown | null {
  const [first, ...others] = new Set(wanted);
  const own = steps[first ?? -1]?.nodes ?? null;
  if (own === null || others.length === 0) return own;
  return own.map((each, id) => (others.some((at) => steps[at]?.nodes[id]) ? 1 : each));
}

function isLeafRow(node: OpNode | undefined): boolean {
  return node === undefined || isLeaf(node);
}
