// What stands beside the graph: the inspector, and the findings where there are any.
import { useRef } from "preact/hooks";
import { setPane } from "../state/actions.js";
import type { Pane as PaneName } from "../state/ui.js";
import { Boundary } from "./boundary.js";
import { useStore } from "./context.js";
import { Findings } from "./findings.js";
import { Inspector } from "./inspector.js";

const TABS: readonly (readonly [pane: PaneName, title: string])[] = [
  ["findings", "Findings"],
  ["inspector", "Inspector"],
];

function Tabs() {
  const store = useStore();
  const list = useRef<HTMLDivElement>(null);
  const shown = store.derived.pane.value;
  const count = store.data.snapshot.value?.findings.length ?? 0;
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
    event.preventDefault();
    event.stopPropagation();
    const other = shown === "findings" ? "inspector" : "findings";
    setPane(store, other);
    list.current?.querySelector<HTMLElement>(`[data-tab=${other}]`)?.focus();
  };
  return (
    <div
      ref={list}
      class="tabs"
      role="tablist"
      aria-label="Beside the graph"
      onKeyDown={onKeyDown}
    >
      {TABS.map(([pane, title]) => (
        <button
          key={pane}
          type="button"
          role="tab"
          id={`gv-tab-${pane}`}
          data-tab={pane}
          aria-selected={pane === shown}
          aria-controls="gv-pane"
          tabIndex={pane === shown ? 0 : -1}
          onClick={() => setPane(store, pane)}
        >
          {title}
          {pane === "findings" && <span class="count">{count}</span>}
        </button>
      ))}
    </div>
  );
}

export function Pane() {
  const { data, derived } = useStore();
  const snapshot = data.snapshot.value;
  const pane = derived.pane.value;
  const tabbed = (snapshot?.findings.length ?? 0) > 0 && !derived.graphless.value;
  const name = pane === "findings" ? "Findings" : "Inspector";
  return (
    <div class="pane">
      {tabbed && <Tabs />}
      <section
        key={pane}
        class="inspector"
        id="gv-pane"
        data-testid={pane === "findings" ? "findings-pane" : "inspector"}
        aria-label={name}
        {...(tabbed && { role: "tabpanel" as const })}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: the region scrolls by keyboard
        tabIndex={0}
      >
        {snapshot !== null && pane === "findings" ? (
          <Boundary what="the findings" attempt={snapshot}>
            <Findings snapshot={snapshot} />
          </Boundary>
        ) : (
          <Inspector />
        )}
      </section>
    </div>
  );
}
