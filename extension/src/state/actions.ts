// Every change of the store; panels and hosts call these and never write signals.
import { batch } from "@preact/signals-core";
import type { ColorBy } from "../graph/color-by.js";
import { unfolded } from "../graph/fold.js";
import type { Snapshot } from "../ir/types.js";
import { foldSteps, showStepOf } from "./actions-steps.js";
import { leaveTimeline } from "./actions-timeline.js";
import {
  allScopes,
  carryCollapsed,
  firstCollapsed,
  hidingScope,
  scopeChain,
} from "./collapse.js";
import { isComparable } from "./comparison.js";
import { isFailure } from "./findings.js";
import type { PaneName } from "./panes.js";
import { firstStep, stepsOf } from "./steps.js";
import type { Store } from "./store.js";
import type { Selection, ThemeChoice, ViewMode } from "./ui.js";

const SHARE_LIMITS = [18, 75] as const;
const WIDE_PX = 1100; // from here on, the outline has room beside both
const NARROW_PX = 640; // below, graph and inspector do not fit side by side

/** Whether a selection still means the same row after the tables were replaced. */
function survives(selection: Selection | null, before: Snapshot, after: Snapshot) {
  if (selection === null) return true;
  const { id } = selection;
  if (selection.kind === "node") {
    const [old, now] = [before.nodes[id], after.nodes[id]];
    return now !== undefined && old?.name === now.name && old.sequence === now.sequence;
  }
  if (selection.kind === "scope") {
    const [old, now] = [before.scopes[id], after.scopes[id]];
    return now !== undefined && old?.path === now.path;
  }
  const [old, now] = [before.edges[id], after.edges[id]];
  return now !== undefined && old?.source === now.source && old.target === now.target;
}

/** The finding to show of a new snapshot: the same one, else the most likely cause. */
function nextFinding({ data, ui }: Store, snapshot: Snapshot): number | null {
  const id = ui.finding.value;
  const old = id === null ? undefined : data.snapshot.value?.findings[id];
  const now = id === null ? undefined : snapshot.findings[id];
  const same =
    old !== undefined && old.code === now?.code && old.message === now.message;
  if (same) return id;
  return snapshot.findings.length > 0 ? 0 : null;
}

/** Show a snapshot; closed scopes and the selection are kept where they still apply. */
export function receiveSnapshot(store: Store, recorded: Snapshot): void {
  const { data, ui } = store;
  const steps = stepsOf(unfolded(recorded));
  const isChosen = (ui.step.value ?? steps.length) < steps.length;
  const step = isChosen ? (ui.step.value ?? 0) : firstStep(recorded, steps);
  const snapshot = foldSteps(recorded, [step]);
  batch(() => {
    if (!isChosen) ui.step.value = null;
    const before = data.snapshot.value;
    if (before === null) ui.collapsed.value = firstCollapsed(snapshot);
    else {
      ui.collapsed.value = carryCollapsed(before, ui.collapsed.value, snapshot);
      if (!survives(ui.selection.value, before, snapshot)) ui.selection.value = null;
    }
    const finding = nextFinding(store, snapshot);
    const isIdle = ui.selection.value === null && ui.pane.value === "inspector";
    if (before === null || (isIdle && before.findings.length === 0)) {
      ui.pane.value = finding === null ? "inspector" : "findings";
    }
    // Two graphs in one snapshot were put there to be compared.
    if (before === null && snapshot.parts.length > 1 && isComparable(snapshot))
      ui.pane.value = "compare";
    if (ui.finding.value !== finding) ui.stop.value = null;
    ui.finding.value = finding;
    ui.answer.value = null;
    // A live view shows the graph as it grows; the failure that ends it is news there.
    const isNews = before === null || !isFailure(before);
    ui.card.value =
      isFailure(snapshot) && (isNews ? ui.allowsCard.value : ui.card.value);
    ui.hovered.value = null;
    ui.matchPosition.value = null;
    if (before?.events !== snapshot.events) leaveTimeline(store);
    data.snapshot.value = snapshot;
    data.problem.value = null;
  });
}

/** Show a failure as one sentence; a stack trace helps nobody here. */
export function reportProblem({ data }: Store, error: unknown): void {
  const text = error instanceof Error ? error.message : String(error);
  const sentence = text.split("\n")[0]?.trim();
  data.problem.value = sentence || "The graph could not be shown.";
}

