// Lines over the steps of a training, one per layer, on a logarithmic scale.
import { useEffect, useRef, useState } from "preact/hooks";
import type uPlot from "uplot";
import { type Decades, ticksOf, tickText } from "../state/decades.js";
import { formatNumber } from "../state/format.js";
import { visibleText } from "../state/visible-text.js";
import { useStore } from "./context.js";

export interface ChartLine {
  /** What onPick is told. */
  readonly key: number;
  readonly name: string;
  readonly values: readonly (number | null)[];
  readonly colour: string;
}

export interface FlowChartProps {
  readonly steps: readonly number[];
  readonly lines: readonly ChartLine[];
  readonly chosen: number | null;
  /** Not every step was measured: lines go on over those between. */
  readonly spanGaps?: boolean;
  /** The axis: fixed, whatever the numbers. */
  readonly decades: Decades;
  /** A horizontal line, with its words. */
  readonly guide?: { readonly at: number; readonly words: string };
  /** What the picture says, for those who do not see it. */
  readonly label: string;
  readonly onPick: (key: number) => void;
}

const HEIGHT = 250;
const NEAR = 24; // CSS pixels from a line
/** Distances of ticks between steps: there is no step 0.2. */
const WHOLE = [1, 2, 5]
  .flatMap((each) => Array.from({ length: 9 }, (_, power) => each * 10 ** power))
  .sort((a, b) => a - b);

/** The colours of the page that the canvas needs as words. */
function coloursOf(element: HTMLElement) {
  const style = getComputedStyle(element);
  const of = (name: string) => style.getPropertyValue(name).trim();
  return { text: of("--muted"), line: of("--line"), accent: of("--accent") };
}

function optionsOf(
  element: HTMLElement,
  props: FlowChartProps,
  hear: (line: number | null, step: number | null) => void,
): uPlot.Options {
  const { text, line, accent } = coloursOf(element);
  const axis = {
    stroke: text,
    grid: { stroke: line, width: 1 },
    ticks: { show: false },
  };
  const font = "11px system-ui, sans-serif";
  return {
    width: Math.max(200, element.clientWidth),
    height: HEIGHT,
    legend: { show: false },
    cursor: { focus: { prox: NEAR }, points: { size: 7 }, drag: { setScale: false } },
    focus: { alpha: 0.25 },
    scales: {
      x: { time: false },
      y: { distr: 3, range: [10 ** props.decades.from, 10 ** props.decades.to] },
    },
    axes: [
      { ...axis, font, size: 28, incrs: WHOLE },
      {
        ...axis,
        font,
        size: 52,
        splits: () => ticksOf(props.decades, 2).map((power) => 10 ** power),
        filter: (_, splits) => splits, // ours are few: all of them get words
        values: (_, splits) => splits.map((at) => tickText(Math.round(Math.log10(at)))),
      },
    ],
    series: [
      {},
      ...props.lines.map(({ name, colour, key }) => ({
        label: name,
        stroke: key === props.chosen ? accent : colour,
        width: key === props.chosen ? 3 : 1.25,
        spanGaps: props.spanGaps ?? false,
        points: { show: props.steps.length < 3, size: 6 },
      })),
    ],
    hooks: {
      setSeries: [(chart, line) => hear(line ?? null, chart.cursor.idx ?? null)],
      setCursor: [
        ({ cursor }) => {
          if ((cursor.left ?? -1) < 0) hear(null, null);
        },
      ],
      draw: [(chart) => drawGuide(chart, props.guide, text)],
    },
  };
}

function drawGuide(chart: uPlot, guide: FlowChartProps["guide"], colour: string): void {
  if (guide === undefined) return;
  const { ctx, bbox } = chart;
  const y = chart.valToPos(guide.at, "y", true);
  if (!(y >= bbox.top && y <= bbox.top + bbox.height)) return;
  ctx.save();
  ctx.strokeStyle = colour;
  ctx.fillStyle = colour;
  ctx.setLineDash([6 * devicePixelRatio, 4 * devicePixelRatio]);
  ctx.lineWidth = 1.5 * devicePixelRatio;
  ctx.beginPath();
  ctx.moveTo(bbox.left, y);
  ctx.lineTo(bbox.left + bbox.width, y);
  ctx.stroke();
  ctx.font = `${11 * devicePixelRatio}px system-ui, sans-serif`;
  ctx.textAlign = "right";
  ctx.fillText(
    guide.words,
    bbox.left + bbox.width - 4 * devicePixelRatio,
    y - 5 * devicePixelRatio,
  );
  ctx.restore();
}

/** A logarithmic scale needs positive numbers; what is beyond its ends lies on them. */
function dataOf({ steps, lines, decades }: FlowChartProps): uPlot.AlignedData {
  const [low, high] = [10 ** decades.from, 10 ** decades.to];
  const columns = lines.map(({ values }) =>
    values.map((value) =>
      value !== null && value > 0 ? Math.min(high, Math.max(low, value)) : null,
    ),
  );
  return [[...steps], ...columns];
}

export function FlowChart(props: FlowChartProps) {
  const { derived } = useStore();
  const host = useRef<HTMLDivElement>(null);
  const chart = useRef<uPlot | null>(null);
  const latest = useRef(props);
  latest.current = props;
  const near = useRef<number | null>(null);
  const [said, say] = useState("");
  const shape = [
    derived.theme.value,
    props.chosen,
    props.guide?.at,
    props.steps.length < 3,
    ...props.lines.map(({ key, colour }) => `${key}${colour}`),
  ].join(" ");
  useEffect(() => {
    const element = host.current;
    if (element === null) return;
    const hear = (line: number | null, step: number | null) => {
      const { lines, steps } = latest.current;
      const found = line === null ? undefined : lines[line - 1];
      near.current = found?.key ?? null;
      const value = step === null ? null : found?.values[step];
      const words = `${found?.name ?? ""}: ${formatNumber(value)} at step ${steps[step ?? 0] ?? 0}`;
      say(found === undefined || value == null ? "" : words);
    };
    const lifetime = new AbortController();
    // Part of the bundle, and run only where someone opens a chart.
    void import("uplot").then(({ default: Chart }) => {
      if (lifetime.signal.aborted) return;
      const options = optionsOf(element, latest.current, hear);
      const made = new Chart(options, dataOf(latest.current), element);
      chart.current = made;
      const observer = new ResizeObserver(() => {
        made.setSize({ width: Math.max(200, element.clientWidth), height: HEIGHT });
      });
      observer.observe(element);
      lifetime.signal.addEventListener("abort", () => {
        observer.disconnect();
        made.destroy();
        chart.current = null;
      });
    });
    return () => lifetime.abort();
  }, [shape]);
  useEffect(() => chart.current?.setData(dataOf(props)));
  return (
    <figure class="flow-chart">
      {/* biome-ignore lint/a11y/useKeyWithClickEvents: the list of layers does the same by key */}
      <div
        ref={host}
        role="img"
        aria-label={props.label}
        data-testid="flow-chart"
        onClick={() => near.current !== null && props.onPick(near.current)}
      />
      <figcaption class="muted" data-testid="flow-said">
        {said === ""
          ? "Point at a line to read it; click to choose it."
          : visibleText(said)}
      </figcaption>
    </figure>
  );
}
