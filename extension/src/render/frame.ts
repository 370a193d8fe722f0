// Everything one frame is painted from.
import type { Rect } from "../geometry/rect.js";
import type { Transform } from "../geometry/transform.js";
import type { Mark, StopMark } from "../graph/mark.js";
import type { Badge } from "../scene/badges.js";
import type { EdgeLabels } from "../scene/edge-labels.js";
import type { StorageLink } from "../scene/links.js";
import { AHEAD, type ItemPlayback } from "../scene/playback.js";
import type { Box, Scene } from "../scene/scene.js";
import type { Tone } from "../scene/tones.js";
import type { TextMetrics } from "./text-metrics.js";
import type { Theme } from "./theme.js";

export interface Frame {
  readonly scene: Scene;
  /** Null while boxes move. */
  readonly labels: EdgeLabels | null;
  readonly tones: readonly Tone[];
  readonly theme: Theme;
  readonly text: TextMetrics;
  readonly view: Transform;
  /** CSS pixels. */
  readonly size: { readonly width: number; readonly height: number };
  readonly pixelRatio: number;
  /** What can be seen, in world space. */
  readonly world: Rect;
  /** Items, or -1. */
  readonly selected: number;
  readonly hovered: number;
  /** Items that a finding points at. */
  readonly marks: ReadonlyMap<number, Mark>;
  /** Stops of a story, by item. */
  readonly stops: ReadonlyMap<number, StopMark>;
  /** Items of the story that is told, and what is around them; null: nothing recedes. */
  readonly chain: ReadonlySet<number> | null;
  /** A merged edge, or -1. */
  readonly selectedEdge: number;
  /** Which boxes share memory; null where that is not asked for. */
  readonly links: readonly StorageLink[] | null;
  /** What the timeline says; null while it shows the whole recording. */
  readonly playback: ItemPlayback | null;
  /** Items of the line under the cursor of an editor. */
  readonly lit: ReadonlySet<number>;
  /** Items that show a match; null when nothing is searched for. */
  readonly matches: ReadonlySet<number> | null;
}

/** Scales from which things are drawn. */
export const DETAIL = {
  /** Rounded boxes with borders; below, plain rectangles. */
  shapes: 0.16,
  edges: 0.05,
  arrows: 0.32,
  /** Names of ops; below, those of modules alone, as large as they are legible. */
  names: 0.3,
  /** Shapes of tensors, badges, full-size names. */
  subtitles: 0.7,
  edgeLabels: 0.85,
  /** Line and expression, and what the tensors and gradients hold. */
  statistics: 1.5,
  /** Small pictures of what they hold. */
  thumbnails: 2,
} as const;

/** Whether something is left out by the search or the story, or still to come in the
 * timeline. */
export function isFaded(frame: Frame, item: number): boolean {
  const { matches, chain, playback, scene } = frame;
  if (playback !== null && playback.stage[item] === AHEAD) return true;
  if (chain !== null && !chain.has(item % scene.half)) return true;
  return matches !== null && !matches.has(item % scene.half);
}

/** Whether an item, or the forward box that it is the twin of, is selected. */
export function isSelected({ selected, scene }: Frame, item: number): boolean {
  return selected >= 0 && item % scene.half === selected;
}

/** The badges that are drawn: bad news and findings at any distance, the rest close up. */
export function shownBadges(frame: Frame, box: Box): readonly Badge[] {
  const isFull = frame.view.scale >= DETAIL.subtitles && !isFaded(frame, box.item);
  const isNews = ({ isBad, severity }: Badge) => isBad || severity !== null;
  return isFull ? box.badges : box.badges.filter(isNews);
}

/** How many open scopes are around an item. */
function depthOf({ scene }: Frame, item: number): number {
  let depth = 0;
  let around = scene.visible.parent[item] ?? -1;
  while (around >= 0) {
    depth++;
    around = scene.visible.parent[around] ?? -1;
  }
  return depth;
}

/** The fill of an open scope. */
export function frameFill(frame: Frame, item: number): string {
  const { frames, background } = frame.theme;
  return frames[Math.min(depthOf(frame, item), frames.length - 1)] ?? background;
}
