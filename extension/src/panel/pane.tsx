// What stands beside the graph, and how wide: one view, or several as tabs.
import { useRef } from "preact/hooks";
import { setPane } from "../state/actions.js";
import { Boundary } from "./boundary.js";
import { useApp, useStore } from "./context.js";
import { PANES } from "./panes.js";
import { Splitter } from "./splitter.js";

const STEPS: Readonly<Record<string, number>> = { ArrowLeft: -1, ArrowRight: 1 };

function Tabs() {
  const store = useStore();
  const list = useRef<HTMLDivElement>(null);
  const snapshot = store.data.snapshot.value;
  const names = store.derived.panes.value;
  const shown = store.derived.pane.value;
  const onKeyDown = (event: KeyboardEvent) => {
    const step = STEPS[event.key];
    if (step === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    const at = (names.indexOf(shown) + step + names.length) % names.length;
    const next = names[at] ?? shown;
    setPane(store, next);
    list.current?.querySelector<HTMLElement>(`[data-tab=${next}]`)?.focus();
  };
  return (
    <div
      ref={list}
      class="tabs"
      role="tablist"
      aria-label="Views"
      onKeyDown={onKeyDown}
    >
      {names.map((name) => (
        <button
          key={name}
          type="button"
          role="tab"
          id={`gv-tab-${name}`}
          data-tab={name}
          aria-selected={name === shown}
          aria-controls="gv-pane"
          tabIndex={name === shown ? 0 : -1}
          onClick={() => setPane(store, name)}
        >
          {PANES[name].title}
          {PANES[name].count !== undefined && snapshot !== null && (
            <span class="count">{PANES[name].count(snapshot)}</span>
          )}
        </button>
      ))}
    </div>
  );
}

export function Pane() {
  const { ownsPage } = useApp();
  const { data, derived } = useStore();
  const snapshot = data.snapshot.value;
  const { title, testId, Content } = PANES[derived.pane.value];
  const tabbed = derived.panes.value.length > 1;
  const { graphless } = derived;
  // Where there is no graph to stand beside, it is what the page is about. In another's
  // page a view is a part of what that is about.
  const own = graphless.value ? "main" : "aside";
  const Landmark = ownsPage ? own : "section";
  const label = Landmark === "main" ? undefined : "Beside the graph";
  return (
    <Landmark class="pane" aria-label={label}>
      {!graphless.value && <Splitter />}
      <div class="views">
        {tabbed && <Tabs />}
        <section
          key={derived.pane.value}
          class="inspector"
          id="gv-pane"
          data-testid={testId}
          aria-label={title}
          {...(tabbed && { role: "tabpanel" as const })}
          // biome-ignore lint/a11y/noNoninteractiveTabindex: the region scrolls by keyboard
          tabIndex={0}
        >
          <Boundary what={`the ${title.toLowerCase()}`} attempt={snapshot}>
            <Content snapshot={snapshot} />
          </Boundary>
        </section>
      </div>
    </Landmark>
  );
}
