// The list of findings, most likely cause first; one is unfolded at a time.
import { useEffect, useRef } from "preact/hooks";
import type { Finding, Snapshot } from "../ir/types.js";
import { hideFinding, showFinding, stepFinding } from "../state/actions.js";
import { countSentence } from "../state/findings.js";
import { formatPlural } from "../state/format.js";
import { placeOf } from "../state/inspect.js";
import { visibleText } from "../state/visible-text.js";
import { Boundary } from "./boundary.js";
import { useStore } from "./context.js";
import { FindingBody } from "./finding-body.js";
import { NextIcon, PreviousIcon } from "./icons.js";
import { Raised } from "./raised.js";
import { scrollPaneTo } from "./scroll-pane.js";
import { Sentence } from "./sentence.js";
import { SeverityWord } from "./severity.js";
import { PlaceText } from "./source-view.js";
import { Name, Section } from "./text.js";

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
          <SeverityWord severity={finding.severity} />
          <span class="code">
            <Name text={finding.code} />
          </span>
          <span class="slug">
            <Name text={finding.slug} />
          </span>
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

function StepButton({ label, shortcut, step }: StepProps) {
  const store = useStore();
  return (
    <button
      type="button"
      class="quiet"
      aria-label={label}
      title={`${label} ( ${shortcut} )`}
      onClick={() => stepFinding(store, step)}
    >
      {step === 1 ? <NextIcon /> : <PreviousIcon />}
    </button>
  );
}

interface StepProps {
  readonly label: string;
  readonly shortcut: string;
  readonly step: 1 | -1;
}

function Header({ snapshot }: { snapshot: Snapshot }) {
  const { findings } = snapshot;
  return (
    <header class="findings-head">
      <h2>{formatPlural(findings.length, "finding")}</h2>
      <span class="muted" data-testid="finding-count">
        {countSentence(findings)}
      </span>
      {findings.length > 1 && (
        <span class="steps">
          <StepButton label="Previous finding" shortcut="N" step={-1} />
          <StepButton label="Next finding" shortcut="n" step={1} />
        </span>
      )}
      <Raised />
    </header>
  );
}

/** What could not be seen; beside a graph the inspector says it. */
function Notes({ notes }: { notes: readonly string[] }) {
  const { graphless } = useStore().derived;
  if (!graphless.value || notes.length === 0) return null;
  return (
    <Section title="Notes" note={String(notes.length)}>
      <ul class="note-list">
        {notes.map((note) => (
          <li key={note} dir="auto">
            {visibleText(note)}
          </li>
        ))}
      </ul>
    </Section>
  );
}

export function Findings({ snapshot }: { snapshot: Snapshot }) {
  return (
    <>
      <Header snapshot={snapshot} />
      <ol class="findings" data-testid="findings">
        {snapshot.findings.map((finding, id) => (
          <Item key={id} snapshot={snapshot} id={id} finding={finding} />
        ))}
      </ol>
      <Notes notes={snapshot.notes} />
    </>
  );
}
