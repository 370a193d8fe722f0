// Turns a graph and the view's state into the scene that is painted, as they change.
import type { Graph } from "../graph/build.js";
import { collapse, type VisibleGraph } from "../graph/collapse.js";
import type { Flow } from "../graph/drawing.js";
import { type Mark, type StopMark, signOf } from "../graph/mark.js";
import type { Placement, Room } from "../layout/index.js";
import {
  findShift,
  isSameGraph,
  type Look,
  previousX,
  type Shift,
} from "../scene/anchor.js";
import {
  type BoxContent,
  describeBoxes,
  METRICS,
  measureBoxes,
} from "../scene/boxes.js";
import { createEdgeLabels, type EdgeLabels } from "../scene/edge-labels.js";
import {
  boxOfNode,
  buildScene,
  fitsScene,
  mergedEdge,
  renumberScene,
  type Scene,
} from "../scene/scene.js";
import { createTween, type Tween } from "../scene/tween.js";
import { buildTwinScene, describeTwins, measurePairs } from "../scene/twins.js";
import { easeOut, roomIn } from "./camera.js";
import type { Frame } from "./frame.js";
import type { LayoutClient } from "./layout-client.js";
import { createMemos } from "./picture-memos.js";
import {
  countBoxes,
  itemsOf,
  MOST_ITEMS,
  onlyDifference,
  pendingSentence,
  placementProblem,
  SLOW_ITEMS,
  themeOf,
  tooManySentence,
} from "./picture-parts.js";
import type { TextMetrics } from "./text-metrics.js";
import type { Theme } from "./theme.js";
import type { GraphViewState } from "./view-types.js";

export interface SceneNews {
  /** Boxes that can be seen, open scopes not counted. */
  readonly boxes: number;
  /** From the change to the new scene, the layout included. */
  readonly millis: number;
  /** What stays in place; "anew": the scene shows another graph. */
  readonly shift: Shift | "anew" | null;
  /** The one scope that was opened or closed, if that is all. */
  readonly toggled: number | null;
}

export interface PictureOptions {
  readonly layouts: LayoutClient;
  readonly text: TextMetrics;
  readonly look: () => Look;
  readonly background: () => string | null;
  readonly onScene: (news: SceneNews) => void;
  readonly onFailure: (error: unknown) => void;
  /** The layout will take a while. */
  readonly onPending: (sentence: string) => void;
  /** The scene looks different now. */
  readonly onChange: () => void;
}

export type FrameParts = Pick<
  Frame,
  | "scene"
  | "labels"
  | "tones"
  | "theme"
  | "selected"
  | "hovered"
  | "selectedEdge"
  | "matches"
  | "lit"
  | "marks"
  | "stops"
  | "chain"
  | "playback"
  | "links"
>;

interface Plan {
  readonly graph: Graph;
  readonly collapsed: ReadonlySet<number>;
  readonly visible: VisibleGraph;
  readonly contents: readonly BoxContent[];
  readonly flow: Flow;
  /** What the backward column shows, where there is one. */
  readonly twins: readonly BoxContent[] | null;
  /** The scene before, if it shows the same graph. */
  readonly before: Scene | null;
  readonly begin: number;
}

const GLIDE_MILLIS = 150;
const NOTHING: ReadonlySet<number> = new Set();

export class Picture {
  scene: Scene | null = null;
  state: GraphViewState | null = null;
  /** A layout is on its way: places will change. */
  isStale = false;
  graph: Graph | null = null;
  private labels: EdgeLabels | null = null;
  /** What was shown before the last layout, where it was of the same graph. */
  private before: Scene | null = null;
  private motion: { readonly tween: Tween; readonly begin: number } | null = null;
  private laidOut: ReadonlySet<number> = NOTHING;
  private isScheduled = false;
  private isDisposed = false;
  private lit: ReadonlySet<number> = NOTHING;
  private matches: ReadonlySet<number> | null = null;
  private marks: ReadonlyMap<number, Mark> = new Map();
  private stops: ReadonlyMap<number, StopMark> = new Map();
  private chain: ReadonlySet<number> | null = null;
  private readonly memos = createMemos();
  private theme: Theme | null = null;
  private room: Room;

