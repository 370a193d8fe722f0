// Runs the layout beside the page: one classic script, started from a blob.
import { type LayoutGraph, type LayoutOptions, layout, type Sizes } from "./index.js";
import type { Placement } from "./types.js";

export interface LayoutRequest {
  readonly id: number;
  readonly graph: LayoutGraph;
  readonly sizes: Sizes;
  readonly options: Partial<LayoutOptions>;
}

export type LayoutReply =
  | { readonly id: number; readonly placement: Placement }
  | { readonly id: number; readonly error: string };

/** The little of a worker's global scope that this file uses. */
interface WorkerScope {
  onmessage: ((event: { readonly data: LayoutRequest }) => void) | null;
  postMessage(reply: LayoutReply, transfer?: ArrayBufferLike[]): void;
}

const scope = globalThis as unknown as WorkerScope;

scope.onmessage = ({ data }) => {
  const { id, graph, sizes, options } = data;
  try {
    const placement = layout(graph, sizes, options);
    const { x, y, width, height, points, starts, overlay } = placement;
    const arrays = [x, y, width, height, points, starts, overlay];
    scope.postMessage(
      { id, placement },
      arrays.map((array) => array.buffer),
    );
  } catch (error) {
    scope.postMessage({
      id,
      error: error instanceof Error ? error.message : `${error}`,
    });
  }
};
