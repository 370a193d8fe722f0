// The layered layout: boxes inside boxes, data flowing from top to bottom, linear time.
//
//   rank -> order -> coord -> route, per open item, from the inside out
import { layoutNested } from "./nested.js";
import {
  DEFAULT_OPTIONS,
  type LayoutGraph,
  type LayoutOptions,
  type Placement,
  type Sizes,
} from "./types.js";
import { checkInput } from "./validate.js";

export type { LayoutGraph, LayoutOptions, Placement, Room, Sizes } from "./types.js";
export { DEFAULT_OPTIONS, LayoutError } from "./types.js";

/** Place the items and route the edges of a visible graph.
 *
 * @example
 * const visible = collapse(buildGraph(snapshot), new Set());
 * const placement = layout(visible, sizes, { rankGap: 48 });
 *
 * @throws LayoutError naming the stage that broke its promise. */
export function layout(
  graph: LayoutGraph,
  sizes: Sizes,
  options: Partial<LayoutOptions> = {},
): Placement {
  checkInput(graph, sizes);
  return layoutNested(graph, sizes, { ...DEFAULT_OPTIONS, ...options });
}
