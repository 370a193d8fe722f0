// A histogram of 32 bins as SVG, with its axes labelled.
import { useState } from "preact/hooks";
import type { Statistics } from "../ir/types.js";
import { formatCount, formatNumber } from "../state/format.js";

const WIDTH = 320;
const HEIGHT = 96;
const LEFT = 40; // room for the largest count
const BOTTOM = 16; // room for the labels below
const TOP = 6;

interface Bar {
  readonly x: number;
  readonly width: number;
  readonly height: number;
  readonly title: string;
}

function barsOf(
  statistics: Statistics,
  low: number,
  high: number,
  log: boolean,
): Bar[] {
  const bins = statistics.histogram;
  const scale = (count: number) => (log ? Math.log1p(count) : count);
  const most = Math.max(1, ...bins);
  const step = (WIDTH - LEFT) / bins.length;
  const edge = (bin: number) => low + ((high - low) * bin) / bins.length;
  return bins.map((count, bin) => ({
    x: LEFT + bin * step,
    width: step - 1,
    // A bin with one value among a million must still be seen.
    height:
      count === 0
        ? 0
        : Math.max(1.5, (scale(count) / scale(most)) * (HEIGHT - TOP - BOTTOM)),
    title: `${formatNumber(edge(bin))} to ${formatNumber(edge(bin + 1))}: ${formatCount(count)}`,
  }));
}

/** What the picture says, for those who do not see it. */
function sentence(statistics: Statistics, low: number, high: number): string {
  const bins = statistics.histogram;
  const total = bins.reduce((sum, count) => sum + count, 0);
  const peak = bins.indexOf(Math.max(...bins));
  const edge = (bin: number) => formatNumber(low + ((high - low) * bin) / bins.length);
  return (
    `Histogram of ${formatCount(total)} finite values from ${formatNumber(low)} to ` +
    `${formatNumber(high)}; most lie between ${edge(peak)} and ${edge(peak + 1)}.`
  );
}

function Axes({ low, high, most }: { low: number; high: number; most: number }) {
  const base = HEIGHT - BOTTOM;
  const zero = LEFT + ((WIDTH - LEFT) * (0 - low)) / (high - low);
  // A label of zero in the middle would run into those at the ends when close to them.
  const labelZero = zero > LEFT + 50 && zero < WIDTH - 50;
  return (
    <g class="axes">
      <line x1={LEFT} x2={WIDTH} y1={base + 0.5} y2={base + 0.5} />
      {zero > LEFT && zero < WIDTH && (
        <line class="zero" x1={zero} x2={zero} y1={TOP} y2={base + 3} />
      )}
      <text x={LEFT - 4} y={TOP + 8} text-anchor="end">
        {formatCount(most)}
      </text>
      <text x={LEFT - 4} y={base} text-anchor="end">
        0
      </text>
      <text x={LEFT} y={HEIGHT - 3}>
        {formatNumber(low)}
      </text>
      {labelZero && (
        <text x={zero} y={HEIGHT - 3} text-anchor="middle">
          0
        </text>
      )}
      <text x={WIDTH} y={HEIGHT - 3} text-anchor="end">
        {formatNumber(high)}
      </text>
    </g>
  );
}

export function Histogram({ statistics }: { statistics: Statistics }) {
  const [log, setLog] = useState(false);
  const { histogram, histogram_low: low, histogram_high: high } = statistics;
  if (histogram.length === 0 || low === null || high === null) return null;
  const bars = barsOf(statistics, low, high, log);
  return (
    <figure class="histogram">
      <svg
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        role="img"
        aria-label={sentence(statistics, low, high)}
        data-testid="histogram"
      >
        {bars.map((bar) => (
          <rect
            key={bar.x}
            class="bar"
            x={bar.x}
            y={HEIGHT - BOTTOM - bar.height}
            width={bar.width}
            height={bar.height}
          >
            <title>{bar.title}</title>
          </rect>
        ))}
        <Axes low={low} high={high} most={Math.max(...histogram)} />
      </svg>
      <figcaption>
        <label>
          <input
            type="checkbox"
            checked={log}
            onChange={(event) => setLog(event.currentTarget.checked)}
          />
          Logarithmic heights
        </label>
      </figcaption>
    </figure>
  );
}
