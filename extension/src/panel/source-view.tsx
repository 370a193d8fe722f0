// The line of the user's code that made a node, in its context, the expression marked.

import { openPlace } from "../state/actions-place.js";
import { type ExcerptLine, excerpt } from "../state/excerpt.js";
import type { Place } from "../state/inspect.js";
import { visibleCode, visibleText } from "../state/visible-text.js";
import { useApp } from "./context.js";
import { OpenIcon } from "./icons.js";
import { Empty, Name, ScrollBox } from "./text.js";

const CONTEXT_LINES = 3;

function Line({ line }: { line: ExcerptLine }) {
  return (
    <div class={line.inside ? "line inside" : "line"}>
      <span class="gutter">{line.number}</span>
      <code dir="ltr">
        {line.segments.map(({ text, marked }, position) =>
          marked ? (
            <mark key={`${line.number}-${position}`}>{visibleCode(text)}</mark>
          ) : (
            <span key={`${line.number}-${position}`}>{visibleCode(text)}</span>
          ),
        )}
      </code>
    </div>
  );
}

/** "train.py:12" with the full path as title; the name is isolated from the number. */
export function PlaceText({ place: { site, name } }: { place: Place }) {
  return (
    <span title={visibleText(`${site.file}, line ${site.line}`)}>
      <Name text={name} title={site.file} />
      {`:${site.line}`}
    </span>
  );
}

/** The same as a button: the host opens it, else the inspector shows its text. */
export function PlaceLink({ place, here = false }: { place: Place; here?: boolean }) {
  const { reveal, store } = useApp();
  const { site, source } = place;
  const text = <PlaceText place={place} />;
  if (reveal === null) {
    const { ui, derived } = store;
    const hasRoom = !ui.card.value && derived.panes.value.includes("inspector");
    if (here || source === null || !hasRoom) return text;
    return (
      <button
        type="button"
        class="link place"
        title={visibleText(`Show ${site.file}, line ${site.line}`)}
        onClick={() => openPlace(store, place)}
      >
        {text}
      </button>
    );
  }
  const target = {
    ...site,
    cell_id: source?.cell_id ?? null,
    label: source?.label ?? null,
  };
  return (
    <button
      type="button"
      class="link place"
      title={visibleText(`Open ${site.file}, line ${site.line}`)}
      onClick={() => reveal(target)}
    >
      {text}
      <OpenIcon />
    </button>
  );
}

export function SourceView({
  place,
  context = CONTEXT_LINES,
  label = "Source text",
}: {
  place: Place | null;
  context?: number;
  /** Tells it apart where there are several. */
  label?: string;
}) {
  if (place === null) {
    return <Empty>No line of your code is known for this node.</Empty>;
  }
  const { site, source } = place;
  const lines = excerpt(site, source, context);
  return (
    <div class="source" data-testid="source">
      <p class="source-head">
        <PlaceLink place={place} here />
        {site.function !== "" && site.function !== "<module>" && (
          <span class="muted">
            in <Name text={site.function} />
          </span>
        )}
      </p>
      {lines.length === 0 ? (
        <Empty>The text of this line was not kept.</Empty>
      ) : (
        <ScrollBox label={label}>
          <div class="lines">
            {lines.map((line) => (
              <Line key={line.number} line={line} />
            ))}
          </div>
        </ScrollBox>
      )}
    </div>
  );
}

/** The frames around the call, innermost first. */
export function StackView({ stack }: { stack: readonly Place[] }) {
  if (stack.length === 0) return null;
  return (
    <details class="stack" data-testid="stack">
      <summary>{visibleText(`Called from ${stack[0]?.label ?? ""}`)}</summary>
      <ol>
        {stack.map((place, depth) => (
          <li key={depth}>
            <PlaceLink place={place} />
            <span class="muted">
              in <Name text={place.site.function} />
            </span>
            <code dir="ltr" class="elided" title={visibleCode(place.site.text.trim())}>
              {visibleText(place.site.text.trim().split("\n")[0] ?? "")}
            </code>
          </li>
        ))}
      </ol>
    </details>
  );
}
