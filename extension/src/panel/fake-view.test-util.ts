// A graph view that records its commands. It must not import the app: the mock of the
// real graph view waits for this file.
import type { Snapshot } from "../ir/types.js";
import type {
  GraphView,
  GraphViewEvents,
  GraphViewState,
} from "../render/graph-view.js";

export interface FakeView extends GraphView {
  readonly host: HTMLElement;
  readonly events: GraphViewEvents;
  snapshot: Snapshot | null;
  state: GraphViewState | null;
  /** Commands in order: "fit", "zoom 1.25", "reveal 3". */
  readonly commands: string[];
  disposed: boolean;
}

/** The graph views that were created, newest last. */
export const views: FakeView[] = [];

/** jsdom has no canvas; drawing is tested in the render folder and in a browser. */
export function fakeGraphView(host: HTMLElement, events: GraphViewEvents): GraphView {
  const commands: string[] = [];
  const view: FakeView = {
    host,
    events,
    snapshot: null,
    state: null,
    commands,
    disposed: false,
    setSnapshot: (snapshot) => {
      view.snapshot = snapshot;
      events.onLayout({ boxes: snapshot.nodes.length, millis: 1 });
      events.onSettled();
    },
    setState: (state) => {
      view.state = state;
    },
    fit: () => commands.push("fit"),
    zoomBy: (factor) => commands.push(`zoom ${factor}`),
    panBy: (dx, dy) => commands.push(`pan ${dx} ${dy}`),
    reveal: (nodes) => commands.push(`reveal ${nodes.join(" ")}`),
    neighbour: (node, direction) => (direction === "down" ? node + 1 : null),
    look: ({ scale, x, y }) => commands.push(`look ${scale} ${x} ${y}`),
    whole: () => null,
    dispose: () => {
      view.disposed = true;
    },
  };
  views.push(view);
  return view;
}
