// What is known of the thing that is looked at, and the chain behind it, on request.
import { hideAnswer, showAnswer } from "../state/actions-story.js";
import { rowAt } from "../state/tables.js";
import type { Asked } from "../state/why.js";
import { useStore } from "./context.js";
import { CloseIcon } from "./icons.js";
import { Sentence } from "./sentence.js";
import { Story } from "./story.js";

/** The verdict, with the question; nothing where the recording keeps no answer. */
export function WhyLine({ asked }: { asked: Asked | null }) {
  const store = useStore();
  if (asked === null) return null;
  return (
    <p class="why" data-testid="why">
      <Sentence text={asked.verdict} />{" "}
      {store.ui.answer.value !== asked.id && (
        <button type="button" onClick={() => showAnswer(store, asked.id)}>
          Why?
        </button>
      )}
    </p>
  );
}

/** The answer that was asked for stands above what is selected, stop by stop. */
export function AnswerStory() {
  const store = useStore();
  const answers = store.data.snapshot.value?.answers ?? [];
  const answer = rowAt(answers, store.ui.answer.value);
  if (answer === null) return null;
  return (
    <section class="answer info" aria-label="Why" data-testid="answer">
      <h2>
        <Sentence text={`Why? ${answer.verdict}`} />
        <button
          type="button"
          class="icon"
          aria-label="Close the answer"
          onClick={() => hideAnswer(store)}
        >
          <CloseIcon />
        </button>
      </h2>
      <Story />
    </section>
  );
}
