// Stage 3e: moves blocks towards what they are connected to, pushing what is in the way.
import { groupBy } from "../graph/build.js";
import { type Alignment, WEIGHT } from "./align.js";
import type { Blocks } from "./blocks.js";
import type { Constraints } from "./compact.js";
import type { Layered } from "./local.js";

const PASSES = 4;
const STEPS = 6;
/** Blocks looked at, per block of the level: keeps the stage linear. */
const BUDGET = 40;
const EPSILON = 0.01;
const PULL = {
  [WEIGHT.leaf]: 1,
  [WEIGHT.bend]: 2,
  [WEIGHT.main]: 5,
  [WEIGHT.strand]: 6,
  [WEIGHT.inner]: 8,
};

/** Segments between blocks, listed at both ends: `block` is straight to `other` when
 * x[block] = x[other] + delta. */
interface Links {
  readonly starts: Int32Array;
  readonly other: Int32Array;
  readonly delta: Float64Array;
  readonly pull: Float64Array;
}

/** Shorten the segments between blocks; `x` changes in place and stays feasible. */
export function shove(
  layered: Layered,
  alignment: Alignment,
  blocks: Blocks,
  constraints: Constraints,
  x: Float64Array,
): void {
  const links = linkBlocks(layered, alignment, blocks);
  const mover = new Mover(links, constraints, x);
  const { order } = constraints;
  for (let pass = 0; pass < PASSES; pass++) {
    let moved = false;
    for (let i = 0; i < order.length; i++) {
      const block = order[pass % 2 === 0 ? i : order.length - 1 - i] ?? 0;
      moved = mover.settle(block) || moved;
    }
    if (!moved) return;
  }
}

function linkBlocks(layered: Layered, alignment: Alignment, blocks: Blocks): Links {
  const owner: number[] = [];
  const other: number[] = [];
  const delta: number[] = [];
  const pull: number[] = [];
  for (let segment = 0; segment < layered.segmentSource.length; segment++) {
    const source = layered.segmentSource[segment] ?? 0;
    const target = layered.segmentTarget[segment] ?? 0;
    const a = blocks.of[source] ?? 0;
    const b = blocks.of[target] ?? 0;
    if (a === b) continue;
    const ahead =
      (blocks.shift[source] ?? 0) +
      (layered.segmentSourceOffset[segment] ?? 0) -
      (blocks.shift[target] ?? 0) -
      (layered.segmentTargetOffset[segment] ?? 0);
    const weight = PULL[(alignment.weight[segment] ?? 0) as keyof typeof PULL];
    owner.push(a, b);
    other.push(b, a);
    delta.push(-ahead, ahead);
    pull.push(weight, weight);
  }
  const rows = groupBy(Int32Array.from(owner), blocks.count);
  return {
    starts: rows.starts,
    other: rows.items.map((link) => other[link] ?? 0),
    delta: Float64Array.from(rows.items, (link) => delta[link] ?? 0),
    pull: Float64Array.from(rows.items, (link) => pull[link] ?? 0),
  };
}

class Mover {
  private readonly inGroup: Int32Array;
  private stamp = 0;
  private budget: number;
  private readonly group: number[] = [];

  constructor(
    private readonly links: Links,
    private readonly constraints: Constraints,
    private readonly x: Float64Array,
  ) {
    this.inGroup = new Int32Array(x.length);
    this.budget = BUDGET * x.length;
  }

  /** Move one block, with those it pushes, as long as that shortens segments. */
  settle(block: number): boolean {
    let moved = false;
    for (let step = 0; step < STEPS; step++) {
      const direction = Math.sign(this.force(block, 0));
      if (direction === 0 || this.budget <= 0) return moved;
      this.gather(block, direction);
      let gain = 0;
      for (const member of this.group)
        gain += this.force(member, direction) * direction;
      if (gain <= 0) return moved;
      const distance = this.reach(direction);
      if (distance < EPSILON) return moved;
      for (const member of this.group) {
        this.x[member] = (this.x[member] ?? 0) + direction * distance;
      }
      moved = true;
    }
    return moved;
  }

  /** The pull on a block: positive to the right. Given a direction, links within the
   * group do not count and straight links resist. */
  private force(block: number, direction: number): number {
    const { starts, other, delta, pull } = this.links;
    let sum = 0;
    let straight = 0;
    for (let i = starts[block] ?? 0; i < (starts[block + 1] ?? 0); i++) {
      const to = other[i] ?? 0;
      if (direction !== 0 && this.inGroup[to] === this.stamp) continue;
      const away = (this.x[to] ?? 0) + (delta[i] ?? 0) - (this.x[block] ?? 0);
      if (Math.abs(away) < EPSILON) straight += pull[i] ?? 0;
      else sum += Math.sign(away) * (pull[i] ?? 0);
    }
    if (direction !== 0) return sum - direction * straight;
    return Math.abs(sum) > straight ? sum : 0;
  }

  /** Collect the blocks that must move along. */
  private gather(block: number, direction: number): void {
    this.stamp++;
    this.group.length = 0;
    this.group.push(block);
    this.inGroup[block] = this.stamp;
    for (let head = 0; head < this.group.length; head++) {
      const member = this.group[head] ?? 0;
      for (const [next, slack] of this.obstacles(member, direction)) {
        if (slack >= EPSILON || this.inGroup[next] === this.stamp) continue;
        this.inGroup[next] = this.stamp;
        this.group.push(next);
      }
    }
    this.budget -= this.group.length;
  }

  private *obstacles(block: number, direction: number) {
    const { from, to, gap, left, right } = this.constraints;
    const rows = direction > 0 ? right : left;
    const ends = direction > 0 ? to : from;
    for (let i = rows.starts[block] ?? 0; i < (rows.starts[block + 1] ?? 0); i++) {
      const each = rows.items[i] ?? 0;
      const span = (this.x[to[each] ?? 0] ?? 0) - (this.x[from[each] ?? 0] ?? 0);
      yield [ends[each] ?? 0, span - (gap[each] ?? 0)] as const;
    }
  }

  /** How far the group can go before it meets a block or straightens a link. */
  private reach(direction: number): number {
    const { starts, other, delta } = this.links;
    let reach = Number.POSITIVE_INFINITY;
    for (const member of this.group) {
      for (const [next, slack] of this.obstacles(member, direction)) {
        if (this.inGroup[next] !== this.stamp) reach = Math.min(reach, slack);
      }
      for (let i = starts[member] ?? 0; i < (starts[member + 1] ?? 0); i++) {
        const to = other[i] ?? 0;
        if (this.inGroup[to] === this.stamp) continue;
        const away =
          ((this.x[to] ?? 0) + (delta[i] ?? 0) - (this.x[member] ?? 0)) * direction;
        if (away >= EPSILON) reach = Math.min(reach, away);
      }
    }
    return reach === Number.POSITIVE_INFINITY ? 0 : reach;
  }
}