/** Select what the user pointed at in the graph: it is visible, nothing needs to move. */
export function selectNode({ ui }: Store, id: number | null): void {
  batch(() => {
    ui.selection.value = id === null ? null : { kind: "node", id };
    ui.answer.value = ui.stop.value = null;
    if (id !== null) ui.pane.value = "inspector";
  });
}

/** Select a module: its card stands beside the graph. */
export function selectScope({ ui }: Store, id: number): void {
  batch(() => {
    ui.selection.value = { kind: "scope", id };
    ui.pane.value = "inspector";
  });
}

/** Select a module from outside of the graph: open what is around it, and bring it into
 * view. */
export function goToScope(store: Store, id: number): void {
  const { data, ui, derived } = store;
  const nodes = data.snapshot.value?.nodes ?? [];
  const chain = new Map<number | null, boolean>();
  const isInside = (scope: number | null): boolean => {
    const known = chain.get(scope);
    if (known !== undefined) return known;
    const found = scopeChain(data.snapshot.value?.scopes ?? [], scope).includes(id);
    chain.set(scope, found);
    return found;
  };
  const shown = derived.shown.value;
  const inside = [...nodes.keys()].filter(
    (node) => shown?.[node] !== 0 && isInside(nodes[node]?.scope ?? null),
  );
  batch(() => {
    selectScope(store, id);
    ui.revealRequest.value = { nodes: inside };
  });
}

export function selectEdge({ ui }: Store, id: number | null): void {
  batch(() => {
    ui.selection.value = id === null ? null : { kind: "edge", id };
    if (id !== null) ui.pane.value = "inspector";
  });
}

/** Open every scope around some nodes. */
export function openAround({ data, ui }: Store, nodes: readonly number[]): void {
  const { nodes: rows, scopes } = data.snapshot.value ?? { nodes: [], scopes: [] };
  const chain = nodes.flatMap((id) => scopeChain(scopes, rows[id]?.scope ?? null));
  if (!chain.some((scope) => ui.collapsed.value.has(scope))) return;
  const open = new Set(ui.collapsed.value);
  for (const scope of chain) open.delete(scope);
  ui.collapsed.value = open;
}

/** Select a node from elsewhere (table, search, list): open its scopes, bring it in view. */
export function goToNode(store: Store, id: number): void {
  const { data, ui } = store;
  if (data.snapshot.value?.nodes[id] === undefined) return;
  batch(() => {
    showStepOf(store, id);
    openAround(store, [id]);
    selectNode(store, id);
    ui.revealRequest.value = { nodes: [id] };
  });
}

/** A line in a loop may have made thousands of nodes, in as many modules. */
const OPENED_AROUND = 12;

/** Unfold a finding and show its nodes: open their scopes, mark them, bring them in view. */
export function showFinding(store: Store, id: number): void {
  const { data, ui } = store;
  const finding = data.snapshot.value?.findings[id];
  if (finding === undefined) return;
  batch(() => {
    const { nodes } = finding;
    if (nodes[0] !== undefined) {
      showStepOf(store, nodes[0]);
      openAround(store, nodes.slice(0, OPENED_AROUND));
      selectNode(store, nodes[0]);
      ui.viewMode.value = "graph";
      ui.revealRequest.value = { nodes };
    }
    ui.finding.value = id;
    ui.answer.value = ui.stop.value = null;
    ui.pane.value = "findings";
  });
}

/** Fold the finding, and take its marks away. */
export function hideFinding({ ui }: Store): void {
  ui.finding.value = ui.stop.value = null;
}

/** Walk the findings forwards (1) or backwards (-1), around the end; from the inspector,
 * first back to the chosen one. */
export function stepFinding(store: Store, step: 1 | -1): void {
  const { data, ui } = store;
  const count = data.snapshot.value?.findings.length ?? 0;
  if (count === 0) return;
  const at = ui.finding.value;
  if (at !== null && ui.pane.value === "inspector") showFinding(store, at);
  else showFinding(store, ((at ?? (step === 1 ? -1 : 0)) + step + count) % count);
}

/** Let a failure stand as a card at first; said before the first snapshot. */
export function allowCard({ ui }: Store): void {
  ui.allowsCard.value = true;
}

/** From the card to the whole view, at the nodes of the finding. */
export function openCard(store: Store): void {
  batch(() => {
    store.ui.card.value = false;
    showFinding(store, store.ui.finding.value ?? 0);
  });
}

/** Back to the card, where one may stand: with the most likely cause. */
export function closeToCard({ ui }: Store): void {
  batch(() => {
    ui.finding.value = 0;
    ui.card.value = true;
  });
}

