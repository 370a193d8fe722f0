// The place of the canvas: mounts the graph view, feeds it from the store, walks by key.
import { effect } from "@preact/signals-core";
import { useEffect, useRef } from "preact/hooks";
import { createGraphView, type GraphView } from "../render/graph-view.js";
import {
  hover,
  reportLayout,
  reportProblem,
  reportSettled,
  selectEdge,
  selectNode,
  selectScope,
  toggleScope,
} from "../state/actions.js";
import { rememberGaze, reportGaze } from "../state/actions-history.js";
import type { Store } from "../state/store.js";
import { useApp, useStore } from "./context.js";

/** Run a step of the graph view; a failure becomes a sentence, not a blank canvas. */
function guarded(store: Store, step: () => void): void {
  try {
    step();
  } catch (error) {
    reportProblem(store, error);
  }
}

/** Keep the view in step with the store; the answer ends the subscription.
 *
 * One effect, for the order counts: what is asked to be in view may be in a part that
 * the same action opened. Signals promise no order among several effects. */
export function follow(store: Store, view: GraphView): () => void {
  const { data, ui, derived } = store;
  const show = once(view.setSnapshot.bind(view));
  const reveal = once((to: { readonly nodes: readonly number[] }) =>
    view.reveal(to.nodes),
  );
  const look = once(view.look.bind(view));
  return effect(() => {
    const selection = ui.selection.value;
    const state = {
      collapsed: ui.collapsed.value,
      selected: selection?.kind === "node" ? selection.id : null,
      selectedScope: selection?.kind === "scope" ? selection.id : null,
      selectedEdge: selection?.kind === "edge" ? selection.id : null,
      hovered: ui.hovered.value,
      matches: derived.matchSet.value,
      lit: derived.litSet.value,
      marks: derived.marks.value,
      story: derived.storyMarks.value,
      playback: derived.moment.value,
      colorBy: ui.colorBy.value,
      drawing: ui.drawing.value,
      theme: derived.theme.value,
      minimap: ui.minimap.value,
    };
    const [snapshot, request, gaze] = [
      data.snapshot.value,
      ui.revealRequest.value,
      ui.lookRequest.value,
    ];
    guarded(store, () => show(snapshot));
    guarded(store, () => view.setState(state));
    guarded(store, () => reveal(request));
    guarded(store, () => look(gaze));
  });
}

/** Call a function for every new value, and for none twice in a row. */
function once<T>(act: (value: T) => void): (value: T | null) => void {
  let last: T | null = null;
  return (value) => {
    if (value === null || value === last) return;
    last = value;
    act(value);
  };
}

export function CanvasHost() {
  const { store, view } = useApp();
  const host = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const element = host.current;
    if (element === null) return;
    let stop = () => {};
    guarded(store, () => {
      const created = createGraphView(element, {
        takesWheel: () => store.ui.held.value,
        onSelect: (node) => selectNode(store, node),
        onSelectEdge: (edge) => selectEdge(store, edge),
        onHover: (node) => hover(store, node),
        onSelectScope: (scope) => selectScope(store, scope),
        onToggleScope: (scope) => toggleScope(store, scope),
        onJump: () => rememberGaze(store),
        onGaze: (gaze) => reportGaze(store, gaze),
        onLayout: ({ boxes }) => reportLayout(store, boxes),
        onSettled: () => reportSettled(store),
      });
      view.current = created;
      const unfollow = follow(store, created);
      stop = () => {
        unfollow();
        created.dispose();
        view.current = null;
      };
    });
    return () => stop();
  }, [store, view]);
  return (
    <>
      <CanvasHelp />
      <div
        ref={host}
        class="canvas"
        data-gv-canvas=""
        data-testid="graph"
        role="application"
        aria-roledescription="graph"
        aria-label="Autograd graph"
        aria-describedby="gv-canvas-help"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: arrow keys walk the canvas
        tabIndex={0}
      />
    </>
  );
}

function CanvasHelp() {
  const { nodes } = useStore().data.snapshot.value ?? { nodes: [] };
  return (
    <p id="gv-canvas-help" class="unseen">
      {`A graph of ${nodes.length} nodes. Arrow keys walk from node to node, Enter opens and
      closes a module, slash searches, T shows the same nodes as a table.`}
    </p>
  );
}
