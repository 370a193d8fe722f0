// The card of a module: what it is, what it holds and costs, what gradient passed it.
import type { Snapshot } from "../ir/types.js";
import { goToNode, showFinding, toggleScope } from "../state/actions.js";
import {
  formatBytes,
  formatCount,
  formatLarge,
  formatNanoseconds,
  formatNumber,
  formatPlural,
  formatTuple,
} from "../state/format.js";
import type { ModuleDetails, ModuleParameter } from "../state/module.js";
import { answerOfModule } from "../state/why.js";
import { useStore } from "./context.js";
import { SeverityWord } from "./severity.js";
import { PlaceText } from "./source-view.js";
import { type Fact, Facts, Name, Section } from "./text.js";
import { WhyLine } from "./why.js";

const SHOWN = 40;

function factsOf(details: ModuleDetails): Fact[] {
  const { parameters, elements, parameterBytes, savedBytes, elapsedNs } = details;
  const facts: Fact[] = [
    { label: "Nodes", value: formatCount(details.nodes) },
    {
      label: "Parameters",
      value:
        parameters.length === 0
          ? "none"
          : `${formatCount(elements)} in ${parameters.length}, ${formatBytes(parameterBytes)}`,
    },
    { label: "Kept for backward", value: formatBytes(savedBytes) },
    { label: "Gradient in", value: formatNumber(details.gradientIn) },
    { label: "Gradient out", value: formatNumber(details.gradientOut) },
    {
      label: "First line",
      value: details.place === null ? "–" : <PlaceText place={details.place} />,
    },
  ];
  if (elapsedNs !== null)
    facts.push({ label: "Backward time", value: formatNanoseconds(elapsedNs) });
  if (details.flops !== null)
    facts.push({ label: "Forward FLOPs", value: formatLarge(details.flops) });
  if (details.nans + details.infs > 0) {
    facts.push({
      label: "Not finite",
      value: `${formatCount(details.nans)} NaN, ${formatCount(details.infs)} Inf`,
      bad: true,
    });
  }
  return facts;
}

function Parameters({ rows }: { rows: readonly ModuleParameter[] }) {
  const store = useStore();
  return (
    <table class="data">
      <thead>
        <tr>
          <th scope="col">Name</th>
          <th scope="col">Shape</th>
          <th scope="col">Gradient norm</th>
        </tr>
      </thead>
      <tbody>
        {rows.slice(0, SHOWN).map(({ id, name, shape, norm }) => (
          <tr key={id}>
            <th scope="row">
              <button type="button" class="link" onClick={() => goToNode(store, id)}>
                <Name text={name} />
              </button>
            </th>
            <td class="code">{formatTuple(shape)}</td>
            <td class="number">{formatNumber(norm)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

export function ModuleInspector({
  snapshot,
  details,
}: {
  snapshot: Snapshot;
  details: ModuleDetails;
}) {
  const store = useStore();
  const { id, name, kind, path, parameters, findings } = details;
  const isClosed = store.ui.collapsed.value.has(id);
  return (
    <article class="node" data-testid="module-card">
      <header class="node-head">
        <h2>
          <Name text={name || kind} />
          {kind !== "" && kind !== name && (
            <small>
              {" "}
              <Name text={kind} />
            </small>
          )}
        </h2>
        <p class="tags">
          <span class="muted">
            <Name text={path} />
          </span>
          <button type="button" onClick={() => toggleScope(store, id)}>
            {isClosed ? "Unfold" : "Fold"}
          </button>
        </p>
      </header>
      {findings.length > 0 && (
        <ul class="node-findings" aria-label="Findings here">
          {findings.map((row) => {
            const finding = snapshot.findings[row];
            if (finding === undefined) return null;
            return (
              <li key={row}>
                <SeverityWord severity={finding.severity} />
                <button
                  type="button"
                  class="link"
                  onClick={() => showFinding(store, row)}
                >
                  <Name text={`${finding.code} ${finding.slug}`} />
                </button>
              </li>
            );
          })}
        </ul>
      )}
      <WhyLine asked={answerOfModule(snapshot, path)} />
      <div class="module-facts">
        <Facts facts={factsOf(details)} testId="module-facts" />
      </div>
      {parameters.length > 0 && (
        <Section title="Parameters" note={formatPlural(parameters.length, "tensor")}>
          <Parameters rows={parameters} />
        </Section>
      )}
    </article>
  );
}
