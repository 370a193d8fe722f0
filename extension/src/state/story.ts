// The story of a finding: its lines and nodes as numbered stops, from where it began to
// what it reached.
import type { StopMark, StopSide } from "../graph/mark.js";
import type { Finding, Severity, Snapshot } from "../ir/types.js";
import type { RelatedPlace } from "./findings.js";
import { findingDetails } from "./findings.js";
import { type Place, placeOf } from "./inspect.js";
import { nodesOnSites } from "./lit.js";
import { spreadOf } from "./spread.js";
import { rowAt, type Tables } from "./tables.js";

export interface Stop {
  /** Where it began, or what the program decided; else where that leads. */
  readonly isBirth: boolean;
  /** What it is about, of the value or of the gradient; null: of neither. */
  readonly side: StopSide | null;
  readonly sentence: string;
  readonly place: Place | null;
  /** What stands for it in the picture, ghosts too; none, where only code can be shown. */
  readonly nodes: readonly number[];
}

/** Told by their kinds, in answers: what goes on as a value, and what is lost on the way
 * back. */
const SIDES: Readonly<Record<string, StopSide>> = {
  use: "value",
  path: "value",
  loss: "value",
  made: "value",
  write: "value",
  read: "value",
  operand: "value",
  gate: "gradient",
  pass: "gradient",
};

/** The stops of a finding; the chain of the answer that names the same line goes first,
 * then the finding's other lines, and in between what NaN or Inf spoilt. */
export function storyOf(tables: Tables, id: number): readonly Stop[] {
  const details = findingDetails(tables, id);
  if (details === null) return [];
  const { snapshot } = tables;
  const { finding, culprit, related } = details;
  const told = answered(snapshot, finding, culprit);
  const known = new Set(told.map(({ place }) => lineOf(place)));
  if (culprit !== null && !known.has(lineOf(culprit)))
    told.unshift({
      ...stopAt(snapshot, finding, culprit),
      sentence: finding.slug.replaceAll("-", " "),
    });
  const rest = related.filter(
    ({ place }) => !known.has(lineOf(place)) && lineOf(place) !== lineOf(culprit),
  );
  const lines = rest.map(({ role, place }: RelatedPlace) => ({
    ...stopAt(snapshot, finding, place),
    isBirth: false,
    sentence: role,
  }));
  return withSpread(tables, [...told, ...lines]);
}

/** The marks of the stops: a node of several has that of the one which is told, else
 * that of a birth, else the first. */
export function stopMarks(
  stops: readonly Stop[],
  severity: Severity,
  told: number | null,
): ReadonlyMap<number, StopMark> {
  const rank = (at: number) => (at === told ? 0 : stops[at]?.isBirth ? 1 : 2);
  const order = [...stops.keys()].sort((a, b) => rank(a) - rank(b) || a - b);
  const marks = new Map<number, StopMark>();
  for (const at of order) {
    const { nodes = [], isBirth = false, side = null } = stops[at] ?? {};
    const mark = { number: at + 1, isBirth, side, severity };
    for (const node of nodes) if (!marks.has(node)) marks.set(node, mark);
  }
  return marks;
}

/** What a screen reader hears at a stop. */
export function stopSentence(stops: readonly Stop[], at: number): string {
  const { isBirth = false, sentence = "", place = null } = stops[at] ?? {};
  const where = [
    `Stop ${at + 1} of ${stops.length}`,
    place?.label,
    isBirth && "the cause",
  ];
  return `${where.filter(Boolean).join(", ")}: ${sentence}`;
}

function lineOf(place: Place | null): string {
  return place === null ? "" : `${place.site.file}:${place.site.line}`;
}

/** The steps, with a line, of the first answer that blames the same line. */
function answered(snapshot: Snapshot, finding: Finding, culprit: Place | null): Stop[] {
  const { answers, answer_steps: steps } = snapshot;
  const row = steps.find(
    ({ answer, decision, site }) =>
      decision &&
      answers[answer]?.finding === finding.code &&
      lineOf(placeOf(snapshot, site)) === lineOf(culprit),
  )?.answer;
  if (row === undefined) return [];
  return answerStops(snapshot, row, finding.nodes).filter(
    ({ place }) => place !== null,
  );
}

/** The steps of an answer, those without a line too: they say what it comes to. At their
 * lines, the nodes that are wanted go first. */
export function answerStops(
  snapshot: Snapshot,
  row: number,
  wanted: readonly number[] = [],
): Stop[] {
  const steps = snapshot.answer_steps.filter(({ answer }) => answer === row);
  return steps.map(({ site, node, kind, sentence, decision }): Stop => {
    const place = placeOf(snapshot, site);
    const nodes = place === null ? [] : nodesAt(snapshot, wanted, place);
    return {
      isBirth: decision,
      side: SIDES[kind] ?? null,
      sentence,
      place,
      nodes: node === null ? nodes : [...new Set([node, ...nodes])],
    };
  });
}

/** A stop at a line: the nodes that the finding points at there, else all it made. */
function stopAt(snapshot: Snapshot, finding: Finding, place: Place): Stop {
  const nodes = nodesAt(snapshot, finding.nodes, place);
  return { isBirth: true, side: null, sentence: "", place, nodes };
}

/** What a line made: what is wanted of that, else what the very expression made. */
function nodesAt(
  snapshot: Snapshot,
  wanted: readonly number[],
  { site }: Place,
): readonly number[] {
  const isOn = snapshot.sites.map(
    ({ file, line }) => file === site.file && line === site.line,
  );
  const made = nodesOnSites(snapshot, isOn);
  const own = made.filter((node) => wanted.includes(node));
  if (own.length > 0) return own;
  const exact = made.filter((node) => {
    const at = rowAt(snapshot.sites, snapshot.nodes[node]?.site);
    return at?.column === site.column && at?.end_column === site.end_column;
  });
  return exact.length > 0 ? exact : made;
}

/** The stops with those of the nodes that NaN or Inf spoilt, behind the one of its birth. */
function withSpread(tables: Tables, stops: readonly Stop[]): readonly Stop[] {
  const at = stops.findIndex(({ isBirth }) => isBirth);
  const [birth] = stops.slice(at, at + 1);
  const spread = birth === undefined ? null : spreadOf(tables, birth.nodes);
  if (birth === undefined || spread === null) return stops;
  const [first, ...others] = spread;
  const nodes = [...new Set([...(first?.nodes ?? []), ...birth.nodes])];
  const known = new Set(stops.map(({ place }) => lineOf(place)));
  const added = others.flatMap(({ isLoss = false, ...each }): Stop[] => {
    const site = tables.snapshot.nodes[each.nodes[0] ?? -1]?.site;
    const place = placeOf(tables.snapshot, site);
    const isTold = isLoss && known.has(lineOf(place));
    return isTold ? [] : [{ ...each, isBirth: false, place }];
  });
  return [
    ...stops.slice(0, at),
    { ...birth, side: first?.side ?? null, nodes },
    ...added,
    ...stops.slice(at + 1),
  ];
}
