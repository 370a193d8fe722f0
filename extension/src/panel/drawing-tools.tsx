// Which way the arrows point, and whether shared memory is linked.
import { FLOW_LABELS, FLOWS } from "../graph/drawing.js";
import { setFlow, toggleLinks } from "../state/actions-drawing.js";
import { useStore } from "./context.js";
import { LinkIcon } from "./icons.js";

export function DrawingTools({ disabled }: { disabled: boolean }) {
  const store = useStore();
  const { flow, links } = store.ui.drawing.value;
  const onChange = (event: { currentTarget: HTMLSelectElement }) => {
    const chosen = FLOWS.find((each) => each === event.currentTarget.value);
    if (chosen !== undefined) setFlow(store, chosen);
  };
  return (
    <>
      <label class="choice">
        <span>Arrows</span>
        <select
          aria-label="Arrows"
          title="Arrows: tensors forward, gradients backward, or both side by side ( d )"
          value={flow}
          disabled={disabled}
          onChange={onChange}
          data-testid="flow"
        >
          {FLOWS.map((each) => (
            <option key={each} value={each}>
              {FLOW_LABELS[each]}
            </option>
          ))}
        </select>
      </label>
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
