// The processes of one training: which are not like the others, and whose flow is shown.
import { setFlowRank } from "../state/actions-flow.js";
import type { Flow } from "../state/flow.js";
import { formatPlural } from "../state/format.js";
import { rankRows } from "../state/ranks.js";
import { useStore } from "./context.js";
import { Sentence } from "./sentence.js";

export function FlowRanks({ flow }: { flow: Flow }) {
  const store = useStore();
  const snapshot = store.data.snapshot.value;
  const rows = snapshot === null ? [] : rankRows(snapshot);
  if (rows.length === 0) return null;
  const count = rows.reduce((sum, { ranks }) => sum + ranks.length, 0);
  return (
    <div class="flow-ranks">
      <table data-testid="flow-ranks">
        <caption>{formatPlural(count, "process", "processes")}</caption>
        <thead>
          <tr>
            <th scope="col">Rank</th>
            <th scope="col">Steps</th>
            <th scope="col">Apart from the others</th>
          </tr>
        </thead>
        <tbody>
          {rows.map(({ label, ranks, steps, state, shown }) => (
            <tr key={ranks[0]} aria-selected={shown !== null && shown === flow.rank}>
              <th scope="row">
                {shown === null ? (
                  label
                ) : (
                  <button
                    type="button"
                    class="link"
                    aria-pressed={shown === flow.rank}
                    title={`Show the gradients of process ${shown}`}
                    onClick={() => setFlowRank(store, shown)}
                  >
                    {label}
                  </button>
                )}
              </th>
              <td class="number">{steps || "–"}</td>
              <td>
                {state === "" ? (
                  <span class="muted">nothing</span>
                ) : (
                  <Sentence text={state} />
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
