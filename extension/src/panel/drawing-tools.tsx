// Which way the arrows point, and whether shared memory is linked.
import { FLOW_LABELS } from "../graph/drawing.js";
import { setFlow, toggleLinks } from "../state/actions-drawing.js";
import { useStore } from "./context.js";
import { LinkIcon } from "./icons.js";
import { LabelledSelect } from "./labelled-select.js";

export function DrawingTools({ disabled }: { disabled: boolean }) {
  const store = useStore();
  const { flow, links } = store.ui.drawing.value;
  return (
    <>
      <LabelledSelect
        label="Arrows"
        title="Arrows: tensors forward, gradients backward, or both side by side ( d )"
        value={flow}
        labels={FLOW_LABELS}
        disabled={disabled}
        testId="flow"
        onChoose={(chosen) => setFlow(store, chosen)}
      />
      <fieldset class="group" aria-label="Links">
        <button
          type="button"
          aria-label="Links of shared memory"
          title="Links of shared memory ( l )"
          aria-pressed={links}
          disabled={disabled}
          data-testid="links"
          onClick={() => toggleLinks(store)}
        >
          <LinkIcon />
        </button>
      </fieldset>
    </>
  );
}
