// Values derived from the store; each is computed when read and kept until its inputs change.
import { computed, type ReadonlySignal } from "@preact/signals-core";
import { type Graph, graphOf } from "../graph/build.js";
import { unfolded } from "../graph/fold.js";
import type { Mark, StoryMarks } from "../graph/mark.js";
import { search } from "../graph/search.js";
import type { Shown } from "../graph/shown.js";
import { announcement, moduleSentence } from "./announce.js";
import { type Comparison, changeMarks, comparisonOf } from "./comparison.js";
import type { DataState } from "./data.js";
import {
  type FindingDetails,
  findingDetails,
  findingSentence,
  isFailure,
  marksOf,
} from "./findings.js";
import { type Flow, flowOf, hasFlow, leafNorms } from "./flow.js";
import {
  type EdgeDetails,
  edgeDetails,
  type NodeDetails,
  nodeDetails,
} from "./inspect.js";
import { type Lit, litBy } from "./lit.js";
import { type ModuleDetails, moduleDetails } from "./module.js";
import {
  countModules,
  measureFor,
  modulesOf,
  type Outline,
  outlineOf,
} from "./outline.js";
import { type PaneName, panesFor } from "./panes.js";
import { type StepNews, stepNews } from "./step-news.js";
import { firstStep, nodesOfSteps, type Step, stepOfPass, stepsOf } from "./steps.js";
import { answerStops, type Stop, stopMarks, stopSentence, storyOf } from "./story.js";
import { buildTables, type Tables } from "./tables.js";
import { buildTimeline, type Moment, type Timeline } from "./timeline.js";
import type { UiState } from "./ui.js";

export interface Selectors {
  readonly tables: ReadonlySignal<Tables | null>;
  readonly graph: ReadonlySignal<Graph | null>;
  readonly selectedNode: ReadonlySignal<NodeDetails | null>;
  readonly selectedEdge: ReadonlySignal<EdgeDetails | null>;
  readonly selectedModule: ReadonlySignal<ModuleDetails | null>;
  /** The chosen finding. */
  readonly finding: ReadonlySignal<FindingDetails | null>;
  /** The stops of its story; none before the first picture stands. */
  readonly story: ReadonlySignal<readonly Stop[]>;
  readonly storyMarks: ReadonlySignal<StoryMarks>;
  /** The nodes of the chosen finding, or those that differ while that is shown. */
  readonly marks: ReadonlySignal<ReadonlyMap<number, Mark>>;
  readonly comparison: ReadonlySignal<Comparison | null>;
  /** What can stand beside the graph, or alone where there is no graph. */
  readonly panes: ReadonlySignal<readonly PaneName[]>;
  /** What does. */
  readonly pane: ReadonlySignal<PaneName>;
  /** Whether the view may shrink to a card. */
  readonly cardable: ReadonlySignal<boolean>;
  /** Findings and no node at all: there is nothing to draw. */
  readonly graphless: ReadonlySignal<boolean>;
  /** Nodes that match the query, in the order next and previous walk them. */
  readonly matches: ReadonlySignal<readonly number[]>;
  readonly matchSet: ReadonlySignal<ReadonlySet<number>>;
  /** The nodes of the line under the cursor of the host's editor. */
  readonly lit: ReadonlySignal<Lit | null>;
  readonly litSet: ReadonlySignal<ReadonlySet<number>>;
  readonly theme: ReadonlySignal<"light" | "dark">;
  /** What came to the leaves of the step that is drawn, by their nodes. */
  readonly norms: ReadonlySignal<ReadonlyMap<number, number>>;
  /** Whether there is room for the tree of modules, and enough to list. */
  readonly hasOutline: ReadonlySignal<boolean>;
  /** The tree of modules; null without it, and before the first picture stands. */
  readonly outline: ReadonlySignal<Outline | null>;
  /** Gradients over steps; null where there are none. */
  readonly flow: ReadonlySignal<Flow | null>;
  /** The place of the step that it shows: the chosen one, else the one that is drawn. */
  readonly flowStep: ReadonlySignal<number>;
  /** Whether the tools are folded away, as in a small cell. */
  readonly folded: ReadonlySignal<boolean>;
  /** The layer that is chosen there, or whose node is selected. */
  readonly flowLayer: ReadonlySignal<number | null>;
  /** The recording as something to scrub; null where no events were kept. */
  readonly timeline: ReadonlySignal<Timeline | null>;
  /** The steps of a training; none where there is one picture. */
  readonly steps: ReadonlySignal<readonly Step[]>;
  /** The step that is drawn, counted from 0; null: all there is. */
  readonly step: ReadonlySignal<number | null>;
  /** The nodes to draw; null: all. Two steps, while they are compared. */
  readonly shown: ReadonlySignal<Shown | null>;
  /** In what the step differs from the one before. */
  readonly news: ReadonlySignal<StepNews | null>;
  /** Where the timeline stands; null while the whole recording is shown. */
  readonly moment: ReadonlySignal<Moment | null>;
  /** What the live region says. */
  readonly announcement: ReadonlySignal<string>;
}

