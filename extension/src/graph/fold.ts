// Folds what repeats: equal blocks in a row ("×12"), the turns of a loop ("t = 0…199"),
// and flat scopes of too many parts, each into a scope that opens like any other.
//
//   net: [Block] [Block] [Block] [Norm]  ->  net: [Block ×3: [Block] [Block] [Block]] [Norm]
import type { Scope, Snapshot } from "../ir/types.js";
import { groupBy, type Rows } from "./build.js";
import { addChunks } from "./chunks.js";
import { placeCuts } from "./cuts.js";
import { leavesAtHome, placeLeaves } from "./leaves.js";
import { type Items, type Parts, partsOf } from "./parts.js";
import { findRuns, type Run } from "./repeats.js";
import { type Shown, shownNodes, withShown } from "./shown.js";

/** Graphs of fewer nodes are shown whole: nothing to fold. */
const LEAST_NODES = 40;
/** A run of fewer nodes is no relief. */
const LEAST_INSIDE = 9;

const recordedOf = new WeakMap<Snapshot, Snapshot>();

/** The snapshot as it was recorded, without the scopes that folding added. */
export function unfolded(snapshot: Snapshot): Snapshot {
  return recordedOf.get(snapshot) ?? snapshot;
}

/** The folded snapshot with other numbers: the tables that folding looks at are the same. */
export function withNumbers(folded: Snapshot, changed: Snapshot): Snapshot {
  const recorded = recordedOf.get(folded);
  if (recorded !== undefined) {
    const { nodes, scopes } = recorded;
    recordedOf.set(changed, { ...changed, nodes, scopes });
  }
  return withShown(changed, shownNodes(folded));
}

/** Whether folding added a scope. */
export function isFold(snapshot: Snapshot, scope: number): boolean {
  return scope >= unfolded(snapshot).scopes.length;
}

/** The module around a scope that folding may have added; null: none. */
export function moduleAround(snapshot: Snapshot, scope: number | null): Scope | null {
  const count = unfolded(snapshot).scopes.length;
  let at = scope;
  for (let depth = 0; at !== null && at >= count; depth++) {
    at = depth > snapshot.scopes.length ? null : (snapshot.scopes[at]?.parent ?? null);
  }
  return at === null ? null : (snapshot.scopes[at] ?? null);
}

/** Add scopes around what repeats, and put shared leaves beside their uses. Rows keep
 * their numbers: scopes are only appended, and what lies in a new scope points to it.
 * Of several steps only the nodes to be drawn count, as if nothing else were recorded.
 * Folding a folded snapshot changes nothing.
 *
 * What stands side by side to be compared has the leaves that it shares beside it. */
export function foldRepeats(
  recorded: Snapshot,
  shown: Shown | null = null,
  isBeside = false,
): Snapshot {
  if (recordedOf.has(recorded)) return recorded;
  const snapshot = shown === null ? recorded : atHome(recorded, shown);
  const folds = new Folds(snapshot, shown, isBeside);
  const count = shown?.reduce((sum, each) => sum + each, 0) ?? snapshot.nodes.length;
  if (count > LEAST_NODES) {
    const parts = partsOf(snapshot, shown);
    for (let owner = -1; owner < snapshot.scopes.length; owner++) {
      if (parts.sizeOf(owner) >= LEAST_INSIDE) foldInside(parts, owner, folds);
    }
    placeCuts(folds);
    placeLeaves(folds);
    addChunks(parts.order, folds);
  } else placeLeaves(folds);
  if (!folds.hasChanged && shown === null) return recorded;
  const folded: Snapshot = {
    ...snapshot,
    scopes: folds.scopes,
    nodes: snapshot.nodes.map((node, id) => {
      const scope = folds.nodeScope[id] ?? -1;
      if (scope === (node.scope ?? -1)) return node;
      return { ...node, scope: scope < 0 ? null : scope };
    }),
  };
  recordedOf.set(folded, recorded);
  return withShown(folded, shown);
}

/** The snapshot with leaves in the modules that use them among what is drawn. */
function atHome(recorded: Snapshot, shown: Shown): Snapshot {
  const homes = leavesAtHome(recorded, shown);
  if (homes.size === 0) return { ...recorded };
  const nodes = recorded.nodes.map((node, id) => {
    const home = homes.get(id);
    return home === undefined ? node : { ...node, scope: home < 0 ? null : home };
  });
  return { ...recorded, nodes };
}

/** The scopes under construction. */
export class Folds {
  readonly scopes: Scope[];
  readonly nodeScope: Int32Array;

  constructor(
    readonly snapshot: Snapshot,
    readonly shown: Shown | null = null,
    readonly isBeside = false,
  ) {
    this.scopes = [...snapshot.scopes];
    this.nodeScope = Int32Array.from(snapshot.nodes, (node) => node.scope ?? -1);
  }

  /** Whether anything was added or moved. */
  get hasChanged(): boolean {
    const { nodes, scopes } = this.snapshot;
    return (
      this.scopes.length > scopes.length ||
      nodes.some(({ scope }, id) => (scope ?? -1) !== this.nodeScope[id])
    );
  }

  /** Add a scope inside another one (-1: the graph). Its key stays the same when the
   * graph grows, so that it stays as it is: open or closed. */
  add(name: string, parent: number, key: string): number {
    const around = this.scopes[parent]?.path;
    const path = around === undefined ? key : `${around}.${key}`;
    const inside = parent < 0 ? null : parent;
    return this.scopes.push({ path, name, kind: "", parent: inside }) - 1;
  }

  /** Put a node (a number from 0) or a scope (-1 - its number) into a scope. */
  move(item: number, into: number): void {
    if (item >= 0) this.nodeScope[item] = into;
    else {
      const scope = this.scopes[-1 - item];
      if (scope !== undefined) this.scopes[-1 - item] = { ...scope, parent: into };
    }
  }