  constructor(private readonly options: PictureOptions) {
    this.room = roomIn(options.look().size);
  }

  setGraph(graph: Graph): void {
    this.graph = graph;
    this.schedule();
  }

  /** Show other numbers on the same graph; nothing moves unless a box needs more room. */
  setNumbers(graph: Graph): void {
    this.graph = graph;
    const { scene } = this;
    if (scene === null || this.isStale) return; // the scene to come has them
    const flow = this.state?.drawing.flow ?? "forward";
    const contents = flow === "both" ? [] : describeBoxes(graph, scene.visible);
    const sizes = measureBoxes(contents, this.options.text.measure);
    if (flow === "both" || !fitsScene(scene, sizes)) {
      this.schedule();
      return;
    }
    this.scene = renumberScene(scene, graph, contents, flow);
    this.placeLabels();
    this.options.onChange();
  }

  /** What the window holds; long chains are laid out anew if it is another room. */
  setRoom(room: Room): void {
    const { width, height } = this.room;
    if (room.width === width && room.height === height) return;
    this.room = room;
    if (this.graph !== null) this.schedule();
  }

  setState(state: GraphViewState): void {
    const before = this.state;
    this.state = state;
    const isFlow = before?.drawing.flow === state.drawing.flow;
    if (before?.collapsed !== state.collapsed || !isFlow) this.schedule();
    if (before?.matches !== state.matches || before.lit !== state.lit) {
      this.findMatches();
    }
    if (before?.marks !== state.marks) this.placeMarks();
    if (before?.story !== state.story) this.placeStops();
    this.theme = null;
    this.options.onChange();
  }

  /** Let the boxes glide to where they are now, from where they were before a shift. */
  glide(shift: Shift, begin: number): void {
    const { before, scene } = this;
    if (before === null || scene === null) return;
    const dx = shift.to.x - shift.from.x;
    const dy = shift.to.y - shift.from.y;
    const tween = createTween(before, scene, { dx, dy });
    this.motion = tween === null ? null : { tween, begin };
  }

  /** What to paint now; null as long as there is nothing. */
  frame(now: number): FrameParts | null {
    const { scene, state, matches, marks } = this;
    if (scene === null || state === null) return null;
    const shown = this.sceneAt(now, scene);
    this.theme ??= themeOf(state.theme, this.options.background());
    const { selected, selectedScope, hovered, selectedEdge } = state;
    const itemOf = (node: number | null) =>
      node === null ? -1 : (boxOfNode(scene, node)?.item ?? -1);
    return {
      scene: shown,
      labels: shown === scene ? this.labels : null,
      tones: this.memos.tones(scene, state.colorBy),
      theme: this.theme,
      matches,
      lit: this.lit,
      marks,
      stops: this.stops,
      chain: this.chain,
      playback: this.memos.playback(scene, state.playback),
      links: this.memos.links(scene, state.drawing.links),
      selected:
        selectedScope === null
          ? itemOf(selected)
          : (scene.visible.itemOfScope[selectedScope] ?? -1),
      hovered: itemOf(hovered),
      selectedEdge: selectedEdge === null ? -1 : mergedEdge(scene, selectedEdge),
    };
  }

  dispose(): void {
    this.isDisposed = true;
  }

  /** Snapshot and state often change together: lay out once for both. */
  private schedule(): void {
    this.isStale = true;
    if (this.isScheduled) return;
    this.isScheduled = true;
    queueMicrotask(() => {
      this.isScheduled = false;
      if (!this.isDisposed && this.graph !== null) this.relayout(this.graph);
    });
  }

