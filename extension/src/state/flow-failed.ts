// Backward passes that raised half way: how many parameters they reached, of how many.
import type { Snapshot } from "../ir/types.js";

export interface FailedPass {
  readonly reached: number;
  /** Parameters in the graph that it was to walk. */
  readonly count: number;
  readonly begin_ns: number;
  readonly end_ns: number;
}

/** The passes that raised: the end of such a pass has the error's sentence. */
export function failedPasses(snapshot: Snapshot): FailedPass[] {
  const found: FailedPass[] = [];
  const open: { root: number | null; begin_ns: number; reached: Set<number | null> }[] =
    []; // a pass may begin inside another, as that of a checkpoint does
  for (const { kind, node, time_ns, text } of snapshot.events) {
    if (kind === "backward_begin") {
      open.push({ root: node, begin_ns: time_ns, reached: new Set() });
    } else if (kind === "accumulate") open.at(-1)?.reached.add(node);
    else if (kind === "backward_end") {
      const { root = null, begin_ns = 0, reached } = open.pop() ?? {};
      if (text === "" || root === null || reached === undefined) continue;
      const count = countLeaves(snapshot, root);
      found.push({ reached: reached.size, count, begin_ns, end_ns: time_ns });
    }
  }
  return found;
}

function countLeaves({ nodes, edges }: Snapshot, root: number): number {
  const behind = new Map<number, number[]>();
  for (const { source, target } of edges) {
    const sources = behind.get(target);
    if (sources === undefined) behind.set(target, [source]);
    else sources.push(source);
  }
  const found = new Set([root]);
  for (const node of found) {
    for (const source of behind.get(node) ?? []) found.add(source);
  }
  return [...found].filter((node) => nodes[node]?.kind === "accumulate").length;
}
