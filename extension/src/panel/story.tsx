// The numbered stops of a finding: what happened where, the one that is told with its code.
import { useEffect, useRef } from "preact/hooks";
import { goToStop, stepStory } from "../state/actions-story.js";
import type { Stop } from "../state/story.js";
import { visibleCode } from "../state/visible-text.js";
import { useStore } from "./context.js";
import { scrollPaneTo } from "./scroll-pane.js";
import { Sentence } from "./sentence.js";
import { PlaceLink, SourceView } from "./source-view.js";
import { StepButton } from "./step-button.js";

const CONTEXT_LINES = 1;

function StopItem({ stop, at, isTold }: { stop: Stop; at: number; isTold: boolean }) {
  const store = useStore();
  const item = useRef<HTMLLIElement>(null);
  const { place, sentence, isBirth } = stop;
  useEffect(() => {
    if (isTold) scrollPaneTo(item.current);
  }, [isTold]);
  return (
    <li
      ref={item}
      class={isBirth ? "birth" : undefined}
      aria-current={isTold ? "step" : undefined}
    >
      <button
        type="button"
        class="stop"
        data-gv-stop=""
        aria-label={`Stop ${at + 1}`}
        onClick={() => goToStop(store, at)}
      >
        {at + 1}
      </button>
      <span class="role">
        <Sentence text={sentence} />
      </span>
      {place !== null && isTold && (
        <SourceView
          place={place}
          context={CONTEXT_LINES}
          label="Source text of the stop"
        />
      )}
      {place !== null && !isTold && (
        <>
          <PlaceLink place={place} />
          <code dir="ltr">
            {visibleCode(place.site.text.trim().split("\n")[0] ?? "")}
          </code>
        </>
      )}
    </li>
  );
}

export function Story() {
  const store = useStore();
  const stops = store.derived.story.value;
  const told = store.ui.stop.value;
  if (stops.length === 0) return null;
  const go = (step: 1 | -1) => stepStory(store, step);
  return (
    <section class="story" aria-label="Story" data-testid="story">
      <p>
        <span class="muted">
          {told === null ? "Step by step" : `Stop ${told + 1} of ${stops.length}`}
        </span>
        <StepButton label="Previous stop" keys="W" step={-1} onStep={go} />
        <StepButton label="Next stop" keys="w" step={1} onStep={go} />
      </p>
      <ol class="related" data-testid="related">
        {stops.map((stop, at) => (
          <StopItem key={at} stop={stop} at={at} isTold={at === told} />
        ))}
      </ol>
    </section>
  );
}
