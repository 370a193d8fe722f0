// A few words for those who see the view for the first time, until they dismiss them.
import { useState } from "preact/hooks";
import { setHelp } from "../state/actions.js";
import { forgetHint, type Memory, wantsHint } from "../state/hint.js";
import { useStore } from "./context.js";
import { CloseIcon } from "./icons.js";

/** The browser's own memory; a page in a sandbox has none, and says so by throwing. */
const MEMORY: Memory = {
  get: (key) => localStorage.getItem(key),
  set: (key, value) => localStorage.setItem(key, value),
};

export function Hint() {
  const store = useStore();
  const [isWanted, setWanted] = useState(() => wantsHint(MEMORY));
  const { selection, viewMode } = store.ui;
  const nodes = store.data.snapshot.value?.nodes.length ?? 0;
  const isShown =
    isWanted && nodes > 0 && selection.value === null && viewMode.value === "graph";
  if (!isShown) return null;
  const dismiss = () => {
    forgetHint(MEMORY);
    setWanted(false);
  };
  const showKeys = () => {
    dismiss();
    setHelp(store, true);
  };
  return (
    <aside class="hint" aria-label="First steps" data-testid="hint">
      <p>
        Click a node for the line that made it, a module to open it
        <span class="more">
          {store.ui.cell.value
            ? "; the wheel zooms after a click into the view, or with Ctrl"
            : "; drag and scroll to look around"}
        </span>
        .
      </p>
      <button type="button" class="link" onClick={showKeys}>
        All keys
      </button>
      <button
        type="button"
        class="quiet"
        aria-label="Dismiss the hint"
        onClick={dismiss}
      >
        <CloseIcon />
      </button>
    </aside>
  );
}