  private relayout(graph: Graph): void {
    const { layouts, text, onFailure, onPending } = this.options;
    const begin = performance.now();
    const collapsed = this.state?.collapsed ?? NOTHING;
    const isSame = this.scene !== null && isSameGraph(this.scene.graph, graph);
    const before = isSame ? this.scene : null;
    const visible = collapse(graph, collapsed);
    const items = visible.parent.length;
    if (items > MOST_ITEMS) {
      this.isStale = false;
      onFailure(new Error(tooManySentence(items)));
      return;
    }
    if (items > SLOW_ITEMS) onPending(pendingSentence(items));
    const contents = describeBoxes(graph, visible);
    const flow = this.state?.drawing.flow ?? "forward";
    const twins = flow === "both" ? describeTwins(graph, visible, contents) : null;
    const sizes =
      twins === null
        ? measureBoxes(contents, text.measure)
        : measurePairs(contents, twins, text.measure);
    const start =
      before === null ? {} : { previousX: previousX(before, graph, visible) };
    const room = flow === "both" ? null : this.room; // twins stand at one height
    const options = { titleHeight: METRICS.frameTitle, room, ...start };
    const plan = { graph, collapsed, visible, contents, flow, twins, before, begin };
    const done = (placement: Placement) => this.show(plan, placement);
    layouts.run({ graph: visible, sizes, options }, done, (error) => {
      this.isStale = false;
      onFailure(error);
    });
  }

  private show(plan: Plan, placement: Placement): void {
    const { graph, visible, contents, flow, twins, before, collapsed, begin } = plan;
    const problem = placementProblem(placement);
    if (problem !== null) {
      this.isStale = false;
      this.options.onFailure(new Error(problem));
      return;
    }
    const scene =
      twins === null
        ? buildScene(graph, visible, contents, placement, flow)
        : buildTwinScene(graph, visible, contents, twins, placement);
    this.motion = null;
    const toggled = onlyDifference(this.laidOut, collapsed);
    const shift =
      before === null ? "anew" : findShift(before, scene, toggled, this.options.look());
    this.before = before;
    this.scene = scene;
    this.laidOut = collapsed;
    this.isStale = this.isScheduled;
    this.findMatches();
    this.placeMarks();
    this.placeStops();
    const { graph: latest } = this;
    if (latest !== null && latest !== graph && !this.isStale) this.setNumbers(latest);
    const millis = performance.now() - begin;
    this.options.onScene({ boxes: countBoxes(scene.visible), millis, shift, toggled });
  }

  /** The scene, or one on the way to it; asks for the next frame of the way. */
  private sceneAt(now: number, scene: Scene): Scene {
    if (this.motion === null) return scene;
    const share = (now - this.motion.begin) / GLIDE_MILLIS;
    if (share < 1) {
      this.options.onChange();
      return this.motion.tween(easeOut(Math.max(0, share)));
    }
    this.motion = null;
    return scene;
  }

  private findMatches(): void {
    const { scene, state } = this;
    const isIdle = scene === null || state === null || state.matches.size === 0;
    this.matches = isIdle ? null : itemsOf(scene.visible, state.matches);
    this.lit = scene && state ? itemsOf(scene.visible, state.lit) : NOTHING;
  }

  /** A closed scope is marked for what it hides: by the first mark of a finding, and as
   * changed where it hides changes of several kinds. */
  private placeMarks(): void {
    const marks = new Map<number, Mark>();
    for (const [node, mark] of this.state?.marks ?? []) {
      const item = this.scene?.visible.itemOfNode[node] ?? -1;
      if (item < 0) continue;
      const known = marks.get(item);
      if (known === undefined) marks.set(item, mark);
      else if (known !== mark && signOf(known) !== null && signOf(mark) !== null)
        marks.set(item, "changed");
    }
    this.marks = marks;
    this.placeLabels();
  }

  /** A closed scope has the number of the first stop that it hides. */
  private placeStops(): void {
    const { scene, state } = this;
    const stops = new Map<number, StopMark>();
    if (scene === null || state === null) return;
    for (const [node, stop] of state.story.stops) {
      const item = scene.visible.itemOfNode[node] ?? -1;
      const known = stops.get(item);
      if (item >= 0 && stop.number < (known?.number ?? Number.POSITIVE_INFINITY))
        stops.set(item, stop);
    }
    this.stops = stops;
    const nodes = new Set(state.story.stops.keys());
    this.chain = state.story.isTold ? itemsOf(scene.visible, nodes) : null;
  }

  /** Words beside edges keep clear of the rings of marks. */
  private placeLabels(): void {
    const { scene, marks } = this;
    const { measure } = this.options.text;
    this.labels = scene && createEdgeLabels(scene, measure, marks);
  }
}