export function setPane({ ui }: Store, pane: PaneName): void {
  ui.pane.value = pane;
}

export function hover({ ui }: Store, id: number | null): void {
  ui.hovered.value = id;
}

export function toggleScope({ ui }: Store, scope: number): void {
  const next = new Set(ui.collapsed.value);
  if (!next.delete(scope)) next.add(scope);
  ui.collapsed.value = next;
}

/** Open or close the selected module; open the closed box around the selected node, or close its innermost scope. */
export function toggleSelectedScope(store: Store): void {
  const { data, ui } = store;
  const selection = ui.selection.value;
  const snapshot = data.snapshot.value;
  if (selection?.kind === "scope") toggleScope(store, selection.id);
  if (snapshot === null || selection?.kind !== "node") return;
  const own = snapshot.nodes[selection.id]?.scope ?? null;
  const scope = hidingScope(snapshot.scopes, ui.collapsed.value, own) ?? own;
  if (scope !== null) toggleScope(store, scope);
}

export function collapseAll({ data, ui }: Store): void {
  ui.collapsed.value = allScopes(data.snapshot.value?.scopes ?? []);
}

export function expandAll({ ui }: Store): void {
  ui.collapsed.value = new Set();
}

export function setQuery({ ui }: Store, query: string): void {
  batch(() => {
    ui.query.value = query;
    ui.matchPosition.value = null;
  });
}

/** Walk the matches forwards (1) or backwards (-1), around the end. */
export function stepMatch(store: Store, step: 1 | -1): void {
  const { ui, derived } = store;
  const matches = derived.matches.value;
  if (matches.length === 0) return;
  const at = ui.matchPosition.value;
  const start = step === 1 ? -1 : 0;
  const position = ((at ?? start) + step + matches.length) % matches.length;
  const id = matches[position];
  if (id === undefined) return;
  batch(() => {
    ui.matchPosition.value = position;
    goToNode(store, id);
  });
}

export function setColorBy({ ui }: Store, colorBy: ColorBy): void {
  ui.colorBy.value = colorBy;
}

export function setTheme({ ui }: Store, choice: ThemeChoice): void {
  ui.themeChoice.value = choice;
}

export function setAmbientTheme({ ui }: Store, theme: "light" | "dark"): void {
  ui.ambientTheme.value = theme;
}

export function setViewMode({ ui }: Store, mode: ViewMode): void {
  ui.viewMode.value = mode;
}

export function setHelp({ ui }: Store, open: boolean): void {
  ui.helpOpen.value = open;
}

/** Tell how wide the view is, in CSS pixels; 0 means not laid out yet. */
export function setWidth({ ui }: Store, width: number): void {
  if (width <= 0) return;
  batch(() => {
    ui.narrow.value = width < NARROW_PX;
    ui.wide.value = width >= WIDE_PX;
  });
}

export function setOutline({ ui }: Store, isOpen: boolean): void {
  ui.outline.value = isOpen;
}

/** Fold or open a section of the inspector, for every node that follows. */
export function setFolded({ ui }: Store, section: string, folded: boolean): void {
  if (ui.folded.value.has(section) === folded) return;
  const next = new Set(ui.folded.value);
  if (folded) next.add(section);
  else next.delete(section);
  ui.folded.value = next;
}

/** Resize the inspector, in percent of the view; both sides keep room to be used. */
export function setInspectorShare({ ui }: Store, percent: number): void {
  const [least, most] = SHARE_LIMITS;
  ui.inspectorShare.value = Math.min(most, Math.max(least, percent));
}

export function reportLayout({ ui }: Store, boxes: number): void {
  ui.boxes.value = boxes;
}

/** The first picture stands: what it does not need may be worked out now. */
export function reportSettled({ ui }: Store): void {
  ui.settled.value = true;
}

/** Esc: close the help, else clear the search, end the story, take the answer away, clear the
 * selection, the marks of a finding. */
export function clear(store: Store): void {
  const { ui } = store;
  if (ui.helpOpen.value) ui.helpOpen.value = false;
  else if (ui.query.value !== "") setQuery(store, "");
  else if (ui.position.value !== null) leaveTimeline(store);
  else if (ui.stop.value !== null) ui.stop.value = null;
  else if (ui.answer.value !== null) ui.answer.value = null;
  else if (ui.selection.value !== null) ui.selection.value = null;
  else hideFinding(store);
}
