// Layers by steps: the norms of gradients as a map, dark where they are small.
import { useEffect, useRef, useState } from "preact/hooks";
import { heatColours } from "../render/flow-colours.js";
import { pickLayer, setFlowStep } from "../state/actions-flow.js";
import { NORM_DECADES, shareOf, tickText } from "../state/decades.js";
import { type Flow, isBadAt, normAt } from "../state/flow.js";
import { formatNumber } from "../state/format.js";
import { visibleText } from "../state/visible-text.js";
import { useStore } from "./context.js";
import { LayerButton } from "./layer-button.js";

const ROW = 18; // CSS pixels of a layer

interface Cell {
  readonly layer: number;
  readonly step: number;
}

/** One pixel per cell; the canvas is stretched by its style. */
function draw(canvas: HTMLCanvasElement, flow: Flow, theme: "light" | "dark"): void {
  const { layers, steps } = flow;
  const [width, height] = [Math.max(1, steps.length), Math.max(1, layers.length)];
  canvas.width = width;
  canvas.height = height;
  const context = canvas.getContext("2d");
  if (context === null) return;
  const { ramp, bad } = heatColours(theme);
  const image = context.createImageData(width, height);
  for (let layer = 0; layer < layers.length; layer++) {
    for (let step = 0; step < steps.length; step++) {
      const norm = normAt(flow, layer, step);
      const isBad = isBadAt(flow, layer, step);
      if (norm === null && !isBad) continue; // nothing was measured: clear
      const share = shareOf(NORM_DECADES, norm ?? 0);
      const colour = isBad ? bad : ramp[Math.round(share * (ramp.length - 1))];
      image.data.set([...(colour ?? bad), 255], 4 * (layer * width + step));
    }
  }
  context.putImageData(image, 0, 0);
}

function cellText(flow: Flow, { layer, step }: Cell): string {
  const norm = normAt(flow, layer, step);
  const bad = isBadAt(flow, layer, step) ? ", with NaN or Inf" : "";
  const value =
    norm === null && bad === "" ? "no gradient" : `norm ${formatNumber(norm)}`;
  const name = visibleText(flow.layers[layer]?.name ?? "");
  return `${name}, step ${flow.steps[step] ?? 0}: ${value}${bad}`;
}

const MOVES: Readonly<Record<string, readonly [layers: number, steps: number]>> = {
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
};

export function FlowHeat({ flow }: { flow: Flow }) {
  const store = useStore();
  const canvas = useRef<HTMLCanvasElement>(null);
  const [cell, setCell] = useState<Cell | null>(null);
  const theme = store.derived.theme.value;
  const chosen = store.derived.flowLayer.value;
  useEffect(() => {
    if (canvas.current !== null) draw(canvas.current, flow, theme);
  }, [flow, theme]);
  const at = (event: PointerEvent | MouseEvent): Cell => {
    const { width, height } = (
      event.currentTarget as HTMLElement
    ).getBoundingClientRect();
    return {
      layer: clamp(
        Math.floor((event.offsetY / height) * flow.layers.length),
        flow.layers,
      ),
      step: clamp(Math.floor((event.offsetX / width) * flow.steps.length), flow.steps),
    };
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const move = MOVES[event.key];
    const from = cell ?? { layer: chosen ?? 0, step: flow.steps.length - 1 };
    if (event.key === "Enter") pick(from);
    else if (move === undefined) return;
    else {
      setCell({
        layer: clamp(from.layer + move[0], flow.layers),
        step: clamp(from.step + move[1], flow.steps),
      });
    }
    event.preventDefault();
    event.stopPropagation();
  };
  const pick = ({ layer, step }: Cell) => {
    pickLayer(store, layer);
    setFlowStep(store, step);
  };
  const height = `${ROW * flow.layers.length}px`;
  return (
    <figure class="flow-heat">
      <div class="flow-heat-map">
        <ol style={{ "--row": `${ROW}px` }}>
          {flow.layers.map((layer, row) => (
            <li key={row}>
              <LayerButton row={row} name={layer.name} />
            </li>
          ))}
        </ol>
        <div
          class="flow-heat-cells"
          role="application"
          aria-label="Gradient norms, layers by steps; arrow keys walk from cell to cell"
          // biome-ignore lint/a11y/noNoninteractiveTabindex: arrow keys walk the cells
          tabIndex={0}
          style={{ height }}
          onKeyDown={onKeyDown}
          onPointerMove={(event) => setCell(at(event))}
          onPointerLeave={() => setCell(null)}
          onClick={(event) => pick(at(event))}
        >
          <canvas ref={canvas} data-testid="flow-heat" />
          {cell !== null && (
            <span
              class="flow-heat-mark"
              style={{
                left: `${(100 * cell.step) / flow.steps.length}%`,
                top: `${(100 * cell.layer) / flow.layers.length}%`,
                width: `${100 / flow.steps.length}%`,
                height: `${ROW}px`,
              }}
            />
          )}
        </div>
      </div>
      <HeatLegend theme={theme} />
      <figcaption class="muted" aria-live="polite" data-testid="flow-said">
        {cell === null
          ? `Steps ${flow.steps[0] ?? 0} to ${flow.steps.at(-1) ?? 0}, from left to right.`
          : cellText(flow, cell)}
      </figcaption>
    </figure>
  );
}

function clamp(value: number, { length }: { readonly length: number }): number {
  return Math.min(length - 1, Math.max(0, value));
}

function HeatLegend({ theme }: { theme: "light" | "dark" }) {
  const { ramp, bad } = heatColours(theme);
  const css = (colour: readonly number[] | undefined) => `rgb(${colour?.join(" ")})`;
  return (
    <p class="flow-heat-legend">
      <span class="number">{tickText(NORM_DECADES.from)}</span>
      <span
        class="bar"
        aria-hidden="true"
        style={{ background: `linear-gradient(90deg, ${ramp.map(css).join(", ")})` }}
      />
      <span class="number">{tickText(NORM_DECADES.to)}</span>
      <span class="swatch" aria-hidden="true" style={{ background: css(bad) }} />
      <span>NaN or Inf</span>
    </p>
  );
}
