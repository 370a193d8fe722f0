// The lower line of the stepping bar: breakpoints, and another gradient for the node.
import type { ComponentChildren, TargetedKeyboardEvent } from "preact";
import { useState } from "preact/hooks";
import { visibleText } from "../state/visible-text.js";
import { useApp } from "./context.js";
import { CloseIcon } from "./icons.js";
import { Name } from "./text.js";

type Wanted = "number" | "text" | null;

/** What was typed beside a choice; null where nothing is wanted. */
type Value = string | number | null;

export interface Choice {
  readonly label: string;
  /** What stands in the field beside it; null where there is none. */
  readonly wants: Wanted;
  readonly hint?: string;
}

const CONDITIONS: Readonly<Record<string, Choice>> = {
  nan: { label: "NaN or Inf", wants: null },
  above: { label: "norm above", wants: "number", hint: "10" },
  below: { label: "norm below", wants: "number", hint: "1e-6" },
  nonzero: { label: "first non-zero", wants: null },
  node: { label: "node", wants: "text", hint: "Mul*" },
  module: { label: "module", wants: "text", hint: "encoder.*" },
};

const CHANGES: Readonly<Record<string, Choice>> = {
  zero: { label: "set to zero", wants: null },
  scale: { label: "scale by", wants: "number", hint: "0.5" },
  clip: { label: "clip norm to", wants: "number", hint: "1" },
};

/** Enter in a field presses the button; JupyterLab keeps browsers from doing it. */
export function submitOnEnter(event: TargetedKeyboardEvent<HTMLInputElement>): void {
  if (event.key !== "Enter") return;
  event.preventDefault();
  event.currentTarget.form?.requestSubmit();
}

/** A choice, the value it wants, and a button; Enter in the field presses the button. */
export function ChoiceForm({
  name,
  what,
  title,
  button,
  choices,
  onSubmit,
}: {
  name: string;
  what: string;
  title: string;
  button: string;
  choices: Readonly<Record<string, Choice>>;
  onSubmit: (choice: string, value: Value) => void;
}) {
  const [chosen, setChosen] = useState(Object.keys(choices)[0] ?? "");
  const [text, setText] = useState("");
  const wants = choices[chosen]?.wants ?? null;
  const value = wants === "number" ? Number(text) : text.trim();
  const usable = wants === null || (text.trim() !== "" && !Number.isNaN(value));
  const submit = (event: Event) => {
    event.preventDefault();
    if (!usable) return;
    onSubmit(chosen, wants === null ? null : value);
    setText("");
  };
  return (
    <form class="choice" aria-label={what} onSubmit={submit} data-testid={name}>
      <label>
        <span>{title}</span>
        <select
          value={chosen}
          onChange={(event) => setChosen(event.currentTarget.value)}
        >
          {Object.entries(choices).map(([key, { label }]) => (
            <option key={key} value={key}>
              {label}
            </option>
          ))}
        </select>
      </label>
      {wants !== null && (
        <input
          type="text"
          inputMode={wants === "number" ? "decimal" : "text"}
          aria-label={choices[chosen]?.label}
          placeholder={choices[chosen]?.hint}
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
          onKeyDown={submitOnEnter}
        />
      )}
      <button type="submit" disabled={!usable}>
        {button}
      </button>
    </form>
  );
}

const COMMANDS = {
  break: {
    what: "Add a breakpoint",
    title: "Break when",
    button: "Add",
    choices: CONDITIONS,
    asks: (choice: string, value: Value) => ({ [choice]: value ?? true }),
  },
  change: {
    what: "Change the gradient",
    title: "Gradient",
    button: "Apply",
    choices: CHANGES,
    asks: (how: string, value: Value) => ({ how, value: value ?? 0 }),
  },
} as const;

/** The form of a command that wants more than a button. */
export function CommandForm({ command }: { command: keyof typeof COMMANDS }) {
  const { ask } = useApp();
  const { asks, ...words } = COMMANDS[command];
  return (
    <ChoiceForm
      {...words}
      name={`stepping-${command}`}
      onSubmit={(choice, value) =>
        ask?.({ service: "stepping", command, ...asks(choice, value) })
      }
    />
  );
}

function List({ label, children }: { label: string; children: ComponentChildren }) {
  return (
    <ul class="breakpoints" aria-label={label}>
      {children}
    </ul>
  );
}

export function Breakpoints({ names }: { names: readonly string[] }) {
  const { ask } = useApp();
  if (names.length === 0) return null;
  return (
    <List label="Breakpoints">
      {names.map((name, which) => (
        <li key={`${which} ${name}`} class="tag accent">
          <Name text={name} />
          <button
            type="button"
            class="quiet"
            aria-label={`Forget the breakpoint ${visibleText(name)}`}
            onClick={() => ask?.({ service: "stepping", command: "clear", which })}
          >
            <CloseIcon />
          </button>
        </li>
      ))}
    </List>
  );
}
