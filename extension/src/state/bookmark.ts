// What the user looks at as a short text for an address, and back; damaged ones mean less.
import { batch } from "@preact/signals-core";
import { COLOR_BY } from "../graph/color-by.js";
import { FLOWS } from "../graph/drawing.js";
import type { Snapshot } from "../ir/types.js";
import { setColorBy, setQuery } from "./actions.js";
import { setFlow, toggleLinks } from "./actions-drawing.js";
import { showStep } from "./actions-steps.js";
import type { Gaze } from "./gaze.js";
import type { Store } from "./store.js";
import type { Selection, ViewMode } from "./ui.js";

/** The parts of an address; what stands at its beginning is left out. */
const KEYS = {
  selection: "at",
  closed: "closed",
  gaze: "look",
  query: "find",
  colour: "colour",
  arrows: "arrows",
  links: "links",
  mode: "view",
  step: "step",
  finding: "finding",
  answer: "why",
  story: "story",
} as const;
const LONGEST = 2000; // letters of an address that closed modules may take
const DIGITS = 4; // of a scale; places are whole units

/** The bookmark as `at=n12&closed=1.3&look=0.8,120,400`; it holds no names of the user's
 * except in what was searched for. */
export function writeBookmark({ data, ui }: Store): string {
  if (data.snapshot.value === null) return "";
  const parts: string[] = [];
  const add = (key: keyof typeof KEYS, value: string | null) => {
    if (value !== null && value !== "") parts.push(`${KEYS[key]}=${escaped(value)}`);
  };
  const selection = ui.selection.value;
  add("selection", selection && `${selection.kind.charAt(0)}${selection.id}`);
  add("closed", closedText(ui.collapsed.value));
  add("gaze", ui.gaze.value && gazeText(ui.gaze.value));
  add("query", ui.query.value);
  add("colour", ui.colorBy.value === "family" ? null : ui.colorBy.value);
  const { flow, links } = ui.drawing.value;
  add("arrows", flow === "forward" ? null : flow);
  add("links", links ? "on" : null);
  const step = ui.step.value;
  add("step", step === null ? null : String(step + 1));
  add("finding", ui.finding.value ? String(ui.finding.value + 1) : null);
  const { value: answer } = ui.answer;
  add("answer", answer === null ? null : String(answer + 1));
  const { value: stop } = ui.stop;
  add("story", stop === null ? null : String(stop + 1));
  add("mode", ui.viewMode.value === "graph" ? null : ui.viewMode.value);
  return parts.join("&");
}

const closedTexts = new WeakMap<ReadonlySet<number>, string>();

/** Rows as runs, "1~40.50-"; nothing where even that would be too long for an address. */
function closedText(rows: ReadonlySet<number>): string {
  const known = closedTexts.get(rows);
  if (known !== undefined) return known;
  const runs: [first: number, last: number][] = [];
  for (const row of [...rows].sort((a, b) => a - b)) {
    const run = runs.at(-1);
    if (run !== undefined && run[1] === row - 1) run[1] = row;
    else runs.push([row, row]);
  }
  const text = runs.map(([first, last]) =>
    first === last ? first : `${first}~${last}`,
  );
  const written = `${text.join(".")}-`;
  const kept = written.length > LONGEST ? "" : written;
  closedTexts.set(rows, kept);
  return kept;
}

/** As a part of an address, except for commas, which are safe there. */
function escaped(value: string): string {
  return encodeURIComponent(value).replaceAll("%2C", ",");
}

function readPart(part: string): readonly [key: string, value: string] {
  const [key = "", ...rest] = part.split("=");
  try {
    return [key, decodeURIComponent(rest.join("="))];
  } catch {
    return [key, ""]; // cut off inside of a letter
  }
}

function gazeText({ scale, x, y }: Gaze): string {
  return [scale.toPrecision(DIGITS), Math.round(x), Math.round(y)].join(",");
}

/** Bring back what a bookmark says of the snapshot that is shown, as far as it fits. */
export function applyBookmark(store: Store, text: string): void {
  const { data, ui } = store;
  const parts = new Map(text.split("&").map(readPart));
  const of = (key: keyof typeof KEYS) => parts.get(KEYS[key]) ?? "";
  if (/^\d{1,6}$/.test(of("step"))) showStep(store, Number(of("step")) - 1);
  const snapshot = data.snapshot.value; // its rows of scopes are those of the step
  if (snapshot === null) return;
  const closed = /^([\d.~]*)-$/.exec(of("closed"))?.[1];
  const colour = COLOR_BY.find((name) => name === of("colour"));
  const mode = (["table", "graph"] satisfies ViewMode[]).find((m) => m === of("mode"));
  const flow = FLOWS.find((name) => name === of("arrows"));
  const gaze = readGaze(of("gaze"));
  const selection = readSelection(of("selection"), snapshot);
  const finding = Number(of("finding")) - 1;
  batch(() => {
    if (closed !== undefined) ui.collapsed.value = readScopes(closed, snapshot);
    if (colour !== undefined) setColorBy(store, colour);
    if (flow !== undefined) setFlow(store, flow);
    if (of("links") === "on" && !ui.drawing.value.links) toggleLinks(store);
    if (mode !== undefined) ui.viewMode.value = mode;
    if (parts.has(KEYS.query)) setQuery(store, of("query"));
    if (snapshot.findings[finding] !== undefined) {
      ui.finding.value = finding;
      ui.pane.value = "findings";
    }
    if (selection !== null) {
      ui.selection.value = selection;
      ui.pane.value = "inspector";
    }
    const answer = Number(of("answer")) - 1;
    if (snapshot.answers[answer] !== undefined) ui.answer.value = answer;
    if (/^\d{1,6}$/.test(of("story"))) {
      ui.stop.value = Number(of("story")) - 1;
      ui.pane.value = ui.answer.value === null ? "findings" : "inspector";
    }
    if (gaze !== null) ui.lookRequest.value = gaze;
  });
}

function readScopes(text: string, { scopes }: Snapshot): ReadonlySet<number> {
  const closed = new Set<number>();
  for (const run of text.split(".").filter(Boolean)) {
    const [first = 0, last = first] = run.split("~").map(Number);
    for (let row = first; row <= Math.min(last, scopes.length - 1); row++)
      closed.add(row);
  }
  return closed;
}

function readSelection(text: string, snapshot: Snapshot): Selection | null {
  const [, kind, row] = /^([nes])(\d{1,9})$/.exec(text) ?? [];
  const id = Number(row);
  if (kind === "n" && id < snapshot.nodes.length) return { kind: "node", id };
  if (kind === "s" && id < snapshot.scopes.length) return { kind: "scope", id };
  return kind === "e" && id < snapshot.edges.length ? { kind: "edge", id } : null;
}

function readGaze(text: string): Gaze | null {
  const numbers = text.split(",").map(Number);
  const [scale = 0, x = 0, y = 0] = numbers;
  const fits = [scale, x, y].every(Number.isFinite) && scale >= 1e-4 && scale <= 10;
  return numbers.length === 3 && fits ? { scale, x, y } : null;
}
