// Cuts a nested graph into levels: one per open item, plus the outermost.
//
// An edge that leaves or enters open items is cut at their borders, at ports:
//
//     +-- A --------+          level A:     s -> port(A, s)
//     |   [s]       |          outermost:   A -> B, at those two ports
//     +----|--------+          level B:     port(B, s) -> t
//     +----|-- B ---+
//     |   [t]       |          Edges of one source share their ports and pieces.
//     +-------------+
import { groupBy, type Rows } from "../graph/build.js";
import type { LayoutGraph } from "./types.js";

export interface Levels {
  /** Items first, then ports. */
  readonly vertexCount: number;
  /** Per vertex: its level; level 0 is the outermost, level i + 1 is inside item i. */
  readonly level: Int32Array;
  /** Per vertex: -1 for a port on the top border, 1 on the bottom border, 0 for items. */
  readonly pin: Int8Array;
  /** Per vertex: 1 for a port of something computed; leaves are parameters and inputs. */
  readonly computed: Uint8Array;
  /** Pieces of edges, each within one level. */
  readonly from: Int32Array;
  readonly to: Int32Array;
  /** Per piece: the item that its edge comes from. */
  readonly origin: Int32Array;
  /** Per piece: where it touches an open item, the port inside; else -1. */
  readonly fromPort: Int32Array;
  readonly toPort: Int32Array;
  /** Per edge: its pieces, from source to target. */
  readonly pieces: Rows;
}

/** Larger than any number of vertices; two of them make a key below 2 ** 53. */
const KEY = 2 ** 26;

export function splitLevels(graph: LayoutGraph): Levels {
  const splitter = new Splitter(graph);
  for (let edge = 0; edge < graph.source.length; edge++) splitter.split(edge);
  return splitter.finish();
}

class Splitter {
  private readonly depth: Int32Array;
  private readonly level: number[];
  private readonly pin: number[];
  private readonly computed: number[];
  private readonly hasInput: Uint8Array;
  private readonly ports = [
    new Map<number, number>(),
    new Map<number, number>(),
  ] as const;
  private readonly pieceOf = new Map<number, number>();
  private readonly from: number[] = [];
  private readonly to: number[] = [];
  private readonly origin: number[] = [];
  private readonly fromPort: number[] = [];
  private readonly toPort: number[] = [];
  private readonly pathStarts: number[] = [0];
  private readonly path: number[] = [];

  constructor(private readonly graph: LayoutGraph) {
    const items = graph.parent.length;
    this.depth = new Int32Array(items);
    this.level = Array.from(graph.parent, (parent) => parent + 1);
    this.pin = new Array<number>(items).fill(0);
    this.computed = new Array<number>(items).fill(0);
    this.hasInput = new Uint8Array(items);
    for (const target of graph.target) this.hasInput[target] = 1;
    for (let item = 0; item < items; item++) {
      const parent = graph.parent[item] ?? -1;
      this.depth[item] = parent < 0 ? 0 : (this.depth[parent] ?? 0) + 1;
    }
  }

  /** Cut one edge into pieces: up from its source, across, and down to its target. */
  split(edge: number): void {
    const source = this.graph.source[edge] ?? 0;
    const target = this.graph.target[edge] ?? 0;
    let a = source;
    let b = target;
    let leavePort = -1;
    let enterPort = -1;
    if (this.parentOf(a) === this.parentOf(b)) {
      // No other edge has this piece: edges between the same items are merged.
      this.path.push(this.newPiece(source, a, b, -1, -1));
      this.pathStarts.push(this.path.length);
      return;
    }
    const down: number[] = [];
    while (this.parentOf(a) !== this.parentOf(b)) {
      if ((this.depth[a] ?? 0) >= (this.depth[b] ?? 0)) {
        const port = this.port(1, this.parentOf(a), source);
        this.path.push(this.piece(source, a, port, leavePort, -1));
        leavePort = port;
        a = this.parentOf(a);
      } else {
        const port = this.port(0, this.parentOf(b), source);
        down.push(this.piece(source, port, b, -1, enterPort));
        enterPort = port;
        b = this.parentOf(b);
      }
    }
    this.path.push(this.piece(source, a, b, leavePort, enterPort));
    for (let i = down.length - 1; i >= 0; i--) this.path.push(down[i] ?? 0);
    this.pathStarts.push(this.path.length);
  }

  finish(): Levels {
    return {
      vertexCount: this.level.length,
      level: Int32Array.from(this.level),
      pin: Int8Array.from(this.pin),
      computed: Uint8Array.from(this.computed),
      from: Int32Array.from(this.from),
      to: Int32Array.from(this.to),
      origin: Int32Array.from(this.origin),
      fromPort: Int32Array.from(this.fromPort),
      toPort: Int32Array.from(this.toPort),
      pieces: {
        starts: Int32Array.from(this.pathStarts),
        items: Int32Array.from(this.path),
      },
    };
  }

  private parentOf(item: number): number {
    return this.graph.parent[item] ?? -1;
  }

  private port(side: 0 | 1, item: number, source: number): number {
    const key = source * KEY + item;
    const known = this.ports[side].get(key);
    if (known !== undefined) return known;
    const port = this.level.push(item + 1) - 1;
    this.pin.push(side === 0 ? -1 : 1);
    this.computed.push(this.hasInput[source] ?? 0);
    this.ports[side].set(key, port);
    return port;
  }

  /** Within a level the signal of one source comes from one place: (source, to) names
   * the piece. */
  private piece(
    source: number,
    from: number,
    to: number,
    fromPort: number,
    toPort: number,
  ): number {
    const key = source * KEY + to;
    const known = this.pieceOf.get(key);
    if (known !== undefined) return known;
    const piece = this.newPiece(source, from, to, fromPort, toPort);
    this.pieceOf.set(key, piece);
    return piece;
  }

  private newPiece(
    source: number,
    from: number,
    to: number,
    fromPort: number,
    toPort: number,
  ): number {
    this.to.push(to);
    this.origin.push(source);
    this.fromPort.push(fromPort);
    this.toPort.push(toPort);
    return this.from.push(from) - 1;
  }
}

/** Per level: its vertices, and its pieces. */
export function groupLevels(levels: Levels, count: number) {
  const vertices = groupBy(levels.level, count);
  const pieces = groupBy(
    levels.from.map((vertex) => levels.level[vertex] ?? 0),
    count,
  );
  return { vertices, pieces };
}
