// The tab of the gradient flow: how gradients change from layer to layer and step to step.
import { seriesColour } from "../render/flow-colours.js";
import { showFinding } from "../state/actions.js";
import {
  pickLayer,
  setFlowRank,
  setFlowStep,
  setFlowView,
} from "../state/actions-flow.js";
import { type Decades, NORM_DECADES, RATIO_DECADES } from "../state/decades.js";
import {
  type Flow,
  judge,
  TROUBLE_WORDS,
  TROUBLES,
  type Verdict,
} from "../state/flow.js";
import { gradientFindings, lookedAt } from "../state/flow-rows.js";
import { formatPlural } from "../state/format.js";
import type { FlowView } from "../state/ui.js";
import { visibleText } from "../state/visible-text.js";
import { useStore } from "./context.js";
import { type ChartLine, FlowChart } from "./flow-chart.js";
import { FlowHeat } from "./flow-heat.js";
import { FlowLayers } from "./flow-layers.js";
import { FlowRanks } from "./flow-ranks.js";
import { Histogram } from "./histogram.js";
import { Sentence } from "./sentence.js";
import { SeverityWord } from "./severity.js";
import { Empty, Name } from "./text.js";

const VIEWS: readonly (readonly [view: FlowView, title: string])[] = [
  ["layers", "Layers"],
  ["steps", "Over steps"],
  ["heat", "Heat map"],
  ["ratio", "Update ratio"],
  ["histograms", "Histograms"],
];

const MOST_LINES = 60; // more of them are one grey mass
const MOST_HISTOGRAMS = 24;
const NAMED = 3;
/** What an update should be of the weights that it changes, by a rule of thumb. */
const GUIDE = { at: 1e-3, words: "0.001: a usual share" };

export function FlowPane() {
  const { derived } = useStore();
  const flow = derived.flow.value;
  if (flow === null) return <Empty>No gradient was recorded.</Empty>;
  const step = derived.flowStep.value;
  const verdicts = judge(flow, step);
  return (
    <div class="flow">
      <FlowRanks flow={flow} />
      <Summary flow={flow} step={step} verdicts={verdicts} />
      <Views />
      <Content flow={flow} step={step} verdicts={verdicts} />
    </div>
  );
}

interface Parts {
  readonly flow: Flow;
  readonly step: number;
  readonly verdicts: readonly Verdict[];
}

function Summary({ flow, step, verdicts }: Parts) {
  const store = useStore();
  const { layers, steps, rank, ranks } = flow;
  const failed = flow.failed[step] ?? null;
  const kinds = TROUBLES.flatMap((kind) => {
    const rows = layers.flatMap((_, row) => (verdicts[row] === kind ? [row] : []));
    return rows.length === 0 ? [] : [{ kind, rows }];
  });
  return (
    <div class="flow-summary">
      <p data-testid="flow-counts">
        {`${formatPlural(layers.length, "parameter")}, ${formatPlural(steps.length, "step")}.`}
      </p>
      {ranks.length > 1 && (
        <select
          value={rank ?? 0}
          aria-label="Process"
          onChange={(event) => setFlowRank(store, Number(event.currentTarget.value))}
        >
          {ranks.map((each) => (
            <option key={each} value={each}>
              {`process ${each}`}
            </option>
          ))}
        </select>
      )}
      {steps.length > 1 && (
        <label>
          <span class="muted">Step</span>
          <input
            type="range"
            min={0}
            max={steps.length - 1}
            value={step}
            aria-valuetext={`Step ${steps[step] ?? 0}`}
            onInput={(event) => setFlowStep(store, Number(event.currentTarget.value))}
          />
          <span class="number" data-testid="flow-step">
            {steps[step] ?? 0}
          </span>
        </label>
      )}
      <Said flow={flow} step={step} isQuiet={failed === null && kinds.length === 0} />
      <ul class="flow-troubles" data-testid="flow-troubles">
        {failed !== null && (
          <li class="bad">
            {`This backward pass failed half way: it reached ${failed.reached} of ` +
              `${formatPlural(failed.count, "parameter")}.`}
          </li>
        )}
        {kinds.map(({ kind, rows }) => (
          <li key={kind}>
            <b class="bad">{`${rows.length} ${TROUBLE_WORDS[kind]}: `}</b>
            {rows.slice(0, NAMED).map((row, at) => (
              <span key={row}>
                {at > 0 && ", "}
                <button
                  type="button"
                  class="link"
                  onClick={() => pickLayer(store, row)}
                >
                  <Name text={layers[row]?.name ?? ""} />
                </button>
              </span>
            ))}
            {rows.length > NAMED && ` and ${rows.length - NAMED} more`}
          </li>
        ))}
      </ul>
    </div>
  );
}

/** The first finding about gradients; without one, what was looked at. */
function Said({ flow, step, isQuiet }: { flow: Flow; step: number; isQuiet: boolean }) {
  const snapshot = useStore().data.snapshot.value;
  const [first, ...others] = snapshot === null ? [] : gradientFindings(snapshot);
  const finding = snapshot?.findings[first ?? -1];
  if (first === undefined || finding === undefined) {
    if (!isQuiet) return null;
    return (
      <p class="flow-said" data-testid="flow-verdict">
        {lookedAt(flow, step)}
      </p>
    );
  }
  return (
    <p class="flow-said" data-testid="flow-verdict">
      <SeverityWord severity={finding.severity} /> <FindingLink id={first} />{" "}
      <Sentence text={finding.message} />
      {others.length > 0 && " Also: "}
      {others.map((id, at) => (
        <span key={id}>
          {at > 0 && ", "}
          <FindingLink id={id} />
        </span>
      ))}
    </p>
  );
}

