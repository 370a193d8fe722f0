// What the rest of the app and the graph view say to each other.
import type { ColorBy } from "../graph/color-by.js";
import type { Drawing } from "../graph/drawing.js";
import type { Mark, StoryMarks } from "../graph/mark.js";
import type { Snapshot } from "../ir/types.js";
import type { Playback } from "../scene/playback.js";
import type { Direction } from "../scene/walk.js";
import type { Gaze } from "../state/gaze.js";
import type { Whole } from "./whole.js";

export type { ColorBy };

export interface GraphViewState {
  readonly collapsed: ReadonlySet<number>;
  readonly selected: number | null;
  readonly selectedScope: number | null;
  readonly selectedEdge: number | null;
  readonly hovered: number | null;
  readonly matches: ReadonlySet<number>;
  /** Nodes of the line under the cursor of an editor. */
  readonly lit: ReadonlySet<number>;
  /** Nodes that a finding points at, or that differ. */
  readonly marks: ReadonlyMap<number, Mark>;
  /** The numbered stops of the finding's story. */
  readonly story: StoryMarks;
  /** The moment that the timeline shows; null shows the whole recording. */
  readonly playback: Playback | null;
  readonly colorBy: ColorBy;
  readonly drawing: Drawing;
  readonly theme: "light" | "dark";
  /** Whether the map of the whole may be shown. */
  readonly minimap: boolean;
}

export interface GraphViewEvents {
  /** Whether the wheel is the view's without Ctrl. */
  takesWheel(): boolean;
  onSelect(node: number | null): void;
  onSelectEdge(edge: number | null): void;
  onHover(node: number | null): void;
  onSelectScope(scope: number): void;
  onToggleScope(scope: number): void;
  /** The camera is about to jump, by a press on the map. */
  onJump(): void;
  /** The camera came to rest somewhere else. */
  onGaze(gaze: Gaze): void;
  onLayout(info: { boxes: number; millis: number }): void;
  /** The first picture is on the screen, or will not be: what had to wait may begin. */
  onSettled(): void;
}

export interface GraphView {
  /** Show another snapshot; throws SnapshotError when it is not a graph. */
  setSnapshot(snapshot: Snapshot): void;
  setState(state: GraphViewState): void;
  /** Show the whole graph. */
  fit(): void;
  zoomBy(factor: number): void;
  panBy(dx: number, dy: number): void;
  /** Bring nodes, or the closed scopes that hide them, into view: all of them where they
   * can be read together, else the first. */
  reveal(nodes: readonly number[]): void;
  /** Look where the camera rested before. */
  look(gaze: Gaze): void;
  /** The nearest visible node in a direction, for arrow keys. */
  neighbour(node: number, direction: Direction): number | null;
  /** The picture at rest, for files; null as long as there is none. */
  whole(): Whole | null;
  dispose(): void;
}
