// Small answers that the picture needs: themes, counts, differences.
import type { VisibleGraph } from "../graph/collapse.js";
import type { Placement } from "../layout/index.js";
import { formatCount, formatPlural } from "../state/format.js";
import { parseColour } from "./colour.js";
import { createTheme, type Theme } from "./theme.js";

/** More boxes than this take a moment: the view says so. */
export const SLOW_ITEMS = 20_000;
/** More boxes than this would not fit into the memory of a page. */
export const MOST_ITEMS = 500_000;

export function pendingSentence(items: number): string {
  return `Laying out ${formatCount(items)} boxes…`;
}

export function tooManySentence(items: number): string {
  return (
    `Drawing ${formatCount(items)} boxes at once is too much: ` +
    "close all modules and open those you need."
  );
}

/** What is wrong with a placement, as a sentence; null when every place is a number. */
export function placementProblem({ x, y, points }: Placement): string | null {
  const isLost = (value: number) => !Number.isFinite(value);
  const count = Math.max(x.filter(isLost).length, y.filter(isLost).length);
  if (count > 0) {
    return `The layout found no place for ${formatPlural(count, "box", "boxes")}.`;
  }
  const isWhole = points.findIndex(isLost) === -1;
  return isWhole ? null : "The layout lost the way of an edge.";
}

export function themeOf(name: "light" | "dark", background: string | null): Theme {
  const isReadable = background !== null && parseColour(background) !== null;
  return isReadable ? createTheme(name, background) : createTheme(name);
}

/** Boxes that can be seen, open scopes not counted. */
export function countBoxes(visible: VisibleGraph): number {
  return visible.open.reduce((count, open) => count + (open === 0 ? 1 : 0), 0);
}

/** The one scope by which two sets of closed scopes differ, else null. */
export function onlyDifference(
  before: ReadonlySet<number>,
  after: ReadonlySet<number>,
): number | null {
  if (Math.abs(before.size - after.size) !== 1) return null;
  const [small, large] = before.size < after.size ? [before, after] : [after, before];
  const extra = [...large].filter((scope) => !small.has(scope));
  return extra.length === 1 ? (extra[0] ?? null) : null;
}

/** The items that show these nodes, and the open scopes around them. */
export function itemsOf(
  visible: VisibleGraph,
  nodes: ReadonlySet<number>,
): Set<number> {
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