function FindingLink({ id }: { id: number }) {
  const store = useStore();
  const { code = "", slug = "" } = store.data.snapshot.value?.findings[id] ?? {};
  return (
    <button type="button" class="link" onClick={() => showFinding(store, id)}>
      {visibleText(`${code} ${slug}`)}
    </button>
  );
}

function Views() {
  const store = useStore();
  const shown = store.ui.flowView.value;
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset is for forms
    <div class="group flow-views" role="group" aria-label="What to show">
      {VIEWS.map(([view, title]) => (
        <button
          key={view}
          type="button"
          aria-pressed={view === shown}
          onClick={() => setFlowView(store, view)}
        >
          {title}
        </button>
      ))}
    </div>
  );
}

function Content({ flow, step, verdicts }: Parts) {
  const { ui } = useStore();
  switch (ui.flowView.value) {
    case "layers":
      return <FlowLayers flow={flow} step={step} verdicts={verdicts} />;
    case "steps":
      return (
        <Lines
          flow={flow}
          verdicts={verdicts}
          values={flow.norms}
          what="norm"
          decades={NORM_DECADES}
        />
      );
    case "heat":
      return <FlowHeat flow={flow} />;
    case "ratio":
      return <Ratios flow={flow} verdicts={verdicts} />;
    case "histograms":
      return <Histograms flow={flow} />;
  }
}

function Ratios({ flow, verdicts }: { flow: Flow; verdicts: readonly Verdict[] }) {
  if (flow.hasRatios) {
    return (
      <Lines
        flow={flow}
        verdicts={verdicts}
        values={flow.ratios}
        what="update-to-weight ratio"
        guide={GUIDE}
        decades={RATIO_DECADES}
      />
    );
  }
  return (
    <Empty>
      What an optimizer changed was not measured here: no step of one was seen with its
      values. A recording measures some of the steps that it looks at in full, and
      gradviz.watch(model, optimizer) those of a long training.
    </Empty>
  );
}

interface LinesProps {
  readonly flow: Flow;
  readonly verdicts: readonly Verdict[];
  readonly values: Float64Array;
  readonly what: string;
  readonly decades: Decades;
  readonly guide?: typeof GUIDE;
}

function Lines({ flow, verdicts, values, what, decades, guide }: LinesProps) {
  const store = useStore();
  const chosen = store.derived.flowLayer.value;
  const theme = store.derived.theme.value;
  const rows = drawn(flow, verdicts, chosen);
  const count = flow.steps.length;
  const lines = rows.map((row): ChartLine => {
    const column = values.subarray(row * count, (row + 1) * count);
    return {
      key: row,
      name: visibleText(flow.layers[row]?.name ?? ""),
      values: Array.from(column, (value) => (Number.isNaN(value) ? null : value)),
      colour: seriesColour(theme, row / Math.max(1, flow.layers.length - 1)),
    };
  });
  const left = flow.layers.length - rows.length;
  const label =
    `${formatPlural(rows.length, "line")}, the ${what} of each parameter over ` +
    `${formatPlural(count, "step")}; Layers shows the same as a table.`;
  return (
    <>
      <FlowChart
        steps={flow.steps}
        lines={lines}
        chosen={chosen}
        label={label}
        decades={decades}
        onPick={(row) => pickLayer(store, row)}
        {...(guide !== undefined && { guide, spanGaps: true })}
      />
      {left > 0 && (
        <p class="muted">{`${formatPlural(left, "layer")} in between are not drawn.`}</p>
      )}
    </>
  );
}

/** Which layers are drawn: all, or those in trouble, the chosen one, and some between. */
function drawn(flow: Flow, verdicts: readonly Verdict[], chosen: number | null) {
  const all = flow.layers.map((_, row) => row);
  if (all.length <= MOST_LINES) return all;
  const every = Math.ceil(all.length / (MOST_LINES / 2));
  const urgent = all.filter((row) => row === chosen || verdicts[row] !== "");
  const kept = new Set([
    ...urgent.slice(0, MOST_LINES / 2),
    ...all.filter((row) => row % every === 0),
  ]);
  return all.filter((row) => kept.has(row));
}

function Histograms({ flow }: { flow: Flow }) {
  const chosen = useStore().derived.flowLayer.value;
  const rows = flow.layers.flatMap((_, row) => (flow.histograms[row] ? [row] : []));
  rows.sort((a, b) => Number(b === chosen) - Number(a === chosen));
  if (rows.length === 0) {
    return <Empty>No histogram was taken of these gradients.</Empty>;
  }
  return (
    <div class="flow-histograms">
      {rows.slice(0, MOST_HISTOGRAMS).map((row) => {
        const found = flow.histograms[row];
        return (
          found && (
            <section key={row} aria-label={visibleText(flow.layers[row]?.name ?? "")}>
              <h3>
                <Name text={flow.layers[row]?.name ?? ""} />
                <span class="muted">{` step ${found.step}`}</span>
              </h3>
              <Histogram statistics={found.statistics} />
            </section>
          )
        );
      })}
      {rows.length > MOST_HISTOGRAMS && (
        <p class="muted">
          {`${rows.length - MOST_HISTOGRAMS} more: choose a layer to see its own.`}
        </p>
      )}
    </div>
  );
}
