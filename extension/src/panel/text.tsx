// Small pieces of text: isolated names, number facts, tags, sections.
import type { ComponentChildren, JSX } from "preact";
import { setFolded } from "../state/actions.js";
import { visibleText } from "../state/visible-text.js";
import { useStore } from "./context.js";

/** Where a name may go on in the next line: after a dot, a slash, an underscore; a word
 * without any of them after so many characters. */
const PIECE = /[^._/\\]{1,32}[._/\\]*|[._/\\]+/g;

/** A name from the user's program: isolated against its direction, with title. */
export function Name({ text, title }: { text: string; title?: string }) {
  const pieces = visibleText(text).match(PIECE) ?? [];
  return (
    <bdi class="name" title={visibleText(title ?? text)}>
      {pieces.flatMap((piece, at) => (at === 0 ? [piece] : [<wbr key={at} />, piece]))}
    </bdi>
  );
}

/** A name on one line that is cut at its front, never at its end: of a parameter the
 * last words tell which one it is. The title has all of it. */
export function CutName({ text }: { text: string }) {
  const shown = visibleText(text);
  return (
    <span class="name cut-name" title={shown}>
      <bdi dir="ltr">{shown}</bdi>
    </span>
  );
}

export interface Fact {
  readonly label: string;
  readonly value: ComponentChildren;
  readonly title?: string;
  /** Red, with a word of its own: colour is never the only sign. */
  readonly bad?: boolean;
}

const WIDE_VALUE = 12; // characters that fit one column of the grid

function factClass(value: ComponentChildren, bad: boolean | undefined): string {
  const wide = typeof value === "string" && value.length > WIDE_VALUE;
  return `fact${wide ? " wide" : ""}${bad ? " bad" : ""}`;
}

/** A definition list: one label and value after the other, in a flowing grid. */
export function Facts({ facts, testId }: { facts: readonly Fact[]; testId?: string }) {
  return (
    <dl class="facts" data-testid={testId}>
      {facts.map(({ label, value, title, bad }) => (
        <div key={label} class={factClass(value, bad)} title={title}>
          <dt>{label}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

export function Tag({
  children,
  tone = "plain",
  title,
}: {
  children: ComponentChildren;
  tone?: "plain" | "bad" | "accent";
  title?: string;
}) {
  return (
    <span class={`tag ${tone}`} title={title}>
      {children}
    </span>
  );
}

/** A name for places that take only plain text, such as an option: isolated by controls. */
export function isolated(text: string): string {
  return `\u2068${visibleText(text)}\u2069`;
}

/** A titled part of the inspector; once folded it stays so from node to node. */
export function Section({
  title,
  note,
  children,
}: {
  title: string;
  note?: string | undefined;
  children: ComponentChildren;
}) {
  const store = useStore();
  return (
    <details
      class="section"
      open={!store.ui.folded.value.has(title)}
      data-testid={`section-${slug(title)}`}
      onToggle={(event) => setFolded(store, title, !event.currentTarget.open)}
    >
      <summary>
        <h3>{title}</h3>
        {note !== undefined && <span class="note">{note}</span>}
      </summary>
      <div class="section-body">{children}</div>
    </details>
  );
}

function slug(title: string): string {
  return title.toLowerCase().replaceAll(" ", "-");
}

/** A sentence for a place with nothing to show. */
export function Empty({ children }: { children: ComponentChildren }): JSX.Element {
  return <p class="empty">{children}</p>;
}

/** A box that scrolls sideways and can be reached by keyboard to do so. */
export function ScrollBox({
  label,
  children,
}: {
  label: string;
  children: ComponentChildren;
}) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must be reachable
    <section class="scroll-box" aria-label={label} tabIndex={0}>
      {children}
    </section>
  );
}
