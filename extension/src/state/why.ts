// The answers that a snapshot keeps: why something learns, or does not, as a story.
import { codeNames } from "../graph/names.js";
import type { Snapshot } from "../ir/types.js";

/** An answer about something that is looked at. */
export interface Asked {
  /** Its row. */
  readonly id: number;
  readonly verdict: string;
}

/** What is known of a parameter, of a loss, or of the loss that a node is a term of. */
export function answerOfNode(snapshot: Snapshot, id: number): Asked | null {
  const { nodes, roots, answers, answer_steps: steps } = snapshot;
  const node = nodes[id];
  if (node === undefined) return null;
  const names = [codeNames(snapshot).get(id), node.call];
  const kind = node.kind === "accumulate" ? "parameter" : "loss";
  const own = answers.findIndex(
    (answer) =>
      answer.kind === kind && answer.names.some((name) => names.includes(name)),
  );
  if (own >= 0) return askedOf(snapshot, own, names);
  if (node.kind === "accumulate") return null;
  const losses = answers.flatMap((answer, row) =>
    answer.kind === "loss" ? [row] : [],
  );
  const ofTerm = steps.find(
    ({ answer, kind: of, site }) =>
      of === "term" && site !== null && site === node.site && losses.includes(answer),
  );
  const only = losses.length === 1 && roots.includes(id) ? losses[0] : undefined;
  const row = ofTerm?.answer ?? only;
  return row === undefined ? null : askedOf(snapshot, row, names);
}

/** What is known of a module, by its path behind the model's own name. */
export function answerOfModule(snapshot: Snapshot, path: string): Asked | null {
  const name = path.split(".").slice(1).join(".");
  const row = snapshot.answers.findIndex(
    ({ kind, names }) => kind === "module" && name !== "" && names.includes(name),
  );
  return row < 0 ? null : askedOf(snapshot, row, [name]);
}

/** The verdict is about the first of the names: others take its place. */
function askedOf(
  { answers }: Snapshot,
  id: number,
  names: readonly (string | undefined)[],
): Asked {
  const { names: [first = ""] = [], verdict = "", names: all = [] } = answers[id] ?? {};
  const own = all.find((name) => names.includes(name)) ?? first;
  const rest = verdict.startsWith(first) ? verdict.slice(first.length) : null;
  return { id, verdict: rest === null ? verdict : own + rest };
}
