// The boxes of a scene: what each shows, and how much room it needs.
import type { Rect } from "../geometry/rect.js";
import type { Graph } from "../graph/build.js";
import { layersOf } from "../graph/calls.js";
import type { VisibleGraph } from "../graph/collapse.js";
import type { OpNode } from "../ir/types.js";
import type { Sizes } from "../layout/index.js";
import { type Badge, badgesOf, badgesOfScopes, newsOf } from "./badges.js";
import { nodeLabel, scopeKind, scopeLabel } from "./labels.js";
import { type Region, writtenRegion } from "./region.js";

/** rect: an op; pill: a leaf; ghost: cut from the graph; stack: a closed scope;
 * frame: an open scope around its content. */
export type BoxShape = "rect" | "pill" | "ghost" | "stack" | "frame";

/** What a box shows, before anything is placed. */
export interface BoxContent {
  readonly shape: BoxShape;
  /** The node, or the scope where the shape is stack or frame. */
  readonly id: number;
  readonly title: string;
  readonly subtitle: string;
  readonly badges: readonly Badge[];
  /** NaN or Inf in here. */
  readonly isBad: boolean;
  readonly isRoot: boolean;
  /** A closed scope that the code calls as it calls an op: drawn without sheets. */
  readonly isLayer: boolean;
  /** Of a CopySlices: the part of the tensor that was written. */
  readonly region: Region | null;
}

export const METRICS = {
  titleSize: 13,
  subtitleSize: 11,
  badgeSize: 10,
  badgeHeight: 15,
  badgePadding: 5,
  badgeGap: 4,
  /** What a line of badges adds to the height: beside a box they would hide arrows. */
  badgeLine: 20,
  paddingX: 14,
  oneLine: 30,
  twoLines: 44,
  /** A parameter: its name and its shape beside it. */
  pill: 24,
  /** How far around a box the ring of a mark reaches. */
  rings: 7.3,
  leastWidth: 64,
  mostWidth: 232,
  markerWidth: 20,
  /** The room of the small picture of a written region. */
  regionWidth: 34,
  /** From the left border of a closed scope to its triangle. */
  markerLeft: 13,
  frameTitle: 30,
  /** How far the sheets of a closed scope look out below it. */
  sheets: 7,
} as const;

/** Width of a text in world units; `bold` is the weight of titles. */
export type Measure = (text: string, size: number, bold: boolean) => number;

export function describeBoxes(graph: Graph, visible: VisibleGraph): BoxContent[] {
  const { snapshot } = graph;
  const roots = new Set(snapshot.roots);
  const layers = layersOf(snapshot);
  const news = newsOf(snapshot);
  const scopeBadges = badgesOfScopes(graph, visible, news);
  return Array.from(visible.node, (node, item) => {
    const scope = visible.scope[item] ?? -1;
    if (scope >= 0) {
      const open = visible.open[item] === 1;
      const { title, subtitle } = scopeLabel(graph, scope);
      const badges = open ? [] : (scopeBadges.get(item) ?? []);
      return {
        shape: open ? "frame" : "stack",
        id: scope,
        title,
        subtitle: open ? scopeKind(snapshot, scope) : subtitle,
        badges,
        isBad: badges.some((badge) => badge.isBad),
        isRoot: false,
        isLayer: !open && layers.has(scope),
        region: null,
      };
    }
    const row = snapshot.nodes[node];
    if (row === undefined) throw new RangeError(`There is no node ${node}.`);
    const badges = badgesOf(snapshot, row, node, news);
    return {
      shape: shapeOf(row),
      id: node,
      ...nodeLabel(snapshot, row, node),
      badges,
      isBad: badges.some((badge) => badge.isBad),
      isRoot: roots.has(node),
      isLayer: false,
      region: writtenRegion(snapshot, row),
    };
  });
}

/** All that is drawn of a box, its sheets included. */
export function drawnArea(box: Rect & Pick<BoxContent, "shape" | "isLayer">): Rect {
  const { x, y, width, height } = box;
  if (box.shape !== "stack" || box.isLayer) return box;
  return { x, y, width, height: height + METRICS.sheets };
}

/** Between the name and the class of an open scope, the name and the shape of a leaf. */
const WORD_GAP = 10;

/** How much room each box needs for its words. */
export function measureBoxes(boxes: readonly BoxContent[], measure: Measure): Sizes {
  const m = METRICS;
  const width = new Float32Array(boxes.length);
  const height = new Float32Array(boxes.length);
  boxes.forEach((box, item) => {
    const isPill = box.shape === "pill";
    const title = measure(box.title, isPill ? m.subtitleSize : m.titleSize, !isPill);
    const subtitle =
      box.subtitle === "" ? 0 : measure(box.subtitle, m.subtitleSize, false);
    const isScope = box.shape === "stack" || box.shape === "frame";
    const marker = isScope ? m.markerWidth : box.region === null ? 0 : m.regionWidth;
    const isOneLine = box.shape === "frame" || isPill;
    const words = isOneLine ? title + subtitle + WORD_GAP : Math.max(title, subtitle);
    const badges = Math.ceil(measureBadges(box.badges, measure).row);
    const wanted = Math.ceil(words + marker) + 2 * m.paddingX;
    const capped = Math.min(m.mostWidth, Math.max(m.leastWidth, wanted));
    width[item] = Math.max(capped, badges === 0 ? 0 : badges + marker + 2 * m.paddingX);
    const lines = box.subtitle === "" ? m.oneLine : m.twoLines;
    height[item] = (isPill ? m.pill : lines) + (badges === 0 ? 0 : m.badgeLine);
  });
  return { width, height };
}

/** The width of each badge, and of all in a row. */
export function measureBadges(
  badges: readonly Badge[],
  measure: Measure,
): { readonly widths: readonly number[]; readonly row: number } {
  const m = METRICS;
  const widths = badges.map(
    ({ text }) => measure(text, m.badgeSize, true) + 2 * m.badgePadding,
  );
  const gaps = Math.max(0, badges.length - 1) * m.badgeGap;
  return { widths, row: widths.reduce((sum, width) => sum + width, gaps) };
}

function shapeOf(node: OpNode): BoxShape {
  if (node.kind === "accumulate" || node.kind === "leaf") return "pill";
  return node.kind === "cut" ? "ghost" : "rect";
}
