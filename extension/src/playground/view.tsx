// What the playground shows beside its editor: the bar, what was said, found and drawn.
import { type Signal, signal } from "@preact/signals";
import { Sentence } from "../panel/sentence.js";
import type { Came, Finding } from "./protocol.js";
import type { Phase } from "./python.js";

/** All that the view reads. */
export interface Seen {
  readonly phase: Signal<Phase>;
  /** What is being done, or how it ended: one line, which is read out. */
  readonly status: Signal<string>;
  readonly said: Signal<string>;
  readonly came: Signal<Came | null>;
  /** The program is no longer the one that ran. */
  readonly changed: Signal<boolean>;
}

/** What there is before anything has run. */
export function nothingSeen(): Seen {
  return {
    phase: signal<Phase>("asleep"),
    status: signal(""),
    said: signal(""),
    came: signal<Came | null>(null),
    changed: signal(false),
  };
}

export interface Doing {
  run(): void;
  stop(): void;
  share(): void;
  goTo(line: number): void;
  apply(finding: Finding): void;
}

interface Props {
  readonly seen: Seen;
  readonly doing: Doing;
}

export function Bar({ seen, doing, first }: Props & { readonly first: string }) {
  const phase = seen.phase.value;
  const busy = phase === "loading" || phase === "running";
  const starts = phase === "asleep" && seen.said.value === "";
  return (
    <>
      <button type="button" class="main" disabled={busy} onClick={doing.run}>
        {starts ? first : "Run"}
      </button>
      <button type="button" disabled={!busy} onClick={doing.stop}>
        Stop
      </button>
      <button type="button" onClick={doing.share}>
        Copy link
      </button>
      <p class="status" role="status" data-phase={phase}>
        {seen.status}
      </p>
    </>
  );
}

export function Findings({ seen, doing, pages }: Props & { readonly pages: string }) {
  const found = seen.came.value?.found ?? null;
  if (found === null) return null;
  const verdict = found.verdict;
  return (
    <>
      <p class="verdict">{`${verdict.slice(0, 1).toUpperCase()}${verdict.slice(1)}.`}</p>
      <ol class="found">
        {found.findings.map((each) => (
          <li key={each.code + each.message} data-severity={each.severity}>
            <Heading finding={each} doing={doing} pages={pages} />
            <p>
              <Sentence text={each.message} />
            </p>
            <p>
              <strong>Fix:</strong> <Sentence text={each.fix} />{" "}
              {each.edit !== null && (
                <button
                  type="button"
                  disabled={seen.changed.value}
                  onClick={() => doing.apply(each)}
                >
                  Change it so
                </button>
              )}
            </p>
          </li>
        ))}
      </ol>
    </>
  );
}

function Heading({
  finding,
  doing,
  pages,
}: {
  readonly finding: Finding;
  readonly doing: Doing;
  readonly pages: string;
}) {
  const line = finding.culprit?.line;
  return (
    <h3>
      <span class="severity">{finding.severity}</span>{" "}
      <a href={`${pages}${finding.code}.html`}>
        {finding.code} {finding.slug}
      </a>{" "}
      {line !== undefined && (
        <button type="button" onClick={() => doing.goTo(line)}>
          line {line}
        </button>
      )}
    </h3>
  );
}

export function Output({ seen }: { readonly seen: Seen }) {
  return seen.said.value === "" ? (
    <p class="hint">What the program prints, and what is said of it, comes here.</p>
  ) : (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls can be scrolled by keys
    <pre role="log" aria-label="Output" tabIndex={0}>
      {seen.said}
    </pre>
  );
}

/** The page of the graph, which can do nothing outside of its frame. */
export function Graph({ seen }: { readonly seen: Seen }) {
  const came = seen.came.value;
  if (came === null) return null;
  if (came.page === null) return <p class="hint">There is no graph to show.</p>;
  return (
    <iframe
      title="The graph of the program"
      sandbox="allow-scripts allow-downloads"
      srcdoc={came.page}
    />
  );
}
