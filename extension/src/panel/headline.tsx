// The first line: what the recording comes to, where the selection stands, which step.
import { setPane } from "../state/actions.js";
import { countSentence, worstOf } from "../state/findings.js";
import { formatPlural } from "../state/format.js";
import { countSteps } from "../state/steps.js";
import { rowAt } from "../state/tables.js";
import { Breadcrumb } from "./breadcrumb.js";
import { useStore } from "./context.js";
import { CheckIcon } from "./icons.js";
import { SEVERITY_ICONS } from "./severity.js";
import { StepSelector } from "./step-selector.js";

/** How many findings there are, in the look of the worst, with the line of the first;
 * that there are none is a verdict too, where a backward pass ran. */
function Verdict() {
  const store = useStore();
  const snapshot = store.data.snapshot.value;
  if (snapshot === null) return null;
  const { findings, events, sites } = snapshot;
  const worst = worstOf(findings);
  if (worst === null) {
    const passes = events.filter(({ kind }) => kind === "backward_end").length;
    if (passes === 0) return null;
    const all = Math.max(passes, countSteps(snapshot, []));
    const looked = formatPlural(all, "backward pass", "backward passes");
    return (
      <p class="verdict fine" data-testid="verdict">
        <CheckIcon />
        {`no findings in ${looked}`}
      </p>
    );
  }
  const shown = store.derived.pane.value === "findings";
  const Icon = SEVERITY_ICONS[worst];
  const line = rowAt(sites, findings[0]?.culprit)?.line;
  const counts = countSentence(findings);
  const words = line === undefined ? counts : `${counts}, line ${line}`;
  const label = `${formatPlural(findings.length, "finding")}: ${words}`;
  return (
    <button
      type="button"
      class={`verdict findings-button ${worst}`}
      aria-label={label}
      title={`${label} ( n )`}
      aria-pressed={shown}
      data-testid="findings-button"
      onClick={() => setPane(store, shown ? "inspector" : "findings")}
    >
      <Icon />
      <span>{words}</span>
    </button>
  );
}

export function Headline() {
  const store = useStore();
  if (store.data.snapshot.value === null) return null;
  return (
    <section class="headline" aria-label="Verdict">
      <Verdict />
      <Breadcrumb />
      {!store.derived.graphless.value && <StepSelector />}
    </section>
  );
}
