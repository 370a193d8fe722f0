// What an unfolded finding says: the line to blame, what to write instead, related lines,
// the nodes, and the memory it is about.
import { useState } from "preact/hooks";
import { goToNode, showFinding } from "../state/actions.js";
import { findingMarkdown } from "../state/finding-markdown.js";
import type { FindingDetails, RelatedPlace } from "../state/findings.js";
import { formatCount } from "../state/format.js";
import { nodeTitle } from "../state/inspect.js";
import { visibleCode } from "../state/visible-text.js";
import { Boundary } from "./boundary.js";
import { useStore } from "./context.js";
import { TargetIcon } from "./icons.js";
import { Sentence } from "./sentence.js";
import { PlaceLink, SourceView } from "./source-view.js";
import { StorageSection } from "./storage-section.js";
import { Story } from "./story.js";
import { StrideSection } from "./stride-picture.js";
import { Name } from "./text.js";

const CONTEXT_LINES = 2;
const NODES_SHOWN = 12;

export function Fix({ text }: { text: string }) {
  if (text === "") return null;
  return (
    <p class="fix" data-testid="fix">
      <b>Fix</b> <Sentence text={text} />
    </p>
  );
}

const LINES_SHOWN = 60;

/** Copies a text; nothing where a page may not. */
function Copy({ text, label }: { text: string; label: string }) {
  const [copied, setCopied] = useState(false);
  if (typeof navigator.clipboard?.writeText !== "function") return null;
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    setCopied(true);
  };
  return (
    <button type="button" onClick={() => copy().catch(() => setCopied(false))}>
      {copied ? "Copied" : label}
    </button>
  );
}

interface FixDiffProps {
  readonly diff: string;
  readonly safe: boolean;
  /** without the lines around the change */
  readonly brief?: boolean;
}

/** The fix as a change to the file, and a button that copies it. */
export function FixDiff({ diff, safe, brief = false }: FixDiffProps) {
  if (diff === "") return null;
  const whole = diff.trimEnd().split("\n").slice(2); // without the names of the file
  const lines = brief ? whole.filter((line) => /^[+-]/.test(line)) : whole;
  return (
    <figure class="fix-diff" data-testid="fix-diff">
      <figcaption>
        <span class="muted">{safe ? "As a change" : "One way to change it"}</span>
        <Copy text={`${diff}\n`} label="Copy" />
      </figcaption>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls by keyboard */}
      <pre dir="ltr" tabIndex={0}>
        {lines.slice(0, LINES_SHOWN).map((line, position) => (
          <span key={position} class={LINE_CLASSES[line[0] ?? " "] ?? "same"}>
            {`${visibleCode(line)}\n`}
          </span>
        ))}
      </pre>
    </figure>
  );
}

const LINE_CLASSES: Readonly<Record<string, string>> = {
  "+": "added",
  "-": "removed",
  "@": "muted",
};

const KNOWN_CODE = /^GV\d{3}$/;

/** How to read more in a terminal: pages open offline, so no link leads out of them. */
export function Explain({ code }: { code: string }) {
  if (!KNOWN_CODE.test(code)) return null;
  return (
    <p class="explain muted" data-testid="explain">
      With an example: <code dir="ltr">{`gradviz explain ${code}`}</code>
    </p>
  );
}

export function RelatedLines({ related }: { related: readonly RelatedPlace[] }) {
  if (related.length === 0) return null;
  return (
    <ul class="related" aria-label="Related lines" data-testid="related">
      {related.map(({ role, place }, position) => (
        <li key={position}>
          <span class="role">
            <Name text={role} />
          </span>
          <PlaceLink place={place} />
          <code dir="ltr" title={visibleCode(place.site.text.trim())}>
            {visibleCode(place.site.text.trim().split("\n")[0] ?? "")}
          </code>
        </li>
      ))}
    </ul>
  );
}

function InGraph({ details: { id, nodes } }: { details: FindingDetails }) {
  const store = useStore();
  if (nodes.length === 0) return null;
  const alike = new Map<string, number[]>();
  for (const { id: node, node: row } of nodes) {
    const title = nodeTitle(node, row);
    alike.set(title, [...(alike.get(title) ?? []), node]);
  }
  const rest = alike.size - NODES_SHOWN;
  return (
    <div class="in-graph">
      <button type="button" onClick={() => showFinding(store, id)}>
        <TargetIcon />
        Show in graph
      </button>
      <ul aria-label="Nodes">
        {[...alike].slice(0, NODES_SHOWN).map(([title, [first = 0, ...others]]) => (
          <li key={title}>
            <button type="button" class="link" onClick={() => goToNode(store, first)}>
              <Name text={title} />
            </button>
            {others.length > 0 && (
              <span class="muted">{` in ${formatCount(others.length + 1)} places`}</span>
            )}
          </li>
        ))}
        {rest > 0 && <li class="muted">{`and ${rest} other kinds`}</li>}
      </ul>
    </div>
  );
}

/** The storages, and the strip that shows who of the finding looks where. */
function Memory({ details: { tensors, storages } }: { details: FindingDetails }) {
  const snapshot = useStore().data.snapshot.value;
  const [chosen, setChosen] = useState<number | null>(null);
  if (snapshot === null || storages.length === 0) return null;
  return (
    <section class="memory" aria-label="Memory" data-testid="finding-memory">
      <StorageSection uses={storages} />
      {tensors.length > 0 && (
        <Boundary what="the memory layout" attempt={chosen}>
          <StrideSection
            snapshot={snapshot}
            choices={tensors}
            chosen={chosen}
            onChoose={setChosen}
            alsoShown={tensors.map(({ id }) => id)}
          />
        </Boundary>
      )}
    </section>
  );
}

export function FindingBody({ details }: { details: FindingDetails }) {
  const snapshot = useStore().data.snapshot.value;
  return (
    <div class="finding-body">
      {details.culprit !== null && (
        <SourceView place={details.culprit} context={CONTEXT_LINES} />
      )}
      <Fix text={details.finding.fix} />
      <FixDiff diff={details.finding.diff} safe={details.finding.safe} />
      <Story />
      <Explain code={details.finding.code} />
      <div class="in-graph">
        <Copy
          key={details.id}
          text={findingMarkdown(details, snapshot?.producer ?? "")}
          label="Copy as Markdown"
        />
      </div>
      <InGraph details={details} />
      <Memory details={details} />
    </div>
  );
}
