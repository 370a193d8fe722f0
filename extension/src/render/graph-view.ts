// The graph on a canvas: the one entry that the rest of the app uses to draw.
import type { ColorBy } from "../graph/color-by.js";
import type { Snapshot } from "../ir/types.js";

export type { ColorBy };

export interface GraphViewState {
  readonly collapsed: ReadonlySet<number>;
  readonly selected: number | null;
  readonly selectedEdge: number | null;
  readonly hovered: number | null;
  readonly matches: ReadonlySet<number>;
  readonly colorBy: ColorBy;
  readonly theme: "light" | "dark";
}

export interface GraphViewEvents {
  onSelect(node: number | null): void;
  onSelectEdge(edge: number | null): void;
  onHover(node: number | null): void;
  onToggleScope(scope: number): void;
  onLayout(info: { boxes: number; millis: number }): void;
}

export interface GraphView {
  setSnapshot(snapshot: Snapshot): void;
  setState(state: GraphViewState): void;
  /** Show the whole graph. */
  fit(): void;
  zoomBy(factor: number): void;
  panBy(dx: number, dy: number): void;
  /** Bring a node into view; its scopes must be open. */
  reveal(node: number): void;
  /** The nearest visible node in a direction, for arrow keys. */
  neighbour(node: number, direction: "up" | "down" | "left" | "right"): number | null;
  dispose(): void;
}

export function createGraphView(
  _host: HTMLElement,
  _events: GraphViewEvents,
): GraphView {
  throw new Error("The graph view is not built yet.");
}
