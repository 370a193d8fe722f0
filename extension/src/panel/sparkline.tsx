// A line of gradient norms over steps, small enough for the inspector.
import { formatNumber } from "../state/format.js";
import type { SeriesPoint } from "../state/gradient-series.js";

const WIDTH = 320;
const HEIGHT = 56;
const LEFT = 46; // room for the numbers
const PAD = 7;
const LOG_FROM = 10; // times between smallest and largest
const DOTS = 40; // more points are a line alone

interface Scale {
  readonly x: (at: number) => number;
  readonly y: (norm: number) => number;
  readonly low: number;
  readonly high: number;
  readonly isLog: boolean;
}

function scaleOf(points: readonly SeriesPoint[]): Scale | null {
  const norms = points.flatMap(({ norm }) =>
    norm !== null && Number.isFinite(norm) ? [norm] : [],
  );
  if (norms.length === 0) return null;
  const low = norms.reduce((least, norm) => Math.min(least, norm), Infinity);
  const high = norms.reduce((most, norm) => Math.max(most, norm), 0);
  const isLog = low > 0 && high / low >= LOG_FROM;
  const value = (norm: number) => (isLog ? Math.log(norm) : norm);
  const span = value(high) - value(low) || 1;
  const step = (WIDTH - LEFT - PAD) / Math.max(1, points.length - 1);
  return {
    x: (at) => LEFT + at * step,
    y: (norm) =>
      high === low
        ? HEIGHT / 2
        : PAD + (HEIGHT - 2 * PAD) * (1 - (value(norm) - value(low)) / span),
    low,
    high,
    isLog,
  };
}

/** The line, broken where no gradient arrived. */
function pathOf(points: readonly SeriesPoint[], { x, y }: Scale): string {
  let pen = "M";
  return points
    .flatMap(({ norm }, at) => {
      if (norm === null || !Number.isFinite(norm)) {
        pen = "M";
        return [];
      }
      const piece = `${pen}${x(at).toFixed(1)} ${y(norm).toFixed(1)}`;
      pen = "L";
      return [piece];
    })
    .join("");
}

function sentence(points: readonly SeriesPoint[], { low, high }: Scale): string {
  const [first, last] = [points[0], points.at(-1)];
  const bad = points.filter((point) => point.bad).length;
  return (
    `Norm of the gradient from ${first?.label} (${formatNumber(first?.norm)}) to ` +
    `${last?.label} (${formatNumber(last?.norm)}), between ${formatNumber(low)} and ` +
    `${formatNumber(high)}${bad > 0 ? `; NaN or Inf in ${bad} of ${points.length}` : ""}.`
  );
}

function Point({ point, at, scale }: { point: SeriesPoint; at: number; scale: Scale }) {
  const { norm, bad, label } = point;
  const finite = norm !== null && Number.isFinite(norm);
  const [x, y] = [scale.x(at), finite ? scale.y(norm) : HEIGHT - PAD];
  const title = `${label}: ${norm === null ? "no gradient" : formatNumber(norm)}${bad ? ", with NaN or Inf" : ""}`;
  if (bad) {
    return (
      <path class="bad" d={`M${x - 3.5} ${y - 3.5}l7 7m0 -7l-7 7`}>
        <title>{title}</title>
      </path>
    );
  }
  if (!finite) return null;
  return (
    <circle cx={x} cy={y} r={2.6}>
      <title>{title}</title>
    </circle>
  );
}

export function Sparkline({ points }: { points: readonly SeriesPoint[] }) {
  const scale = scaleOf(points);
  if (points.length < 2 || scale === null) return null;
  const { low, high, isLog } = scale;
  return (
    <figure class="sparkline">
      <svg
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        role="img"
        aria-label={sentence(points, scale)}
        data-testid="sparkline"
      >
        <text
          class="spark-label"
          x={LEFT - 6}
          y={high === low ? HEIGHT / 2 + 3 : PAD + 3}
          text-anchor="end"
        >
          {formatNumber(high)}
        </text>
        {high !== low && (
          <text class="spark-label" x={LEFT - 6} y={HEIGHT - PAD + 3} text-anchor="end">
            {formatNumber(low)}
          </text>
        )}
        <path class="line" d={pathOf(points, scale)} />
        {points.map((point, at) =>
          point.bad || points.length <= DOTS ? (
            <Point key={at} point={point} at={at} scale={scale} />
          ) : null,
        )}
      </svg>
      <figcaption class="muted">
        {`Norm, ${points[0]?.label} to ${points.at(-1)?.label}${isLog ? ", logarithmic" : ""}`}
      </figcaption>
    </figure>
  );
}
