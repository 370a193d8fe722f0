// The whole view: headline, toolbar, graph or table, inspector, status line.
import { useEffect, useRef } from "preact/hooks";
import {
  clear,
  setHelp,
  setViewMode,
  setWidth,
  stepFinding,
  toggleSelectedScope,
} from "../state/actions.js";
import { nextFlow, toggleLinks } from "../state/actions-drawing.js";
import { redo, rememberGaze, toggleMinimap, undo } from "../state/actions-history.js";
import { stepOn } from "../state/actions-steps.js";
import { stepStory } from "../state/actions-story.js";
import { stepEvent, togglePlay } from "../state/actions-timeline.js";
import { visibleText } from "../state/visible-text.js";
import { Boundary } from "./boundary.js";
import { CanvasHost } from "./canvas-host.js";
import { Card } from "./card.js";
import { type AppContext, AppProvider, useApp, useStore } from "./context.js";
import { Docks } from "./docks.js";
import { Headline } from "./headline.js";
import { Help } from "./help.js";
import { type Command, commandFor, placeOfTarget } from "./keyboard.js";
import { Legend } from "./legend.js";
import { LiveProgress } from "./live-progress.js";
import { NodeTable } from "./node-table.js";
import { Outline } from "./outline.js";
import { Pane } from "./pane.js";
import { StatusLine } from "./status-line.js";
import { sendStep } from "./stepping-bar.js";
import { Toolbar, ZOOM_STEP } from "./toolbar.js";
import { walk } from "./walk.js";

function run(app: AppContext, root: HTMLElement, command: Command): void {
  const { store, view } = app;
  const focus = (selector: string) =>
    root.querySelector<HTMLElement>(selector)?.focus();
  switch (command.kind) {
    case "walk":
      if (store.ui.stop.value === null) walk(app, command.direction);
      else stepStory(store, isOnward(command.direction) ? 1 : -1);
      break;
    case "story":
      stepStory(store, command.step);
      break;
    case "zoom":
      view.current?.zoomBy(command.direction === "in" ? ZOOM_STEP : 1 / ZOOM_STEP);
      break;
    case "toggle":
      toggleSelectedScope(store);
      break;
    case "search":
      focus("input[type=search]");
      break;
    case "fit":
      rememberGaze(store);
      view.current?.fit();
      break;
    case "table":
      setViewMode(store, store.ui.viewMode.value === "table" ? "graph" : "table");
      // The canvas hides behind the table; the focus must not go with it.
      focus("[data-testid=view-mode]");
      break;
    case "minimap":
      toggleMinimap(store);
      break;
    case "undo":
      undo(store);
      break;
    case "redo":
      redo(store);
      break;
    case "finding":
      stepFinding(store, command.step);
      break;
    case "stepping":
      sendStep(app, command.command);
      break;
    case "step":
      stepOn(store, command.step);
      break;
    case "event":
      stepEvent(store, command.step);
      break;
    case "play":
      togglePlay(store);
      break;
    case "flow":
      nextFlow(store);
      break;
    case "links":
      toggleLinks(store);
      break;
    case "help":
      setHelp(store, true);
      break;
    case "clear":
      clear(store);
      focus("[data-gv-canvas]");
      break;
  }
}

const isOnward = (direction: string) => direction === "down" || direction === "right";

/** Tell the store how wide the view is, now and after every change. */
function useWidth(root: { current: HTMLElement | null }): void {
  const store = useStore();
  useEffect(() => {
    const element = root.current;
    if (element === null || typeof ResizeObserver === "undefined") return;
    const observer = new ResizeObserver(([entry]) => {
      if (entry !== undefined) setWidth(store, entry.contentRect.width);
    });
    observer.observe(element);
    return () => observer.disconnect();
  }, [root, store]);
}

/** What stands over the graph when there is none to draw. */
function Curtain() {
  const { data } = useStore();
  const problem = data.problem.value;
  const snapshot = data.snapshot.value;
  if (problem !== null) {
    return (
      <p class="curtain problem" role="alert" dir="auto">
        {visibleText(problem)}
      </p>
    );
  }
  if (snapshot === null) return <p class="curtain muted">Reading the graph…</p>;
  if (snapshot.nodes.length > 0) return null;
  return (
    <div class="curtain" data-testid="empty">
      <p>This graph has no nodes: nothing that was recorded needs a gradient.</p>
      {snapshot.notes.map((note) => (
        <p key={note} class="muted" dir="auto">
          {visibleText(note)}
        </p>
      ))}
    </div>
  );
}

