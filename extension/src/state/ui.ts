// The state that belongs to this view alone; it is never sent to the kernel.
import { type Signal, signal } from "@preact/signals-core";
import type { ColorBy } from "../graph/color-by.js";
import { type Drawing, FIRST_DRAWING } from "../graph/drawing.js";
import type { CompareView } from "./actions-compare.js";
import type { LedgerView } from "./actions-ledger.js";
import type { Gaze } from "./gaze.js";
import { type History, NO_HISTORY } from "./history.js";
import type { Place } from "./inspect.js";
import type { CursorPlace } from "./lit.js";
import type { PaneName } from "./panes.js";

export type Selection =
  | { readonly kind: "node"; readonly id: number }
  | { readonly kind: "edge"; readonly id: number }
  | { readonly kind: "scope"; readonly id: number };

export type ThemeChoice = "auto" | "light" | "dark";
export type ViewMode = "graph" | "table";

export type FlowView = "layers" | "steps" | "heat" | "ratio" | "histograms";

/** Backwards, not at all, forwards. */
export type PlayDirection = -1 | 0 | 1;

export interface OpenedPlace {
  readonly place: Place;
  readonly selection: Selection | null;
}

export interface UiState {
  readonly selection: Signal<Selection | null>;
  readonly hovered: Signal<number | null>;
  readonly collapsed: Signal<ReadonlySet<number>>;
  readonly query: Signal<string>;
  /** Position among the matches that next and previous walk; null before the first. */
  readonly matchPosition: Signal<number | null>;
  readonly colorBy: Signal<ColorBy>;
  readonly drawing: Signal<Drawing>;
  readonly themeChoice: Signal<ThemeChoice>;
  /** What "auto" means now: the notebook's theme or the system's. */
  readonly ambientTheme: Signal<"light" | "dark">;
  readonly viewMode: Signal<ViewMode>;
  readonly helpOpen: Signal<boolean>;
  /** The finding whose nodes are marked and whose text is unfolded. */
  readonly finding: Signal<number | null>;
  /** The saved answer that is asked for; its story stands in place of the finding's. */
  readonly answer: Signal<number | null>;
  /** The stop of the story that is told, counted from 0; null: it is not told. */
  readonly stop: Signal<number | null>;
  /** Whether a finding may stand alone at first, as below a cell. */
  readonly allowsCard: Signal<boolean>;
  /** Whether it does now. */
  readonly card: Signal<boolean>;
  /** The chosen tab beside the graph; where it is not offered, another one stands. */
  readonly pane: Signal<PaneName>;
  readonly ledger: Signal<LedgerView>;
  readonly compare: Signal<CompareView>;
  /** Whether the inspector stands below the graph. */
  readonly narrow: Signal<boolean>;
  /** Whether there is room for the outline of the modules, and whether it is wanted. */
  readonly wide: Signal<boolean>;
  readonly outline: Signal<boolean>;
  /** Whether the view is an output of a notebook, between cells. */
  readonly cell: Signal<boolean>;
  /** Whether the wheel is the view's: in a cell only after a click into the view. */
  readonly held: Signal<boolean>;
  /** Whether a small cell shows all tools. */
  readonly tools: Signal<boolean>;
  /** The inspector's share of the width, or of the height when narrow, in percent. */
  readonly inspectorShare: Signal<number>;
  /** Sections of the inspector that the user folded away, by title. */
  readonly folded: Signal<ReadonlySet<string>>;
  /** A place in the code that a link led to, and what was selected then. */
  readonly openedPlace: Signal<OpenedPlace | null>;
  /** Where the cursor of the host's editor stands. */
  readonly cursor: Signal<CursorPlace | null>;
  /** Where the camera rests; null before anything is drawn. */
  readonly gaze: Signal<Gaze | null>;
  /** Where the camera should look; a new object each time. */
  readonly lookRequest: Signal<Gaze | null>;
  readonly history: Signal<History>;
  /** The closed scopes that undo or redo is bringing back just now. */
  readonly restoring: Signal<ReadonlySet<number> | null>;
  /** Whether the map of the whole may be shown. */
  readonly minimap: Signal<boolean>;
  /** What came of the last thing that the user asked for, as a sentence. */
  readonly notice: Signal<string | null>;
  /** What the graph view reported after its last layout. */
  readonly boxes: Signal<number | null>;
  /** The first picture is on the screen. */
  readonly settled: Signal<boolean>;
  /** The number of the last request that this view sent to the kernel. */
  readonly asked: Signal<number>;
  /** What the gradient flow shows; the layer and the step that were chosen in it. */
  readonly flowView: Signal<FlowView>;
  readonly flowLayer: Signal<number | null>;
  readonly flowStep: Signal<number | null>;
  /** Of several processes; null: the first. */
  readonly flowRank: Signal<number | null>;
  /** The step that was chosen, counted from 0; null: the one that matters. */
  readonly step: Signal<number | null>;
  /** How many events of the recording have happened; null shows it as a whole. */
  readonly position: Signal<number | null>;
  readonly playing: Signal<PlayDirection>;
  /** Events a second. */
  readonly playSpeed: Signal<number>;
  /** The nodes that the graph view should bring into view; a new object each time. */
  readonly revealRequest: Signal<{ readonly nodes: readonly number[] } | null>;
}

export function createUiState(): UiState {
  return {
    selection: signal(null),
    hovered: signal(null),
    collapsed: signal(new Set()),
    query: signal(""),
    matchPosition: signal(null),
    colorBy: signal("family"),
    drawing: signal(FIRST_DRAWING),
    themeChoice: signal("auto"),
    ambientTheme: signal("light"),
    viewMode: signal("graph"),
    helpOpen: signal(false),
    finding: signal(null),
    answer: signal(null),
    stop: signal(null),
    allowsCard: signal(false),
    card: signal(false),
    pane: signal("inspector"),
    compare: signal({ before: null, after: -1, show: "differences", text: "" }),
    ledger: signal({ sheet: "saved", saved: "all", fate: "all", text: "" }),
    narrow: signal(false),
    wide: signal(false),
    outline: signal(true),
    cell: signal(false),
    held: signal(true),
    tools: signal(false),
    inspectorShare: signal(38),
    folded: signal(new Set()),
    openedPlace: signal(null),
    cursor: signal(null),
    gaze: signal(null),
    lookRequest: signal(null),
    history: signal(NO_HISTORY),
    restoring: signal(null),
    minimap: signal(true),
    notice: signal(null),
    boxes: signal(null),
    settled: signal(false),
    asked: signal(0),
    flowView: signal("layers"),
    flowLayer: signal(null),
    flowStep: signal(null),
    flowRank: signal(null),
    step: signal(null),
    position: signal(null),
    playing: signal(0),
    playSpeed: signal(4),
    revealRequest: signal(null),
  };
}
