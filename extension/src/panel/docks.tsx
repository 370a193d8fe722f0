// The strips under the graph: one entry each; an entry that has nothing to show is not drawn.
import type { FunctionComponent } from "preact";
import type { Store } from "../state/store.js";
import { Boundary } from "./boundary.js";
import { useStore } from "./context.js";
import { SteppingBar } from "./stepping-bar.js";
import { TimelineDock } from "./timeline.js";

interface Dock {
  /** "the timeline": the subject of the sentence that stands in for a failing strip. */
  readonly what: string;
  readonly shows: (store: Store) => boolean;
  readonly Content: FunctionComponent;
}

const DOCKS: readonly Dock[] = [
  {
    what: "the stepping bar",
    shows: ({ data }) => data.services.value?.stepping !== undefined,
    Content: SteppingBar,
  },
  {
    what: "the timeline",
    shows: ({ derived }) => derived.timeline.value !== null,
    Content: TimelineDock,
  },
];

export function Docks() {
  const store = useStore();
  const snapshot = store.data.snapshot.value;
  return (
    <>
      {DOCKS.filter(({ shows }) => shows(store)).map(({ what, Content }) => (
        <Boundary key={what} what={what} attempt={snapshot}>
          <Content />
        </Boundary>
      ))}
    </>
  );
}
