// Every parameter at one step: what reached it on an axis of fixed decades, or why nothing.
import type { LossTerm } from "../ir/types.js";
import { showFinding } from "../state/actions.js";
import { beyond, NORM_DECADES, shareOf, ticksOf, tickText } from "../state/decades.js";
import { type Flow, TROUBLE_WORDS, type Verdict } from "../state/flow.js";
import { courseOf, type FlowRow, flowRows } from "../state/flow-rows.js";
import { formatNumber, formatPercent } from "../state/format.js";
import { type TermPart, termParts } from "../state/term-shares.js";
import { visibleText } from "../state/visible-text.js";
import { useStore } from "./context.js";
import { LayerButton } from "./layer-button.js";
import { Sentence } from "./sentence.js";
import { Name, Tag } from "./text.js";

const SHORTEST = 1; // percent: the smallest norm is a bar too
const TICKS = ticksOf(NORM_DECADES, 4);
const COURSE = { points: 60, width: 72, height: 16 } as const;

export function FlowLayers({
  flow,
  step,
  verdicts,
}: {
  flow: Flow;
  step: number;
  verdicts: readonly Verdict[];
}) {
  const { data, derived } = useStore();
  const chosen = derived.flowLayer.value;
  const snapshot = data.snapshot.value;
  if (snapshot === null) return null;
  const hasCourse = flow.steps.length > 1;
  const terms = termParts(snapshot);
  const table = (
    <table class="flow-layers" data-testid="flow-layers">
      <caption class="unseen">{`Gradient norms at step ${flow.steps[step] ?? 0}`}</caption>
      <thead>
        <tr>
          <th scope="col">Parameter</th>
          <th scope="col" class="flow-axis-head">
            <span class="unseen">Norm of the gradient</span>
            <Axis />
          </th>
          <th scope="col" class="number">
            Norm
          </th>
          {flow.hasRatios && (
            <th scope="col" class="number" title="What a step changed of the parameter">
              Update / weight
            </th>
          )}
          {terms.size > 0 && (
            <th
              scope="col"
              class="flow-terms-head"
              title="Which terms of the loss it comes from"
            >
              By term
            </th>
          )}
          {hasCourse && (
            <th scope="col" class="flow-course-cell">
              Over steps
            </th>
          )}
        </tr>
      </thead>
      <tbody>
        {flowRows(snapshot, flow, step, verdicts).map((row) => (
          <tr
            key={row.layer}
            class={row.why === "" ? "" : "bare"}
            aria-selected={row.layer === chosen}
          >
            <th scope="row">
              <LayerButton row={row.layer} name={row.name} />
            </th>
            {row.why === "" ? <Norm row={row} /> : <Why row={row} />}
            {flow.hasRatios && <Ratio row={row} />}
            {terms.size > 0 && <Terms parts={terms.get(row.layer) ?? []} />}
            {hasCourse && (
              <td class="flow-course-cell">
                <Course values={courseOf(flow, row.layer, COURSE.points)} />
              </td>
            )}
          </tr>
        ))}
      </tbody>
    </table>
  );
  return (
    <>
      {terms.size > 0 && <TermLegend terms={snapshot.loss_terms} />}
      {table}
    </>
  );
}

function Axis() {
  return (
    <span class="flow-axis" aria-hidden="true">
      {TICKS.map((power) => (
        <span
          key={power}
          style={{ left: `${100 * shareOf(NORM_DECADES, 10 ** power)}%` }}
        >
          {tickText(power)}
        </span>
      ))}
    </span>
  );
}

