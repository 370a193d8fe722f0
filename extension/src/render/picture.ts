// Turns a graph and the view's state into the scene that is painted, as they change.
import type { Rect } from "../geometry/rect.js";
import type { Graph } from "../graph/build.js";
import { collapse, type VisibleGraph } from "../graph/collapse.js";
import type { ColorBy } from "../graph/color-by.js";
import type { Placement } from "../layout/index.js";
import { findShift, isSameGraph, previousX, type Shift } from "../scene/anchor.js";
import { describeBoxes, METRICS, measureBoxes } from "../scene/boxes.js";
import { boxOfNode, buildScene, mergedEdge, type Scene } from "../scene/scene.js";
import { type Tone, toneItems, toneNodes } from "../scene/tones.js";
import { parseColour } from "./colour.js";
import type { Frame } from "./frame.js";
import type { GraphViewState } from "./graph-view.js";
import type { LayoutClient } from "./layout-client.js";
import type { TextMetrics } from "./text-metrics.js";
import { createTheme, type Theme } from "./theme.js";

export interface PictureOptions {
  readonly layouts: LayoutClient;
  readonly text: TextMetrics;
  /** What can be seen now, in world space. */
  readonly world: () => Rect;
  readonly backgroundOf: () => string | null;
  /** A new scene is there; "anew": it shows another graph. */
  readonly onScene: (
    info: { boxes: number; millis: number },
    shift: Shift | "anew" | null,
  ) => void;
  readonly onFailure: (error: unknown) => void;
  /** The scene looks different now. */
  readonly onChange: () => void;
}

export type FrameParts = Pick<
  Frame,
  "scene" | "tones" | "theme" | "selected" | "hovered" | "selectedEdge" | "matches"
>;

export interface Picture {
  setGraph(graph: Graph): void;
  setState(state: GraphViewState): void;
  state(): GraphViewState | null;
  scene(): Scene | null;
  /** A layout is on its way: places will change. */
  isStale(): boolean;
  frame(): FrameParts | null;
  dispose(): void;
}

const NOTHING: ReadonlySet<number> = new Set();

export function createPicture(options: PictureOptions): Picture {
  let graph: Graph | null = null;
  let state: GraphViewState | null = null;
  let scene: Scene | null = null;
  let laidOut: ReadonlySet<number> = NOTHING;
  let isStale = false;
  let isScheduled = false;
  let isDisposed = false;
  let matches: ReadonlySet<number> | null = null;
  let tones: readonly Tone[] = [];
  let tonedBy: { scene: Scene; colorBy: ColorBy } | null = null;
  let theme: Theme | null = null;

  /** Snapshot and state often change together: lay out once for both. */
  const schedule = () => {
    isStale = true;
    if (isScheduled) return;
    isScheduled = true;
    queueMicrotask(() => {
      isScheduled = false;
      if (!isDisposed) relayout();
    });
  };

  const relayout = () => {
    if (graph === null) return;
    const shown = graph;
    const collapsed = state?.collapsed ?? NOTHING;
    const begin = performance.now();
    const before = scene !== null && isSameGraph(scene.graph, shown) ? scene : null;
    const visible = collapse(shown, collapsed);
    const contents = describeBoxes(shown, visible);
    const sizes = measureBoxes(contents, options.text.measure);
    const start =
      before === null ? {} : { previousX: previousX(before, shown, visible) };
    const job = {
      graph: visible,
      sizes,
      options: { titleHeight: METRICS.frameTitle, ...start },
    };
    const done = (placement: Placement) => {
      const next = buildScene(shown, visible, contents, placement);
      const toggled = onlyDifference(laidOut, collapsed);
      const shift =
        before === null ? "anew" : findShift(before, next, toggled, options.world());
      scene = next;
      laidOut = collapsed;
      isStale = isScheduled;
      findMatches();
      const millis = performance.now() - begin;
      options.onScene({ boxes: countBoxes(visible), millis }, shift);
    };
    options.layouts.run(job, done, (error) => {
      isStale = false;
      options.onFailure(error);
    });
  };

  const findMatches = () => {
    matches =
      scene === null || state === null || state.matches.size === 0
        ? null
        : itemsOf(scene.visible, state.matches);
  };

  return {
    setGraph(next) {
      graph = next;
      schedule();
    },
    setState(next) {
      const before = state;
      state = next;
      if (before?.collapsed !== next.collapsed) schedule();
      if (before?.matches !== next.matches) findMatches();
      theme = null;
      options.onChange();
    },
    state: () => state,
    scene: () => scene,
    isStale: () => isStale,
    frame() {
      if (scene === null || state === null) return null;
      if (tonedBy?.scene !== scene || tonedBy.colorBy !== state.colorBy) {
        tones = toneItems(scene.visible, toneNodes(scene.graph, state.colorBy));
        tonedBy = { scene, colorBy: state.colorBy };
      }
      theme ??= themeOf(state.theme, options.backgroundOf());
      const { selected, hovered, selectedEdge } = state;
      return {
        scene,
        tones,
        theme,
        matches,
        selected: selected === null ? -1 : (boxOfNode(scene, selected)?.item ?? -1),
        hovered: hovered === null ? -1 : (boxOfNode(scene, hovered)?.item ?? -1),
        selectedEdge: selectedEdge === null ? -1 : mergedEdge(scene, selectedEdge),
      };
    },
    dispose() {
      isDisposed = true;
    },
  };
}

function themeOf(name: "light" | "dark", background: string | null): Theme {
  const isReadable = background !== null && parseColour(background) !== null;
  return isReadable ? createTheme(name, background) : createTheme(name);
}

function countBoxes(visible: VisibleGraph): number {
  return visible.open.reduce((count, open) => count + (open === 0 ? 1 : 0), 0);
}

/** The one scope by which two sets of closed scopes differ, else null. */
function onlyDifference(
  before: ReadonlySet<number>,
  after: ReadonlySet<number>,
): number | null {
  if (Math.abs(before.size - after.size) !== 1) return null;
  const [small, large] = before.size < after.size ? [before, after] : [after, before];
  const extra = [...large].filter((scope) => !small.has(scope));
  return extra.length === 1 ? (extra[0] ?? null) : null;
}

/** The items that show these nodes, and the open scopes around them. */
function itemsOf(visible: VisibleGraph, nodes: ReadonlySet<number>): Set<number> {
  const items = new Set<number>();
  for (const node of nodes) {
    let item = visible.itemOfNode[node] ?? -1;
    while (item >= 0 && !items.has(item)) {
      items.add(item);
      item = visible.parent[item] ?? -1;
    }
  }
  return items;
}
