// The gradient view's rows and its sentence: what each parameter got, and why nothing.
import type { Finding, Snapshot } from "../ir/types.js";
import type { Flow, Verdict } from "./flow.js";
import { normAt } from "./flow.js";
import { formatCount, formatPlural } from "./format.js";

export interface FlowRow {
  readonly layer: number;
  readonly name: string;
  /** null: there was no gradient. */
  readonly norm: number | null;
  readonly verdict: Verdict;
  /** Why there is none, as far as anything tells; a sentence with `code`. */
  readonly why: string;
  /** The finding that tells, if one does. */
  readonly finding: number | null;
  /** The last share of itself that a step changed of the parameter, and that step. */
  readonly ratio: { readonly value: number; readonly step: number } | null;
}

/** All parameters, those without a gradient first, else in the order of the model. */
export function flowRows(
  snapshot: Snapshot,
  flow: Flow,
  step: number,
  verdicts: readonly Verdict[],
): FlowRow[] {
  const rows = flow.layers.map((layer, row): FlowRow => {
    const norm = normAt(flow, row, step);
    const verdict = verdicts[row] ?? "";
    const has = norm !== null || verdict === "not finite";
    const { why, finding } = has ? NOTHING : reasonOf(snapshot, flow, row, step);
    const ratio = lastRatio(flow, row, step);
    return { layer: row, name: layer.name, norm, verdict, why, finding, ratio };
  });
  const isBare = ({ why }: FlowRow) => Number(why !== "");
  return rows.sort((a, b) => isBare(b) - isBare(a) || a.layer - b.layer);
}

const NOTHING = { why: "", finding: null } as const;

interface Reason {
  readonly why: string;
  readonly finding: number | null;
}

/** Why a parameter has no gradient: what it asked for, a finding, a cut, the pass. */
function reasonOf(snapshot: Snapshot, flow: Flow, row: number, step: number): Reason {
  const layer = flow.layers[row];
  if (layer === undefined) return NOTHING;
  if (layer.frozen) return { why: "frozen: `requires_grad` is off", finding: null };
  const found = snapshot.findings.findIndex((each) => tellsOf(each, layer));
  if (found >= 0) {
    const { code, slug } = snapshot.findings[found] as Finding;
    return { why: `${code} ${slug}`, finding: found };
  }
  const cut = layer.node === null ? null : cutBehind(snapshot, layer.node);
  if (cut !== null) return { why: `cut off by \`${cut}\``, finding: null };
  if (flow.failed[step]) return { why: "the pass failed before it", finding: null };
  const other = flow.steps.some((_, at) => normAt(flow, row, at) !== null);
  return { why: other ? "none in this step" : "no pass reached it", finding: null };
}

type Layer = Flow["layers"][number];

/** Whether a finding names a parameter, its node or tensor, or the module around it. */
function tellsOf({ nodes, tensors, message }: Finding, layer: Layer): boolean {
  if (layer.node !== null && nodes.includes(layer.node)) return true;
  if (layer.tensor !== null && tensors.includes(layer.tensor)) return true;
  const named = message.split("`").filter((_, at) => at % 2 === 1);
  return named.some(
    (name) => name === layer.name || (name && layer.name.startsWith(`${name}.`)),
  );
}

/** What cut the graph off between a parameter and the loss. */
function cutBehind({ nodes, edges }: Snapshot, from: number): string | null {
  const seen = new Set([from]);
  for (const node of seen) {
    const { kind, call, name } = nodes[node] ?? {};
    if (kind === "cut") return call || name || "detach";
    for (const edge of edges) if (edge.source === node) seen.add(edge.target);
  }
  return null;
}

function lastRatio({ steps, ratios }: Flow, row: number, step: number) {
  for (let at = step; at >= 0; at--) {
    const value = ratios[row * steps.length + at] ?? Number.NaN;
    if (!Number.isNaN(value)) return { value, step: steps[at] ?? 0 };
  }
  return null;
}

/** Rules about gradients that vanish, explode, are zero or never come. */
const ABOUT_GRADIENTS =
  /^GV(?:3\d\d|4\d\d|50[1-46-8]|601|606|607|608|645|646|803|808|840|841)$/;

/** The findings about gradients: the first one is what the view says. */
export function gradientFindings({ findings }: Snapshot): number[] {
  return findings.flatMap(({ code }, id) => (ABOUT_GRADIENTS.test(code) ? [id] : []));
}

/** What was looked at, where nothing is wrong with it. */
export function lookedAt(flow: Flow, step: number): string {
  const { layers, steps } = flow;
  const frozen = layers.filter((layer) => layer.frozen).length;
  const others = layers.length - frozen;
  const at = steps.length > 1 ? ` at step ${formatCount(steps[step] ?? 0)}` : "";
  const apart = frozen === 0 ? "" : ` ${formatPlural(frozen, "parameter")} frozen.`;
  return (
    `Looked at the gradients of ${formatPlural(others, "parameter")}${at}: all are ` +
    `there, and none is zero, vanishing, exploding, NaN or Inf.${apart}`
  );
}

/** The course of a norm over the steps, at most so many of them: the largest of each part. */
export function courseOf(flow: Flow, row: number, most: number): (number | null)[] {
  const { steps } = flow;
  const count = Math.min(most, steps.length);
  return Array.from({ length: count }, (_, part) => {
    const from = Math.floor((part * steps.length) / count);
    const to = Math.floor(((part + 1) * steps.length) / count);
    let largest: number | null = null;
    for (let at = from; at < to; at++) {
      const norm = normAt(flow, row, at);
      if (norm !== null && norm > (largest ?? -1)) largest = norm;
    }
    return largest;
  });
}
