// What stands below a failing cell at first: the most likely cause, in as few lines as
// it takes, and the way to the graph.
import { openCard } from "../state/actions.js";
import { formatPlural } from "../state/format.js";
import { visibleText } from "../state/visible-text.js";
import { useStore } from "./context.js";
import { Explain, Fix, FixDiff, RelatedLines } from "./finding-body.js";
import { FindingName } from "./finding-name.js";
import { TargetIcon } from "./icons.js";
import { Raised } from "./raised.js";
import { ReleaseButton } from "./release.js";
import { Sentence } from "./sentence.js";
import { SourceView } from "./source-view.js";

const CONTEXT_LINES = 1;

function Ways() {
  const store = useStore();
  const snapshot = store.data.snapshot.value;
  if (snapshot === null) return null;
  const count = snapshot.findings.length;
  const graph = snapshot.nodes.length > 0;
  return (
    <p class="ways">
      {(graph || count > 1) && (
        <button type="button" data-testid="open-card" onClick={() => openCard(store)}>
          {graph && <TargetIcon />}
          {graph ? "Show in graph" : `Show all ${formatPlural(count, "finding")}`}
        </button>
      )}
      {graph && count > 1 && (
        <span class="muted">{`with ${formatPlural(count - 1, "more finding")}`}</span>
      )}
      <ReleaseButton />
      {!graph &&
        snapshot.notes.map((note) => (
          <span key={note} class="muted" dir="auto" data-testid="card-note">
            {visibleText(note)}
          </span>
        ))}
    </p>
  );
}

export function Card() {
  const details = useStore().derived.finding.value;
  if (details === null) return null;
  const { finding, culprit, related } = details;
  return (
    <article class={`card ${finding.severity}`} aria-label="Why it failed">
      <Raised />
      <h3>
        <FindingName finding={finding} />
      </h3>
      <p class="message" data-testid="card-message">
        <Sentence text={finding.message} />
      </p>
      {culprit !== null && <SourceView place={culprit} context={CONTEXT_LINES} />}
      <Fix text={finding.fix} />
      <FixDiff diff={finding.diff} safe={finding.safe} brief />
      <RelatedLines related={related} />
      <Explain code={finding.code} />
      <Ways />
    </article>
  );
}