/** Fewer modules than this are seen at a glance. */
const LEAST_MODULES = 3;

export function createSelectors(data: DataState, ui: UiState): Selectors {
  const tables = computed(() => {
    const snapshot = data.snapshot.value;
    return snapshot === null ? null : buildTables(snapshot);
  });
  let lastGraph: Graph | null = null;
  const graph = computed(() => {
    const snapshot = data.snapshot.value;
    lastGraph = snapshot === null ? null : graphOf(snapshot, lastGraph);
    return lastGraph;
  });
  const selectedNode = computed(() => {
    const selection = ui.selection.value;
    if (tables.value === null || selection?.kind !== "node") return null;
    return nodeDetails(tables.value, selection.id);
  });
  const selectedEdge = computed(() => {
    const selection = ui.selection.value;
    if (tables.value === null || selection?.kind !== "edge") return null;
    return edgeDetails(tables.value, selection.id);
  });
  const selectedModule = computed(() => {
    const selection = ui.selection.value;
    if (graph.value === null || selection?.kind !== "scope") return null;
    return moduleDetails(graph.value, selection.id);
  });
  const matches = computed(() => {
    const query = ui.query.value.trim();
    if (graph.value === null || query === "") return [];
    return [...search(graph.value, query)];
  });
  const finding = computed(() => {
    const id = ui.finding.value;
    return tables.value === null || id === null
      ? null
      : findingDetails(tables.value, id);
  });
  const lit = computed(() => litBy(data.snapshot.value, ui.cursor.value));
  const findings = computed(() => data.snapshot.value?.findings ?? []);
  const graphless = computed(
    () =>
      data.snapshot.value?.nodes.length === 0 &&
      (findings.value.length > 0 || data.snapshot.value.flow.length > 0),
  );
  const panes = computed(() => panesFor(data.snapshot.value));
  const pane = computed((): PaneName => {
    const [first = "inspector"] = panes.value;
    if (panes.value.includes(ui.pane.value)) return ui.pane.value;
    return panes.value.includes("inspector") ? "inspector" : first;
  });
  const cardable = computed(() => {
    const snapshot = data.snapshot.value;
    return ui.allowsCard.value && snapshot !== null && isFailure(snapshot);
  });
  const folded = computed(() => ui.cell.value && ui.narrow.value && !ui.tools.value);
  const flow = computed(() => {
    const snapshot = data.snapshot.value;
    if (snapshot === null || !hasFlow(snapshot)) return null;
    return flowOf(snapshot, ui.flowRank.value);
  });
  const flowLayer = computed(() => {
    const selection = ui.selection.value;
    const layers = flow.value?.layers ?? [];
    const node = selection?.kind === "node" ? selection.id : null;
    const selected = layers.findIndex((layer) => node !== null && layer.node === node);
    if (selected >= 0) return selected;
    const picked = ui.flowLayer.value;
    const isApart = picked !== null && layers[picked]?.node === null;
    return isApart ? picked : null;
  });
  const events = computed(() => data.snapshot.value?.events);
  const timeline = computed(() => {
    events.value; // the timeline does not depend on numbers, which change more often
    const snapshot = data.snapshot.peek();
    return snapshot === null ? null : buildTimeline(snapshot);
  });
  const moment = computed(() => {
    const position = ui.position.value;
    return position === null ? null : (timeline.value?.at(position) ?? null);
  });
  const recorded = computed(() => {
    const snapshot = data.snapshot.value;
    return snapshot === null ? null : unfolded(snapshot);
  });
  const comparison = computed(() => {
    const snapshot = recorded.value; // which steps are drawn changes nothing of it
    return snapshot === null ? null : comparisonOf(snapshot, ui.compare.value);
  });
  const steps = computed(() =>
    recorded.value === null ? [] : stepsOf(recorded.value),
  );
  const step = computed(() => {
    if (recorded.value === null || steps.value.length === 0) return null;
    return ui.step.value ?? firstStep(recorded.value, steps.value);
  });
  const shown = computed(() => {
    if (step.value === null) return null;
    const compared = pane.value === "compare" ? comparison.value : null;
    const wanted =
      compared === null
        ? [step.value]
        : [compared.before, compared.after].map((pass) =>
            stepOfPass(steps.value, pass),
          );
    return nodesOfSteps(steps.value, wanted);
  });
  const isSettled = computed(
    () =>
      ui.settled.value ||
      graphless.value ||
      ui.viewMode.value === "table" || // nothing is painted behind it
      data.problem.value !== null,
  );
  const story = computed(() => {
    const [id, answer] = [ui.finding.value, ui.answer.value];
    if (tables.value === null || !isSettled.value) return [];
    if (answer !== null) return answerStops(tables.value.snapshot, answer);
    return id === null ? [] : storyOf(tables.value, id);
  });
  /** The finding whose marks are drawn: none while an answer is asked for. */
  const blamed = computed(() => (ui.answer.value === null ? finding.value : null));
  const storyMarks = computed((): StoryMarks => {
    const isHidden = pane.value === "compare" && comparison.value !== null;
    const severity = blamed.value?.finding.severity ?? "info";
    const stops = stopMarks(isHidden ? [] : story.value, severity, ui.stop.value);
    const isTold = story.value[ui.stop.value ?? -1] !== undefined && stops.size > 0;
    return { stops, isTold };
  });
  const news = computed(() =>
    recorded.value === null || step.value === null || !isSettled.value
      ? null
      : stepNews(recorded.value, steps.value, step.value),
  );
  const marks = computed((): ReadonlyMap<number, Mark> => {
    const differs = pane.value === "compare" ? comparison.value : null;
    if (differs !== null) return changeMarks(differs);
    const found = marksOf(blamed.value?.finding ?? null);
    const { marks: changes } = news.value ?? { marks: new Map<number, Mark>() };
    if (changes.size === 0) return found;
    return new Map([...found, ...[...changes].filter(([node]) => !found.has(node))]);
  });
  const norms = computed((): ReadonlyMap<number, number> => {
    const number = steps.value[step.value ?? -1]?.number ?? null;
    return flow.value === null ? new Map() : leafNorms(flow.value, number);
  });
  const flowStep = computed(() => {
    const known = flow.value?.steps ?? [];
    const last = known.length - 1;
    const number = steps.value[step.value ?? -1]?.number;
    const drawn = number === undefined ? -1 : known.indexOf(number);
    return Math.min(last, ui.flowStep.value ?? (drawn >= 0 ? drawn : last));
  });
  const hasOutline = computed(() => {
    if (graph.value === null || !ui.wide.value || ui.cell.value) return false;
    return countModules(graph.value) >= LEAST_MODULES;
  });
  const modules = computed(() => {
    if (graph.value === null || !hasOutline.value || !isSettled.value) return null;
    const measure = measureFor(ui.colorBy.value);
    return modulesOf(graph.value, { measure, norms: norms.value });
  });
  const outline = computed(() =>
    modules.value === null ? null : outlineOf(modules.value, ui.collapsed.value),
  );
  return {
    norms,
    hasOutline,
    outline,
    comparison,
    steps,
    step,
    shown,
    news,
    flow,
    flowStep,
    folded,
    flowLayer,
    timeline,
    moment,
    finding,
    story,
    storyMarks,
    cardable,
    marks,
    panes,
    pane,
    graphless,
    tables,
    graph,
    selectedNode,
    selectedEdge,
    selectedModule,
    matches,
    matchSet: computed(() => new Set(matches.value)),
    lit,
    litSet: computed(() => new Set(lit.value?.nodes)),
    theme: computed(() =>
      ui.themeChoice.value === "auto" ? ui.ambientTheme.value : ui.themeChoice.value,
    ),
    announcement: computed(() =>
      (pane.value === "findings" || ui.answer.value !== null) &&
      story.value[ui.stop.value ?? -1] !== undefined
        ? stopSentence(story.value, ui.stop.value ?? 0)
        : pane.value === "findings" && finding.value !== null
          ? findingSentence(finding.value, findings.value.length)
          : selectedModule.value !== null
            ? moduleSentence(selectedModule.value, ui.collapsed.value)
            : announcement(selectedNode.value, selectedEdge.value, ui.collapsed.value),
    ),
  };
}