  /** How many drawn nodes each scope holds, at all depths. */
  sizes(): Int32Array {
    const size = new Int32Array(this.scopes.length);
    this.nodeScope.forEach((own, node) => {
      if (this.shown?.[node] === 0) return;
      let scope = own;
      for (let depth = 0; scope >= 0 && depth <= this.scopes.length; depth++) {
        size[scope] = (size[scope] ?? 0) + 1;
        scope = this.scopes[scope]?.parent ?? -1;
      }
    });
    return size;
  }

  /** What lies directly in each scope; row 0 is the graph itself. */
  inside(): Rows {
    const count = this.nodeScope.length;
    const around = new Int32Array(count + this.scopes.length);
    this.nodeScope.forEach((scope, node) => {
      around[node] = scope + 1;
    });
    this.scopes.forEach(({ parent }, scope) => {
      around[count + scope] = (parent ?? -1) + 1;
    });
    const rows = groupBy(around, this.scopes.length + 1);
    return {
      starts: rows.starts,
      items: rows.items.map((index) => (index < count ? index : count - 1 - index)),
    };
  }
}

function foldInside(parts: Parts, owner: number, folds: Folds): void {
  const inside = parts.inside(owner);
  for (const [index, found] of findRuns(inside.words).entries()) {
    const run = extend(found, inside);
    const size = nodesIn(run, inside);
    if (size < LEAST_INSIDE || hasOwnNames(run, inside)) continue;
    const title = titleOf(run, inside, parts);
    const group = folds.add(title, owner, `run ${index}`);
    const isLoop = !ownsParameters(run, inside);
    const firstTurn = turnsBefore(run, inside, parts);
    for (let turn = 0; turn < run.times; turn++) {
      const first = run.start + turn * run.period;
      const items = inside.items.subarray(first, first + run.period);
      const turnName = isLoop
        ? `t = ${firstTurn + turn}`
        : `${turn + 1} of ${run.times}`;
      const into =
        run.period === 1 ? group : folds.add(turnName, group, `turn ${turn}`);
      for (const item of items) folds.move(item, into);
    }
  }
}

/** The first turn of a loop makes less (nothing flowed in) and owns the parameters; it is
 * a turn all the same where its parts have the names of the others'. */
function extend(run: Run, inside: Items): Run {
  if (ownsParameters(run, inside)) return run;
  const { words, names } = inside;
  const { period, end } = run;
  const isAlike = (at: number) =>
    at >= 0 &&
    (words[at] === words[at + period] ||
      ((names[at] ?? -1) >= 0 && names[at] === names[at + period]));
  // With the start a little later in the turn, less of the first one has to be alike.
  for (let start = run.start + period - 1; start >= run.start; start--) {
    const times = Math.floor((end - start) / period) + 1;
    const first = start - period;
    if (times <= run.times) continue;
    const isTurn = Array.from({ length: period }, (_, i) => first + i).every(isAlike);
    if (isTurn) return { start: first, period, times, end };
  }
  return run;
}

function nodesIn({ start, period, times }: Run, { sizes }: Items): number {
  return sizes.subarray(start, start + period * times).reduce((a, b) => a + b, 0);
}

/** Blocks have parameters of their own, each; the turns of a loop share theirs. */
function ownsParameters({ start, period, times }: Run, { leaves }: Items): boolean {
  const last = start + (times - 1) * period;
  return leaves.subarray(last, last + period).some((count) => count > 0);
}

/** Blocks that the code calls by names of their own, as `q`, `k` and `v`, are no repetition
 * to whoever wrote them. */
function hasOwnNames(run: Run, inside: Items): boolean {
  const { start, period, times } = run;
  const last = start + period * (times - 1);
  const names = inside.names.subarray(start, last);
  return (
    ownsParameters(run, inside) &&
    names.some((name, at) => name !== inside.names[start + at + period])
  );
}

/** Turns of a loop count from 0 in every pass. One before the run that made less, and so
 * is no part of it, counts too. */
function turnsBefore({ start, period }: Run, inside: Items, parts: Parts): 0 | 1 {
  const turn = new Set(inside.words.subarray(start, start + period));
  for (let at = start - 1; at >= Math.max(0, start - period); at--) {
    if (parts.endsPass(inside.items[at] ?? 0)) return 0;
    if (turn.has(inside.words[at] ?? -1)) return 1;
  }
  return 0;
}

/** Letters that the names may take, so that what follows them is read too. */
const NAMES_ROOM = 8;

/** "cell  t = 0…199", "Block ×12", "conv, bn ×4". */
function titleOf(run: Run, inside: Items, parts: Parts): string {
  const shown = namesOf(run, inside, parts);
  if (ownsParameters(run, inside)) return `${shown} ×${run.times}`;
  const turn = parts.turnOf(inside.items[run.start] ?? -1);
  const first = turn ?? turnsBefore(run, inside, parts);
  return `${shown}  t = ${first}…${first + run.times - 1}`;
}

/** What a turn is made of, modules before single ops: "cell, query, …". */
function namesOf({ start, period }: Run, inside: Items, parts: Parts): string {
  const items = Array.from(inside.items.subarray(start, start + period));
  const inOrder = [...items.filter((item) => item < 0), ...items.filter((i) => i >= 0)];
  const [first = "", ...others] = new Set(inOrder.map((item) => parts.nameOf(item)));
  let shown = first;
  for (const name of others) {
    if (shown.length + name.length > NAMES_ROOM) return `${shown}, …`;
    shown += `, ${name}`;
  }
  return shown;
}
