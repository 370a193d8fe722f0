// The layers of a training at one step: norms as bars, verdicts as words; a table.
import {
  type Flow,
  normAt,
  shareIn,
  spanOf,
  TROUBLE_WORDS,
  type Verdict,
} from "../state/flow.js";
import { formatNumber } from "../state/format.js";
import { useStore } from "./context.js";
import { LayerButton } from "./layer-button.js";
import { Tag } from "./text.js";

const SHORTEST = 2; // percent: the smallest norm is a bar too

export function FlowLayers({
  flow,
  step,
  verdicts,
}: {
  flow: Flow;
  step: number;
  verdicts: readonly Verdict[];
}) {
  const store = useStore();
  const chosen = store.derived.flowLayer.value;
  const count = flow.steps.length;
  const norms = flow.layers.map((_, layer) => normAt(flow, layer, step));
  const span = spanOf(Float64Array.from(norms, (norm) => norm ?? Number.NaN));
  return (
    <table class="flow-layers" data-testid="flow-layers">
      <caption class="unseen">{`Gradient norms at step ${flow.steps[step] ?? 0}`}</caption>
      <thead>
        <tr>
          <th scope="col">Layer</th>
          <th scope="col">Norm, logarithmic</th>
          {flow.hasRatios && <th scope="col">Update / weight</th>}
        </tr>
      </thead>
      <tbody>
        {flow.layers.map((layer, row) => {
          const norm = norms[row] ?? null;
          const verdict = verdicts[row] ?? "";
          const share = SHORTEST + (100 - SHORTEST) * shareIn(span, norm ?? 0);
          const ratio = flow.ratios[row * count + step] ?? Number.NaN;
          return (
            <tr key={row} aria-selected={row === chosen}>
              <th scope="row">
                <LayerButton row={row} name={layer.name} />
                {verdict !== "" && <Tag tone="bad">{TROUBLE_WORDS[verdict]}</Tag>}
              </th>
              <td>
                <span class="flow-norm">
                  <span class="number">{formatNumber(norm)}</span>
                  {norm !== null && norm > 0 && (
                    <span class="flow-track" aria-hidden="true">
                      <span
                        class={verdict === "" ? "flow-bar" : "flow-bar bad"}
                        style={{ width: `${share}%` }}
                      />
                    </span>
                  )}
                </span>
              </td>
              {flow.hasRatios && (
                <td class="number">
                  {formatNumber(Number.isNaN(ratio) ? null : ratio)}
                </td>
              )}
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}
