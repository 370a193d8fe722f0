// The keyboard and mouse, on one page; opened with "?" and closed with Esc.
import type { JSX } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { setHelp } from "../state/actions.js";
import { useStore } from "./context.js";
import { CloseIcon } from "./icons.js";

const KEYS: readonly (readonly [keys: readonly string[], what: string])[] = [
  [["↑", "↓", "←", "→"], "Walk to the nearest node in that direction"],
  [["Enter"], "Close the scope of the selected node, or open the closed one around it"],
  [["/"], "Search; Enter for the next match, Shift+Enter for the previous"],
  [["f"], "Fit the whole graph"],
  [["+", "-"], "Zoom in, zoom out"],
  [["m"], "Show or hide the map of the whole"],
  [["Ctrl", "z"], "Undo what you did to the view; Ctrl+Shift+Z does it again"],
  [["t"], "Switch between graph and table"],
  [["d"], "Arrows: tensors, gradients, or both side by side"],
  [["l"], "Link what shares memory"],
  [["[", "]"], "Previous step of the training, next step"],
  [["n", "N"], "Next finding, previous finding"],
  [
    ["w", "W"],
    "Next stop of the story that a finding or a Why? tells, previous stop; then the arrows, too",
  ],
  [
    ["s", "o", "u", "c"],
    "While stepping: step, over the module, to the selected node, continue",
  ],
  [[".", ","], "Next event of the recording, previous event"],
  [["p"], "Play the recording, or stop"],
  [["↑", "↓", "Home", "End"], "In the ledger and in Compare: walk the rows"],
  [["Esc"], "Close this, clear the search, the selection, the marks of a finding"],
  [["?"], "This page"],
];

const MOUSE: readonly (readonly [gesture: string, what: string])[] = [
  ["Click", "Select a node or an edge"],
  ["Click a module", "Its card; its triangle, or a double click, opens or closes it"],
  ["Drag", "Move the graph"],
  ["Wheel, pinch", "Zoom at the pointer"],
  ["Press the map", "Look there; drag to look around"],
];

const QUERIES: readonly (readonly [query: string, what: string])[] = [
  ["conv2d", "Name, call, module, tensor or file contains it"],
  ["64x10", "An input or output has this shape"],
  ["train.py:12", "Made by that line"],
  ["has:nan", "Also has:inf, has:bad, has:hook, has:grad, has:finding"],
  ["is:leaf", "Also any other kind of node"],
  ["storage:3", "A tensor of that storage passes through, is kept or is written"],
  ["grad>10", "Norm of the incoming gradient; also <, >=, <=, ="],
  ["-relu", "Leave out what matches; all words must hold"],
];

/** Show the dialog above everything, where the browser has such a layer. */
function present(dialog: HTMLDialogElement): void {
  if (typeof dialog.showModal === "function") dialog.showModal();
  else dialog.setAttribute("open", "");
}

/** Open a dialog; the answer gives the focus back to where it was, or to the graph. */
function openOver(dialog: HTMLDialogElement | null): (() => void) | undefined {
  if (dialog === null) return undefined;
  const root = dialog.getRootNode() as Document | ShadowRoot;
  const before = root.activeElement;
  present(dialog);
  return () => {
    const target = before?.isConnected
      ? before
      : root.querySelector("[data-gv-canvas]");
    if (target instanceof HTMLElement) target.focus({ preventScroll: true });
  };
}

function Definitions({ rows }: { rows: readonly (readonly [JSX.Element, string])[] }) {
  return (
    <dl class="keys">
      {rows.map(([term, what]) => (
        <div key={what}>
          <dt>{term}</dt>
          <dd>{what}</dd>
        </div>
      ))}
    </dl>
  );
}

function keyCaps(keys: readonly string[]): JSX.Element {
  return (
    <>
      {keys.map((key) => (
        <kbd key={key}>{key}</kbd>
      ))}
    </>
  );
}

export function Help() {
  const store = useStore();
  const dialog = useRef<HTMLDialogElement>(null);
  const open = store.ui.helpOpen.value;
  useLayoutEffect(() => (open ? openOver(dialog.current) : undefined), [open]);
  if (!open) return null;
  const close = () => setHelp(store, false);
  return (
    <dialog ref={dialog} class="help" aria-label="Help" onClose={close}>
      <div class="head">
        <h2>Keyboard and mouse</h2>
        <button type="button" class="quiet" aria-label="Close" onClick={close}>
          <CloseIcon />
        </button>
      </div>
      <Definitions rows={KEYS.map(([keys, what]) => [keyCaps(keys), what])} />
      <Definitions
        rows={MOUSE.map(([gesture, what]) => [<span>{gesture}</span>, what])}
      />
      <h3>Search words</h3>
      <Definitions
        rows={QUERIES.map(([query, what]) => [<code>{query}</code>, what])}
      />
      <p class="muted">
        An arrow points from the tensor's producer to its consumer: the forward
        direction. Gradients flow against the arrows.
      </p>
    </dialog>
  );
}
