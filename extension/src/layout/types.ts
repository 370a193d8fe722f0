// The layout's input, options and result: plain typed arrays that cross to a worker.

/** Items inside open items, and edges between the items that are not open.
 *
 * Every item comes after the open item around it. */
export interface LayoutGraph {
  readonly parent: Int32Array;
  readonly open: Uint8Array;
  readonly source: Int32Array;
  readonly target: Int32Array;
}

/** Per item; for an open item the least size its own title needs. */
export interface Sizes {
  readonly width: Float32Array;
  readonly height: Float32Array;
}

export interface Room {
  readonly width: number;
  readonly height: number;
}

export interface LayoutOptions {
  /** Least free space between boxes of one rank. */
  readonly nodeGap: number;
  /** Free space between ranks. */
  readonly rankGap: number;
  /** Free space between the border of an open item and its content. */
  readonly padding: number;
  /** Space for the title of an open item, above its content. */
  readonly titleHeight: number;
  /** Edges over more ranks than this are drawn as curves over the picture: dummy points
   * for them would outnumber the nodes (an unrolled recurrent net: 17 s against 0.1 s). */
  readonly maxSpan: number;
  /** What can be read at once: long chains that are higher become columns; null: none. */
  readonly room: Room | null;
  /** Sweeps of the ordering stage; it stops early when nothing crosses. */
  readonly sweeps: number;
  /** Centres of the items in an earlier placement, NaN for new ones: keeps their order. */
  readonly previousX?: Float32Array;
}

export const DEFAULT_OPTIONS: LayoutOptions = {
  nodeGap: 22,
  rankGap: 36,
  padding: 18,
  titleHeight: 30,
  maxSpan: 64,
  room: null,
  sweeps: 8,
};

/** Where everything goes. World coordinates, y downwards, the whole starts at (0, 0). */
export interface Placement {
  /** Per item: centre and size. */
  readonly x: Float32Array;
  readonly y: Float32Array;
  readonly width: Float32Array;
  readonly height: Float32Array;
  /** Path of edge e: points[starts[e] .. starts[e + 1]], pairs of x and y. */
  readonly points: Float32Array;
  readonly starts: Int32Array;
  /** Per edge: 1 when it is drawn as a curve over the picture, 2 when it runs from one
   * column of a wrapped level to another. */
  readonly overlay: Uint8Array;
  readonly bounds: { readonly width: number; readonly height: number };
  readonly stats: LayoutStats;
}

export interface LayoutStats {
  readonly ranks: number;
  readonly crossings: number;
  /** Edges that run upwards because the boxes form a cycle. */
  readonly upward: number;
}

export type Stage = "input" | "rank" | "order" | "coord" | "route";

/** A stage of the layout broke its promise; the message names the stage. */
export class LayoutError extends Error {
  override readonly name = "LayoutError";

  constructor(
    readonly stage: Stage,
    what: string,
  ) {
    super(`The layout's ${stage} stage failed: ${what}.`);
  }
}
