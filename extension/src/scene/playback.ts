// What the timeline makes of the items of a scene: which are lit, which are still to come.
import type { VisibleGraph } from "../graph/collapse.js";

/** The moment that the timeline shows, per node; the stages are those of the timeline:
 * 0 still to come, 1 made, 2 running, 3 reached by its gradient. */
export interface Playback {
  readonly stage: Uint8Array;
  /** The node of the event. */
  readonly node: number | null;
  /** Nodes whose memory the event wrote to. */
  readonly touched: readonly number[];
}

/** The same per item: a closed or open scope is as far as the furthest node in it. */
export interface ItemPlayback {
  readonly stage: Uint8Array;
  /** Item of the event, or -1. */
  readonly current: number;
  readonly touched: ReadonlySet<number>;
}

export const AHEAD = 0;
export const RUNNING = 2;
export const LIT = 3;

export function playItems(visible: VisibleGraph, playback: Playback): ItemPlayback {
  const { itemOfNode, parent } = visible;
  const stage = new Uint8Array(parent.length);
  const raise = (item: number, to: number) => {
    let at = item;
    while (at >= 0 && (stage[at] ?? 0) < to) {
      stage[at] = to;
      at = parent[at] ?? -1;
    }
  };
  const running: number[] = [];
  for (let node = 0; node < playback.stage.length; node++) {
    const at = playback.stage[node] ?? 0;
    const item = itemOfNode[node] ?? -1;
    if (at === RUNNING) running.push(item);
    raise(item, at === RUNNING ? 1 : at);
  }
  // Of a scope that is lit already, what runs in it is the news.
  for (const item of running) if (item >= 0) stage[item] = RUNNING;
  const itemOf = (node: number) => itemOfNode[node] ?? -1;
  return {
    stage,
    current: playback.node === null ? -1 : itemOf(playback.node),
    touched: new Set(playback.touched.map(itemOf).filter((item) => item >= 0)),
  };
}
