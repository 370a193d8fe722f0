// The bar of a stepped backward pass: run on, where it stands, what stops it.
import { useEffect } from "preact/hooks";
import { goToNode } from "../state/actions.js";
import {
  KERNEL_GONE,
  type StepCommand,
  type Stepping,
  type Stop,
} from "../state/kernel.js";
import { visibleText } from "../state/visible-text.js";
import { type AppContext, useApp, useStore } from "./context.js";
import { Breakpoints, CommandForm } from "./stepping-forms.js";
import { Name, Tag } from "./text.js";

interface StepButton {
  readonly command: StepCommand;
  readonly label: string;
  readonly what: string;
  readonly shortcut?: string;
}

const BUTTONS: readonly StepButton[] = [
  { command: "step", label: "Step", what: "Run the next node", shortcut: "s" },
  {
    command: "over",
    label: "Over",
    what: "Run the nodes of this module, stop at the first outside",
    shortcut: "o",
  },
  {
    command: "run_to",
    label: "To selected",
    what: "Run until the selected node",
    shortcut: "u",
  },
  {
    command: "resume",
    label: "Continue",
    what: "Run to the next breakpoint, or to the end",
    shortcut: "c",
  },
  {
    command: "abort",
    label: "Abort",
    what: "Give the pass up; every .grad is as it was before",
  },
];

/** Why no command can be given now; "" where one can. */
function hindrance(stepping: Stepping, alive: boolean): string {
  if (!alive) return KERNEL_GONE;
  return stepping.stop === null ? stepping.outcome : "";
}

/** Send a command, from a button or a key; nothing happens where none can be given. */
export function sendStep({ ask, store }: AppContext, command: StepCommand): void {
  const stepping = store.data.services.value?.stepping;
  if (stepping === undefined) return;
  if (hindrance(stepping, store.data.kernelAlive.value) !== "") return;
  const selection = store.ui.selection.value;
  if (command !== "run_to") ask?.({ service: "stepping", command });
  else if (selection?.kind === "node")
    ask?.({ service: "stepping", command, node: selection.id });
}

function Commands({ stepping, reason }: { stepping: Stepping; reason: string }) {
  const app = useApp();
  const { ui } = app.store;
  const selected = ui.selection.value?.kind === "node" ? ui.selection.value.id : null;
  const elsewhere = selected !== null && selected !== stepping.stop?.node;
  return (
    <fieldset class="group" aria-label="Run the pass">
      {BUTTONS.map(({ command, label, what, shortcut }) => (
        <button
          key={command}
          type="button"
          data-testid={`stepping-${command}`}
          disabled={reason !== "" || (command === "run_to" && !elsewhere)}
          title={reason || (shortcut ? `${what} ( ${shortcut} )` : what)}
          onClick={() => sendStep(app, command)}
        >
          {label}
        </button>
      ))}
    </fieldset>
  );
}

function Where({ stop }: { stop: Stop }) {
  const store = useStore();
  const { number, total, name, leaf, module, node, reason, gradients } = stop;
  const words = gradients.map((gradient) => gradient.words).filter(Boolean);
  return (
    <p class="where" data-testid="stepping-where">
      <progress value={number} max={total} aria-label="Nodes that ran" />
      <span class="number">{`${number} of ${total}`}</span>
      {node === null ? (
        <Name text={name} />
      ) : (
        <button type="button" class="link" onClick={() => goToNode(store, node)}>
          <Name text={name} />
        </button>
      )}
      {leaf !== "" && (
        <span>
          of <Name text={leaf} />
        </span>
      )}
      {module !== "" && (
        <span class="muted">
          in <Name text={module} />
        </span>
      )}
      <span class="received">
        {words.length === 0 ? "no gradient" : `receives ${words.join("; ")}`}
      </span>
      {reason !== "" && (
        <Tag tone="accent" title="Why the pass stopped here">
          <Name text={reason} />
        </Tag>
      )}
    </p>
  );
}

/** Breakpoints and the gradient; folded away where there is little room. */
function Options({ names }: { names: readonly string[] }) {
  const { ui } = useStore();
  const forms = (
    <div class="line">
      <Breakpoints names={names} />
      <CommandForm command="break" />
      <CommandForm command="change" />
    </div>
  );
  if (!ui.narrow.value) return forms;
  return (
    <details>
      <summary>{`Breakpoints (${names.length}), gradient`}</summary>
      {forms}
    </details>
  );
}

/** The waiting node is selected and brought into view, whoever made the step. */
function useFollowing(stepping: Stepping | undefined): void {
  const store = useStore();
  const here = stepping?.stop?.node ?? null;
  const ready = store.data.snapshot.value !== null;
  useEffect(() => {
    if (ready && here !== null) goToNode(store, here);
  }, [store, here, ready]);
}

export function SteppingBar() {
  const { data, ui } = useStore();
  const services = data.services.value;
  const stepping = services?.stepping;
  useFollowing(stepping);
  if (services === null || stepping === undefined) return null;
  const reason = hindrance(stepping, data.kernelAlive.value);
  const waiting = reason === "" && ui.asked.value > services.answered;
  return (
    <section
      class="stepping"
      aria-label="Stepping through backward"
      data-testid="stepping"
    >
      <div class="line">
        <Commands stepping={stepping} reason={reason} />
        {reason === "" && stepping.stop !== null && <Where stop={stepping.stop} />}
        {reason !== "" && (
          <p class="outcome" role="status" data-testid="stepping-outcome">
            {visibleText(reason)}
          </p>
        )}
        {waiting && <span class="pending muted">waiting for the kernel…</span>}
      </div>
      {reason === "" && <Options names={stepping.breakpoints} />}
      {stepping.error !== "" && (
        <p class="refused" role="alert" data-testid="stepping-error">
          {visibleText(stepping.error)}
        </p>
      )}
    </section>
  );
}
