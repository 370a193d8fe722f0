// "What if…" at an edge or a node: asks the kernel, and shows what would reach whom.
import type { EdgeKind, NodeKind } from "../ir/types.js";
import { goToNode } from "../state/actions.js";
import { KERNEL_GONE, type WhatIf } from "../state/kernel.js";
import { visibleText } from "../state/visible-text.js";
import { useApp } from "./context.js";
import { type Choice, ChoiceForm } from "./stepping-forms.js";
import { Name, Section } from "./text.js";

const CUT: Choice = { label: "is cut", wants: null };
const ALTER = {
  scale: { label: "is scaled by", wants: "number", hint: "0.1" },
  replace: { label: "is replaced by", wants: "number", hint: "1" },
  cut: CUT,
} as const;
const AT_NODE = {
  ...ALTER,
  without: { label: "is no term of the loss", wants: null },
  uncut: { label: "passes unchanged", wants: null },
} as const;
const AT_CUT = { uncut: { label: "is not cut", wants: null } } as const;

function choicesAt(kind: NodeKind | EdgeKind): Readonly<Record<string, Choice>> {
  if (kind === "cut") return AT_CUT;
  return kind === "data" || kind === "accumulate" ? ALTER : AT_NODE;
}

function Answer({ asked }: { asked: WhatIf }) {
  const { store } = useApp();
  return (
    <table class="plain" aria-label="What would reach which parameter">
      <thead>
        <tr>
          <th scope="col">Parameter</th>
          <th scope="col">Did</th>
          <th scope="col">Would</th>
          <th scope="col">Cosine</th>
        </tr>
      </thead>
      <tbody>
        {asked.rows.map(({ name, node, did, would, cosine }, at) => (
          <tr key={at} class={did === would ? "muted" : undefined}>
            <th scope="row" class="code">
              {node === null ? (
                <Name text={name} />
              ) : (
                <button
                  type="button"
                  class="link"
                  onClick={() => goToNode(store, node)}
                >
                  <Name text={name} />
                </button>
              )}
            </th>
            <td class="number">{did}</td>
            <td class="number">{would}</td>
            <td class="number">{cosine}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

interface Props {
  readonly of: "node" | "edge";
  readonly row: number;
  readonly kind: NodeKind | EdgeKind;
}

/** Nothing where no living kernel offers it, as on a page. */
export function WhatIfSection({ of, row, kind }: Props) {
  const { store, ask } = useApp();
  const { services, kernelAlive } = store.data;
  const asked = services.value?.what_if;
  if (asked === undefined) return null;
  const command = (name: string, label: string) => (
    <button type="button" onClick={() => ask?.({ service: "what_if", command: name })}>
      {label}
    </button>
  );
  const cutEdge = of === "edge" && kind === "cut";
  return (
    <Section title="What if" note="nothing of the program changes">
      <div class="check-derivative" data-testid="supposing">
        {!kernelAlive.value && <p>{KERNEL_GONE}</p>}
        {cutEdge && <p>Select the cut itself to take it away.</p>}
        {kernelAlive.value && !cutEdge && (
          <ChoiceForm
            key={kind}
            name="supposing-form"
            what="Ask what if"
            title="The gradient here"
            button="Ask"
            choices={choicesAt(kind)}
            onSubmit={(how, value) =>
              ask?.({
                service: "what_if",
                command: "add",
                ...{ how, of, row },
                value: value ?? 0,
              })
            }
          />
        )}
        {asked.error !== "" && (
          <p class="refused" role="alert">
            {visibleText(asked.error)}
          </p>
        )}
        {asked.changes.length > 0 && (
          <>
            <p role="status">{visibleText(asked.changes.join("; "))}</p>
            <Answer asked={asked} />
            {asked.hooks.length > 0 && (
              <p>{visibleText(`Without the hooks ${asked.hooks.join(", ")}.`)}</p>
            )}
            <fieldset class="group" aria-label="Changes">
              {command("undo", "Take back")}
              {command("clear", "Clear")}
            </fieldset>
          </>
        )}
      </div>
    </Section>
  );
}
