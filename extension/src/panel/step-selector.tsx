// Which step of a training is drawn: ◀ step 3 of 4 ▶, and what differs from the one before.
import { compareSteps, stepOn } from "../state/actions-steps.js";
import { newsWords } from "../state/step-news.js";
import { countSteps } from "../state/steps.js";
import { useStore } from "./context.js";
import { StepBackwardIcon, StepForwardIcon } from "./icons.js";

const NO_LATER = "No later step was kept in full: see the notes";

export function StepSelector() {
  const store = useStore();
  const { steps, step, news } = store.derived;
  const at = step.value;
  const count = steps.value.length;
  if (at === null || count === 0) return null;
  const differs = news.value;
  const number = steps.value[at]?.number ?? at + 1;
  const first = steps.value[at]?.first ?? number;
  const snapshot = store.data.snapshot.value;
  const total = snapshot === null ? count : countSteps(snapshot, steps.value);
  return (
    <fieldset class="group steps" aria-label="Steps of the training">
      <button
        type="button"
        aria-label="Previous step"
        title="Previous step ( [ )"
        disabled={at === 0}
        onClick={() => stepOn(store, -1)}
      >
        <StepBackwardIcon />
      </button>
      <button
        type="button"
        class="step-words"
        data-testid="step"
        title={
          differs === null
            ? "Compare with the next step"
            : `Since step ${differs.since}: ${newsWords(differs)}. Compare the two`
        }
        onClick={() => compareSteps(store)}
      >
        <span>
          {first === number ? "step " : "passes "}
          <b>{first === number ? number : `${first}–${number}`}</b> of {total}
        </span>
        {differs !== null && (
          <span class="muted" data-testid="step-news">
            {newsWords(differs)}
          </span>
        )}
      </button>
      <button
        type="button"
        aria-label="Next step"
        title={at === count - 1 && number < total ? NO_LATER : "Next step ( ] )"}
        disabled={at === count - 1}
        onClick={() => stepOn(store, 1)}
      >
        <StepForwardIcon />
      </button>
    </fieldset>
  );
}