function Stage() {
  const { ownsPage } = useApp();
  const { ui, data } = useStore();
  const table = ui.viewMode.value === "table" && data.snapshot.value !== null;
  const Landmark = ownsPage ? "main" : "div";
  return (
    <Landmark class={table ? "stage tabled" : "stage"}>
      {ownsPage && (
        <h1 class="unseen">
          {visibleText(data.snapshot.value?.title || "Autograd graph")}
        </h1>
      )}
      <CanvasHost />
      {table ? (
        <Boundary what="the table" attempt={data.snapshot.value}>
          <NodeTable />
        </Boundary>
      ) : (
        <>
          <Legend />
          <Curtain />
        </>
      )}
    </Landmark>
  );
}

function LiveRegion() {
  const { derived } = useStore();
  return (
    <p class="unseen" role="status" aria-live="polite" data-testid="live">
      {derived.announcement.value}
    </p>
  );
}

/** Run the command of a key pressed inside the view, or in the page if it is ours. */
function useKeys(app: AppContext, root: { current: HTMLElement | null }): void {
  useEffect(() => {
    const element = root.current;
    if (element === null) return;
    const onKeyDown = (event: KeyboardEvent) => {
      // From the page, the target is the host; the path still knows the element.
      if (app.store.ui.card.value) return;
      const command = commandFor(event, placeOfTarget(event.composedPath()[0]));
      if (command === null) return;
      // Behind the open help nothing moves; Esc closes it, even before it is drawn.
      if (app.store.ui.helpOpen.value && command.kind !== "clear") return;
      event.preventDefault();
      event.stopPropagation();
      run(app, element, command);
    };
    const lifetime = new AbortController();
    const { signal } = lifetime;
    if (app.ownsPage) {
      element.ownerDocument.addEventListener("keydown", onKeyDown, { signal });
    } else {
      element.addEventListener("keydown", onKeyDown, { signal });
    }
    return () => lifetime.abort();
  }, [app, root]);
}

/** Everything but the card. */
function Whole() {
  const { derived, data } = useStore();
  // Without a snapshot there is one sentence to read, and nothing to do.
  const isBroken = data.problem.value !== null && data.snapshot.value === null;
  return (
    <>
      {!isBroken && (
        <>
          <Headline />
          <Toolbar />
          <LiveProgress />
        </>
      )}
      <div class="middle">
        {!isBroken && <Outline />}
        {!derived.graphless.value && <Stage />}
        {!isBroken && <Pane />}
      </div>
      <Docks />
      <StatusLine />
      <Help />
    </>
  );
}

/** The names of the looks that are on. */
function classesOf(looks: Readonly<Record<string, { readonly value: boolean }>>) {
  return Object.keys(looks).filter((name) => looks[name]?.value);
}

function Frame({ app }: { app: AppContext }) {
  const { store } = app;
  const root = useRef<HTMLDivElement>(null);
  useWidth(root);
  useKeys(app, root);
  const { narrow, inspectorShare, themeChoice, card, cell, held } = store.ui;
  const { graphless, folded } = store.derived;
  const reading = { value: store.derived.pane.value === "findings" };
  const looks = { narrow, graphless, cell, held, folded, carded: card, reading };
  return (
    <div
      ref={root}
      class={["gv", ...classesOf(looks)].join(" ")}
      data-theme={store.derived.theme.value}
      data-theme-choice={themeChoice.value}
      style={{ "--share": `${inspectorShare.value}%` }}
    >
      {card.value ? <Card /> : <Whole />}
      <LiveRegion />
    </div>
  );
}

export function Shell({ app }: { app: AppContext }) {
  return (
    <AppProvider value={app}>
      <Boundary what="the view" attempt={app}>
        <Frame app={app} />
      </Boundary>
    </AppProvider>
  );
}
