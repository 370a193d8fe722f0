// The edges of a scene: how thick, how dashed, and what is written beside them.
import type { Graph } from "../graph/build.js";
import { rowOf } from "../graph/build.js";
import type { VisibleGraph } from "../graph/collapse.js";
import type { Flow } from "../graph/drawing.js";
import type { Edge, Snapshot, Statistics } from "../ir/types.js";
import { formatShort, tensorLabel } from "./labels.js";
import { type LogRange, logRange, shareOf } from "./tones.js";

/** plain: the gradient is not known; flow: known, as thick as it is large; still: zero;
 * bad: NaN or Inf; cut: no gradient will ever come. */
export type EdgeKind = "plain" | "flow" | "still" | "bad" | "cut";

export interface EdgeLook {
  readonly kind: EdgeKind;
  /** In world units. */
  readonly width: number;
  readonly label: string;
  /** The arrow is at the start of the path: the gradient flows against it. */
  readonly isTurned: boolean;
}

const WIDTH = {
  plain: 1.4,
  still: 1,
  bad: 2.6,
  cut: 1.4,
  thinnest: 1.2,
  thickest: 4.6,
};
const NO_GRADIENT = "no gradient";
const WIDTH_STEP = 0.4; // few widths, so that edges of one look are drawn in one stroke

/** The smallest and the largest gradient on an edge: the thinnest line and the thickest. */
export function edgeRange(snapshot: Snapshot): LogRange | null {
  return logRange(
    snapshot.edges.map((edge) => gradientOf(snapshot, edge)?.norm ?? null),
  );
}

/** Edges from items after `half` on are those of the backward twins. */
export function describeEdges(
  graph: Graph,
  visible: VisibleGraph,
  flow: Flow = "forward",
  half = visible.node.length,
): EdgeLook[] {
  const { snapshot } = graph;
  const range = edgeRange(snapshot);
  return Array.from(visible.source, (_, index) => {
    const members = rowOf(visible.members, index);
    let norm: number | null = null;
    let isBad = false;
    let isCut = true;
    for (const id of members) {
      const edge = snapshot.edges[id];
      if (edge === undefined) continue;
      if (edge.kind !== "cut") isCut = false;
      const gradient = gradientOf(snapshot, edge);
      const values = statisticsOf(snapshot, edge);
      isBad = isBad || holdsBad(gradient) || holdsBad(values);
      if (gradient?.norm != null) norm = Math.max(norm ?? 0, gradient.norm);
    }
    const isBack = flow === "backward" || (visible.source[index] ?? 0) >= half;
    const label = isCut
      ? cutLabel(graph, visible, index)
      : isBack
        ? gradientLabel(snapshot, members)
        : labelOf(snapshot, members);
    const rest = { label, isTurned: isBack && !isCut };
    if (isBad) return { kind: "bad", width: WIDTH.bad, ...rest };
    if (isCut) return { kind: "cut", width: WIDTH.cut, ...rest };
    if (norm === null) return { kind: "plain", width: WIDTH.plain, ...rest };
    if (norm === 0) return { kind: "still", width: WIDTH.still, ...rest };
    const span = WIDTH.thickest - WIDTH.thinnest;
    const width = WIDTH.thinnest + span * shareOf(range, norm);
    const steps = Math.round(width / WIDTH_STEP);
    return { kind: "flow", width: steps * WIDTH_STEP, ...rest };
  });
}

/** What cut the branch, unless the box at one end says so: then that nothing flows. */
function cutLabel({ snapshot }: Graph, visible: VisibleGraph, index: number): string {
  const isCut = (node: number | undefined) =>
    snapshot.nodes[node ?? -1]?.kind === "cut";
  const ends = [visible.source[index] ?? -1, visible.target[index] ?? -1];
  if (ends.some((item) => isCut(visible.node[item]))) return NO_GRADIENT;
  const words = new Set<string>();
  for (const id of rowOf(visible.members, index)) {
    const { source, target } = snapshot.edges[id] ?? {};
    for (const node of [target, source].filter(isCut)) {
      const { call = "", name = "" } = snapshot.nodes[node ?? -1] ?? {};
      words.add(call || name);
    }
  }
  const [word = NO_GRADIENT] = words;
  return words.size > 1 ? `${words.size} cuts` : word;
}

/** What flows, and which of the source's outputs it is where it has several. */
function labelOf(snapshot: Snapshot, members: Int32Array): string {
  const tensors = new Set<number>();
  const outputs = new Set<number>();
  let hasSeveral = false;
  for (const id of members) {
    const { tensor = null, source = -1, output = 0 } = snapshot.edges[id] ?? {};
    if (tensor !== null) tensors.add(tensor);
    outputs.add(output);
    hasSeveral ||= (snapshot.nodes[source]?.outputs.length ?? 0) > 1;
  }
  if (tensors.size > 1) return `${tensors.size} tensors`;
  const [output = 0] = outputs;
  const which = hasSeveral && outputs.size === 1 ? `out ${output}` : "";
  const [id = -1] = tensors;
  const tensor = snapshot.tensors[id];
  const shape = tensor === undefined ? "" : tensorLabel(tensor);
  return [which, shape].filter(Boolean).join(" · ");
}

/** The norm of the gradient, or of the largest where edges are merged. */
function gradientLabel(snapshot: Snapshot, members: Int32Array): string {
  let largest: number | null = null;
  for (const id of members) {
    const edge = snapshot.edges[id];
    const norm = edge === undefined ? null : (gradientOf(snapshot, edge)?.norm ?? null);
    if (norm !== null) largest = Math.max(largest ?? 0, norm);
  }
  return largest === null ? "" : `|g| ${formatShort(largest)}`;
}

function gradientOf(snapshot: Snapshot, edge: Edge): Statistics | null {
  return edge.gradient === null ? null : (snapshot.statistics[edge.gradient] ?? null);
}

function statisticsOf(snapshot: Snapshot, edge: Edge): Statistics | null {
  const row =
    edge.tensor === null ? null : (snapshot.tensors[edge.tensor]?.statistics ?? null);
  return row === null ? null : (snapshot.statistics[row] ?? null);
}

function holdsBad(statistics: Statistics | null): boolean {
  return statistics !== null && statistics.nans + statistics.infs > 0;
}
