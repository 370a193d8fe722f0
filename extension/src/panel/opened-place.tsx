// A place in the code that a link led to, above whatever the inspector shows.
import { useEffect, useRef } from "preact/hooks";
import { closePlace } from "../state/actions-place.js";
import { useStore } from "./context.js";
import { CloseIcon } from "./icons.js";
import { SourceView } from "./source-view.js";

const CONTEXT_LINES = 8;

export function OpenedPlace() {
  const store = useStore();
  const opened = store.ui.openedPlace.value;
  const section = useRef<HTMLElement>(null);
  const isShown = opened !== null && opened.selection === store.ui.selection.value;
  useEffect(() => {
    if (isShown) section.current?.focus();
  }, [opened, isShown]);
  if (!isShown) return null;
  const close = () => {
    closePlace(store);
    section.current?.closest<HTMLElement>("[role=tabpanel], .inspector")?.focus();
  };
  return (
    <section
      ref={section}
      class="opened-place"
      data-testid="opened-place"
      aria-label={`Source of ${opened.place.label}`}
      tabIndex={-1}
    >
      <button type="button" class="quiet" aria-label="Close the source" onClick={close}>
        <CloseIcon />
      </button>
      <SourceView place={opened.place} context={CONTEXT_LINES} />
    </section>
  );
}