function Norm({ row: { norm, verdict } }: { row: FlowRow }) {
  const share = Math.max(SHORTEST, 100 * shareOf(NORM_DECADES, norm ?? 0));
  const isBad = verdict !== "";
  const past = norm === null || norm <= 0 ? "" : beyond(NORM_DECADES, norm);
  return (
    <>
      <td>
        <span class={`flow-track ${past}`} aria-hidden="true">
          {norm !== null && norm > 0 && (
            <span
              class={isBad ? "flow-bar bad" : "flow-bar"}
              style={{ width: `${share}%` }}
            />
          )}
        </span>
        {verdict !== "" && <Tag tone="bad">{TROUBLE_WORDS[verdict]}</Tag>}
      </td>
      <td class="number">{formatNumber(norm)}</td>
    </>
  );
}

function Why({ row: { why, finding, verdict } }: { row: FlowRow }) {
  const store = useStore();
  return (
    <td colSpan={2} class="flow-why">
      <span class={verdict === "" ? "muted" : "bad"}>
        {verdict === "" ? "" : "✕ no gradient: "}
        {finding === null ? (
          <Sentence text={why} />
        ) : (
          <button
            type="button"
            class="link"
            onClick={() => showFinding(store, finding)}
          >
            {visibleText(why)}
          </button>
        )}
      </span>
    </td>
  );
}

function Ratio({ row: { ratio } }: { row: FlowRow }) {
  if (ratio === null) return <td class="number muted">–</td>;
  return (
    <td class="number" title={`Measured at step ${ratio.step}`}>
      {formatNumber(Number(ratio.value.toPrecision(2)))}
    </td>
  );
}

/** A bar of what each term gave; where that is not told, the terms alone. */
function Terms({ parts }: { parts: readonly TermPart[] }) {
  const isTold = parts.every(({ share }) => share !== null);
  const words = parts.map(({ name, share }) =>
    isTold ? `${name} ${formatPercent(share ?? 0, 1)}` : name,
  );
  const said = visibleText(words.join(isTold ? ", " : " + "));
  return (
    <td class="flow-terms" title={isTold ? said : `${said}. ${UNTOLD}`}>
      <span class={isTold ? "flow-term-bar" : "flow-term-dots"} aria-hidden="true">
        {parts.map(({ term, share }) => (
          <i
            key={term}
            class={`term-${term % TERM_COLOURS}`}
            style={isTold ? { width: `${100 * (share ?? 0)}%` } : {}}
          />
        ))}
      </span>
      <span class="unseen">{said}</span>
    </td>
  );
}

/** Which colour is which term. */
function TermLegend({ terms }: { terms: readonly LossTerm[] }) {
  return (
    <ul class="flow-term-legend" aria-label="Terms of the loss">
      {terms.map(({ name }, term) => (
        <li key={term}>
          <i class={`term-${term % TERM_COLOURS}`} />
          <Name text={name} />
        </li>
      ))}
    </ul>
  );
}

const TERM_COLOURS = 6;
const UNTOLD = "How much each of them gives is not told apart here";

/** A line over the steps, on a scale of its own of at least two decades. */
function Course({ values }: { values: readonly (number | null)[] }) {
  const logs = values.map((each) =>
    each !== null && each > 0 ? Math.log10(each) : null,
  );
  const known = logs.filter((each) => each !== null);
  if (known.length < 2) return <span class="muted">–</span>;
  const [low, high] = [Math.min(...known), Math.max(...known)];
  const span = Math.max(2, high - low);
  const middle = (low + high) / 2;
  const { width, height } = COURSE;
  const x = (at: number) => (at * width) / (logs.length - 1);
  const y = (log: number) => height / 2 - ((log - middle) / span) * (height - 3);
  let pen = "M";
  const path = logs
    .map((log, at) => {
      const piece =
        log === null ? "" : `${pen}${x(at).toFixed(1)} ${y(log).toFixed(1)}`;
      pen = log === null ? "M" : "L";
      return piece;
    })
    .join("");
  const words = `between ${formatNumber(10 ** low)} and ${formatNumber(10 ** high)}`;
  return (
    <svg class="flow-course" viewBox={`0 0 ${width} ${height}`} role="img">
      <title>{words}</title>
      <path d={path} />
    </svg>
  );
}
