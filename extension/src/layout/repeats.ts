// Levels that are alike are arranged once: a network repeats its blocks. In the benchmark of
// 100,000 nodes, 8,800 open items are of 1,650 kinds.
import type { Arrangement } from "./arrange.js";
import type { LocalGraph } from "./local.js";

const PRIME = 0x01000193; // of the FNV hash

interface Known {
  readonly graph: LocalGraph;
  readonly arrangement: Arrangement;
}

export class Repeats {
  private readonly known = new Map<number, Known[]>();

  /** The arrangement of a level like this one; where there is none yet, make it. */
  find(graph: LocalGraph, make: () => Arrangement): Arrangement {
    const hash = hashOf(graph);
    const alike = this.known.get(hash);
    const found = alike?.find((each) => isSame(each.graph, graph));
    if (found !== undefined) return found.arrangement;
    const arrangement = make();
    if (alike === undefined) this.known.set(hash, [{ graph, arrangement }]);
    else alike.push({ graph, arrangement });
    return arrangement;
  }
}

/** Of the edges and the sizes: enough to tell most levels apart. */
function hashOf({ count, source, target, width }: LocalGraph): number {
  let hash = count;
  for (let edge = 0; edge < source.length; edge++) {
    hash = Math.imul(hash ^ (source[edge] ?? 0), PRIME);
    hash = Math.imul(hash ^ (target[edge] ?? 0), PRIME);
  }
  for (let vertex = 0; vertex < count; vertex++) {
    hash = Math.imul(hash ^ (width[vertex] ?? 0), PRIME);
  }
  return hash;
}

/** Whether all is the same that an arrangement depends on, besides the options. */
function isSame(a: LocalGraph, b: LocalGraph): boolean {
  if (a.count !== b.count || a.source.length !== b.source.length) return false;
  for (let i = 0; i < a.count; i++) {
    if (a.width[i] !== b.width[i] || a.height[i] !== b.height[i]) return false;
    if (a.pin[i] !== b.pin[i] || a.fixed[i] !== b.fixed[i]) return false;
    if (a.computed[i] !== b.computed[i]) return false;
    const [before, other] = [a.previousX[i] ?? 0, b.previousX[i] ?? 0];
    const isNew = Number.isNaN(before) && Number.isNaN(other);
    if (before !== other && !isNew) return false;
  }
  for (let i = 0; i < a.source.length; i++) {
    if (a.source[i] !== b.source[i] || a.target[i] !== b.target[i]) return false;
    if (a.sourceOffset[i] !== b.sourceOffset[i]) return false;
    if (a.targetOffset[i] !== b.targetOffset[i]) return false;
    if (a.bundle[i] !== b.bundle[i]) return false;
  }
  return true;
}
