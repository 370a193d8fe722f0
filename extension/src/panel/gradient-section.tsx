// The gradients at a node: pick one, read its numbers, see its histogram.
import { useState } from "preact/hooks";
import type { Statistics } from "../ir/types.js";
import {
  formatCount,
  formatNumber,
  formatPercent,
  formatTuple,
} from "../state/format.js";
import type { SeriesPoint } from "../state/gradient-series.js";
import type { GradientUse } from "../state/inspect.js";
import { Histogram } from "./histogram.js";
import { Sparkline } from "./sparkline.js";
import { Empty, type Fact, Facts } from "./text.js";
import { ThumbnailView } from "./thumbnail.js";

function factsOf(statistics: Statistics): Fact[] {
  const { count, zeros, nans, infs, first_bad } = statistics;
  const facts: Fact[] = [
    { label: "Norm", value: formatNumber(statistics.norm), title: "L2 norm" },
    { label: "Min", value: formatNumber(statistics.minimum) },
    { label: "Max", value: formatNumber(statistics.maximum) },
    { label: "Mean", value: formatNumber(statistics.mean) },
    { label: "Std", value: formatNumber(statistics.std) },
    {
      label: "Zeros",
      value: formatPercent(zeros, count),
      title: `${formatCount(zeros)} of ${formatCount(count)} values`,
    },
    { label: "NaN", value: formatCount(nans), bad: nans > 0 },
    { label: "Inf", value: formatCount(infs), bad: infs > 0 },
    { label: "Count", value: formatCount(count) },
  ];
  if (first_bad !== null) {
    facts.push({ label: "First bad index", value: formatTuple(first_bad), bad: true });
  }
  return facts;
}

export function StatisticsView({ statistics }: { statistics: Statistics }) {
  const { count, nans, infs } = statistics;
  return (
    <>
      <Facts facts={factsOf(statistics)} testId="gradient-facts" />
      <ThumbnailView statistics={statistics} title="gradient" />
      {statistics.histogram.length > 0 ? (
        <Histogram statistics={statistics} />
      ) : (
        <Empty>
          {count === 0
            ? "The gradient has no elements."
            : nans + infs >= count
              ? "No value is finite, so there is no histogram."
              : "No histogram was recorded."}
        </Empty>
      )}
    </>
  );
}

function optionText({ incoming, label }: GradientUse): string {
  return `${incoming ? "received" : "sent back"}: ${label}`;
}

export function GradientSection({
  gradients,
  series,
}: {
  gradients: readonly GradientUse[];
  /** The norm of what was received, over the recorded steps. */
  series: readonly SeriesPoint[];
}) {
  const [chosen, setChosen] = useState(0);
  const gradient = gradients[chosen] ?? gradients[0];
  if (gradient === undefined) {
    return (
      <Empty>
        No gradient was recorded here: backward() has not run through this node.
      </Empty>
    );
  }
  return (
    <div data-testid="gradient">
      {gradients.length === 1 ? (
        <p class="muted">{optionText(gradient)}</p>
      ) : (
        <label class="pick">
          <span>Gradient</span>
          <select
            value={String(chosen)}
            data-testid="gradient-pick"
            onChange={(event) => setChosen(Number(event.currentTarget.value))}
          >
            {gradients.map((use, position) => (
              <option key={optionText(use)} value={String(position)}>
                {optionText(use)}
              </option>
            ))}
          </select>
        </label>
      )}
      <StatisticsView statistics={gradient.statistics} />
      <Sparkline points={series} />
    </div>
  );
}
