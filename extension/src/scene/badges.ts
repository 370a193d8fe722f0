// The badges of a box: findings, NaN and Inf, what became of saved tensors, hooks.
import type { Graph } from "../graph/build.js";
import type { VisibleGraph } from "../graph/collapse.js";
import { type BadValues, unwantedValues } from "../graph/gradients.js";
import type { Finding, OpNode, Severity, Snapshot } from "../ir/types.js";

export interface Badge {
  readonly text: string;
  /** NaN or Inf. */
  readonly isBad: boolean;
  /** Of the finding whose code this is. */
  readonly severity: Severity | null;
}

/** Facts of the whole graph that decide what its boxes say. */
export interface News {
  readonly findings: ReadonlyMap<number, readonly Finding[]>;
}

const FREED = "freed";
/** The family of findings about what lives too long, or ends too early. */
const LIFETIME = "GV2";

export function newsOf(snapshot: Snapshot): News {
  const findings = new Map<number, Finding[]>();
  for (const finding of snapshot.findings) {
    if (finding.severity === "info") continue; // nothing is wrong there
    for (const node of finding.nodes) {
      const known = findings.get(node);
      if (known === undefined) findings.set(node, [finding]);
      else known.push(finding);
    }
  }
  return { findings };
}

export function badgesOf(
  snapshot: Snapshot,
  node: OpNode,
  id: number,
  news: News,
): Badge[] {
  const findings = news.findings.get(id) ?? [];
  // After a backward pass it holds for almost all: news only where a finding is about it.
  const isAboutLife = findings.some(({ code }) => code.startsWith(LIFETIME));
  const words = node.flags.filter((flag) => flag !== FREED || isAboutLife);
  if (node.hooks.length > 0) words.push(hooksWord(node.hooks.length));
  if (node.kind === "inplace") words.push("in place");
  if (node.order > 0) words.push(orderWord(node.order));
  return [...codesOf(findings), ...listBadges(unwantedValues(snapshot, node), words)];
}

function hooksWord(count: number): string {
  return count === 1 ? "hook" : `${count} hooks`;
}

/** Which derivative a node computes a part of; those of the forward pass say nothing. */
function orderWord(order: number): string {
  const ends: Readonly<Record<number, string>> = { 1: "st", 2: "nd", 3: "rd" };
  return `${order}${ends[order] ?? "th"} derivative`;
}

const CODE_LETTERS = 12; // "GV101", or what a stranger's file says

/** The codes of findings, each once. */
function codesOf(findings: readonly Finding[]): Badge[] {
  const codes = new Map<string, Severity>();
  for (const { code, severity } of findings) {
    const text = Array.from(code).slice(0, CODE_LETTERS).join("");
    if (!codes.has(text)) codes.set(text, severity);
  }
  return Array.from(codes, ([text, severity]) => ({ text, isBad: false, severity }));
}

function listBadges({ nans, infs }: BadValues, words: readonly string[]): Badge[] {
  const badges = words.map((text) => ({ text, isBad: false, severity: null }));
  if (nans + infs === 0) return badges;
  const text = nans > 0 && infs > 0 ? "NaN Inf" : nans > 0 ? "NaN" : "Inf";
  return [{ text, isBad: true, severity: null }, ...badges];
}

interface Hidden {
  nans: number;
  infs: number;
  words: string[];
  readonly findings: Finding[];
}

/** A closed scope shows the bad news of what it hides, and none of the rest. */
export function badgesOfScopes(
  { snapshot }: Graph,
  visible: VisibleGraph,
  news: News,
): Map<number, Badge[]> {
  const hidden = new Map<number, Hidden>();
  snapshot.nodes.forEach((node, id) => {
    const item = visible.itemOfNode[id] ?? -1;
    if ((visible.scope[item] ?? -1) < 0) return;
    const known = hidden.get(item) ?? { nans: 0, infs: 0, words: [], findings: [] };
    const { nans, infs } = unwantedValues(snapshot, node);
    known.nans += nans;
    known.infs += infs;
    if (node.flags.includes("modified")) known.words = ["modified"];
    known.findings.push(...(news.findings.get(id) ?? []));
    hidden.set(item, known);
  });
  return new Map(
    Array.from(hidden, ([item, { words, findings, ...bad }]) => [
      item,
      [...codesOf(findings), ...listBadges(bad, words)],
    ]),
  );
}
