// The numbers of what a node gave, or of a part of it, as the kernel still holds them.
import { useState } from "preact/hooks";
import { visibleText } from "../state/visible-text.js";
import { useApp } from "./context.js";
import { submitOnEnter } from "./stepping-forms.js";

/** Nothing where no living kernel offers it, as on a page. */
export function LiveValues({ id }: { id: number }) {
  const { store, ask } = useApp();
  const [index, setIndex] = useState("");
  const { services, kernelAlive } = store.data;
  const values = services.value?.values;
  if (values === undefined || !kernelAlive.value) return null;
  const submit = (event: Event) => {
    event.preventDefault();
    ask?.({ service: "values", node: id, index });
  };
  const isOurs = values.node === id;
  return (
    <div class="check-derivative" data-testid="live-values">
      <form class="choice" aria-label="Show the numbers" onSubmit={submit}>
        <label>
          <span>Numbers at</span>
          <input
            type="text"
            placeholder="0, :, 3:8"
            value={index}
            onInput={(event) => setIndex(event.currentTarget.value)}
            onKeyDown={submitOnEnter}
          />
        </label>
        <button type="submit">Show</button>
      </form>
      {isOurs && values.error !== "" && (
        <p class="refused" role="alert">
          {visibleText(values.error)}
        </p>
      )}
      {isOurs && (
        <div class="waiting-values" role="status">
          {values.shown.map(({ name, text }) => (
            <figure key={name}>
              <figcaption class="muted">{name}</figcaption>
              {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls by keyboard */}
              <pre dir="ltr" tabIndex={0}>
                {text}
              </pre>
            </figure>
          ))}
        </div>
      )}
    </div>
  );
}
