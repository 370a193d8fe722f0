// Small answers that the picture needs: themes, counts, differences.
import type { VisibleGraph } from "../graph/collapse.js";
import { parseColour } from "./colour.js";
import { createTheme, type Theme } from "./theme.js";

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
