// Steps to try on a tensor: what `.t()`, `[1:]` or `.contiguous()` would make of it.
import { useState } from "preact/hooks";
import { formatBytes, formatTuple } from "../state/format.js";
import { elementCount, type Layout } from "../state/strides.js";
import { applyStep, type Outcome, presets } from "../state/what-if.js";
import { splitSteps } from "../state/what-if-parse.js";
import { Name } from "./text.js";

export interface TriedStep {
  readonly text: string;
  readonly outcome: Outcome;
}

interface Props {
  readonly label: string;
  readonly start: Layout;
  readonly steps: readonly TriedStep[];
  /** Elements of the storage that the last step looks into. */
  readonly storageLength: number | null;
  readonly itemsize: number | null;
  readonly onSteps: (steps: readonly TriedStep[]) => void;
}

function memoryText({ copies, layout }: Outcome, itemsize: number | null): string {
  if (!copies) return "same memory";
  if (itemsize === null) return "a copy";
  return `a copy, ${formatBytes(elementCount(layout) * itemsize)}`;
}

/** Every step with its layout; a step's name leads back to it. */
function Trail({ label, start, steps, itemsize, onSteps }: Props) {
  const rows = [
    { name: label, layout: start, memory: "" },
    ...steps.map(({ text, outcome }) => {
      const memory = memoryText(outcome, itemsize);
      return { name: text, layout: outcome.layout, memory };
    }),
  ];
  return (
    <table class="data trail" data-testid="trail">
      <thead>
        <tr>
          {["Step", "Shape", "Strides", "Offset", "Memory"].map((heading) => (
            <th key={heading} scope="col">
              {heading}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map(({ name, layout, memory }, at) => (
          <tr key={at} aria-current={at === rows.length - 1}>
            <th scope="row" class="code">
              {at === rows.length - 1 ? (
                <Name text={name} />
              ) : (
                <button
                  type="button"
                  class="link"
                  title="Back to this step"
                  onClick={() => onSteps(steps.slice(0, at))}
                >
                  <Name text={name} />
                </button>
              )}
            </th>
            <td class="code">{formatTuple(layout.shape)}</td>
            <td class="code">{formatTuple(layout.strides)}</td>
            <td class="code">{layout.offset}</td>
            <td>{memory}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

export function WhatIf(props: Props) {
  const { start, steps, storageLength, onSteps } = props;
  const [typed, setTyped] = useState("");
  const [problem, setProblem] = useState<string | null>(null);
  const now = steps.at(-1)?.outcome.layout ?? start;
  const attempt = (text: string) => {
    const tried = [...steps];
    for (const part of splitSteps(text)) {
      const last = tried.at(-1)?.outcome;
      const length = last?.copies ? elementCount(last.layout) : storageLength;
      const outcome = applyStep(last?.layout ?? start, part, length);
      if (typeof outcome === "string") {
        setProblem(outcome);
        return;
      }
      tried.push({ text: part, outcome });
    }
    setProblem(null);
    setTyped("");
    onSteps(tried);
  };
  const said = problem ?? steps.at(-1)?.outcome.why ?? "";
  return (
    <fieldset class="what-if" data-testid="what-if">
      <legend>What would it look like after</legend>
      <div class="presets">
        {presets(now).map((text) => (
          <button key={text} type="button" class="code" onClick={() => attempt(text)}>
            {text}
          </button>
        ))}
        <form
          onSubmit={(event) => {
            event.preventDefault();
            attempt(typed);
          }}
        >
          <input
            type="text"
            class="code"
            spellcheck={false}
            placeholder=".view(2, -1)"
            aria-label="A step of your own, as Python writes it"
            value={typed}
            onInput={(event) => setTyped(event.currentTarget.value)}
          />
        </form>
        {steps.length > 0 && (
          <button type="button" onClick={() => onSteps(steps.slice(0, -1))}>
            Undo
          </button>
        )}
      </div>
      <output class={problem === null ? "muted" : "bad"}>{said}</output>
      {steps.length > 0 && <Trail {...props} />}
    </fieldset>
  );
}
