// The list of findings, most likely cause first; one is unfolded at a time.
import { useEffect, useRef } from "preact/hooks";
import type { Finding, Snapshot } from "../ir/types.js";
import { hideFinding, showFinding, stepFinding } from "../state/actions.js";
import { countSentence } from "../state/findings.js";
import { formatPlural } from "../state/format.js";
import { placeOf } from "../state/inspect.js";
import { Boundary } from "./boundary.js";
import { useStore } from "./context.js";
import { FindingBody } from "./finding-body.js";
import { FindingName } from "./finding-name.js";
import { NoteList } from "./note-list.js";
import { Raised } from "./raised.js";
import { scrollPaneTo } from "./scroll-pane.js";
import { Sentence } from "./sentence.js";
import { PlaceText } from "./source-view.js";
import { StepButton } from "./step-button.js";

interface ItemProps {
  readonly snapshot: Snapshot;
  readonly id: number;
  readonly finding: Finding;
}

function Item({ snapshot, id, finding }: ItemProps) {
  const store = useStore();
  const item = useRef<HTMLLIElement>(null);
  const chosen = store.derived.finding.value;
  const details = chosen?.id === id ? chosen : null;
  const open = details !== null;
  const place = placeOf(snapshot, finding.culprit);
  useEffect(() => {
    if (open) scrollPaneTo(item.current, { isFirst: id === 0 });
  }, [open, id]);
  return (
    <li
      ref={item}
      class={`finding ${finding.severity}`}
      data-testid={`finding-${id}`}
      aria-current={open ? "true" : undefined}
    >
      <h3>
        <button
          type="button"
          aria-expanded={open}
          onClick={() => (open ? hideFinding(store) : showFinding(store, id))}
        >
          <FindingName finding={finding} />
          {place !== null && (
            <span class="where">
              <PlaceText place={place} />
            </span>
          )}
        </button>
      </h3>
      <p class="message">
        <Sentence text={finding.message} />
      </p>
      {details !== null && (
        <Boundary what="the finding" attempt={details}>
          <FindingBody details={details} />
        </Boundary>
      )}
    </li>
  );
}

function Header({ snapshot }: { snapshot: Snapshot }) {
  const store = useStore();
  const { findings } = snapshot;
  const go = (step: 1 | -1) => stepFinding(store, step);
  return (
    <header class={findings.length > 1 ? "findings-head" : "findings-head single"}>
      <h2>{formatPlural(findings.length, "finding")}</h2>
      <span class="muted" data-testid="finding-count">
        {countSentence(findings)}
      </span>
      {findings.length > 1 && (
        <span class="steps">
          <StepButton label="Previous finding" keys="N" step={-1} onStep={go} />
          <StepButton label="Next finding" keys="n" step={1} onStep={go} />
        </span>
      )}
      <Raised />
    </header>
  );
}

/** The notes say what could not be seen; beside a graph the inspector says it. */
export function Findings({ snapshot }: { snapshot: Snapshot }) {
  const { graphless } = useStore().derived;
  return (
    <>
      <Header snapshot={snapshot} />
      <ol class="findings" data-testid="findings">
        {snapshot.findings.map((finding, id) => (
          <Item key={id} snapshot={snapshot} id={id} finding={finding} />
        ))}
      </ol>
      {graphless.value && <NoteList notes={snapshot.notes} />}
    </>
  );
}
