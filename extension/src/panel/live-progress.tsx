// How far the code is that runs below the view: its step and its loss, as they change.
import { formatCount, formatNumber } from "../state/format.js";
import { useStore } from "./context.js";

export function LiveProgress() {
  const progress = useStore().data.progress.value;
  if (progress === null) return null;
  const { steps, loss } = progress;
  return (
    <p class="live-progress" data-testid="live-progress">
      <span class="live-dot" aria-hidden="true" />
      <span>{`Running: step ${formatCount(steps)}`}</span>
      {loss !== null && (
        <span class="number">{`loss ${formatNumber(Number(loss.toPrecision(4)))}`}</span>
      )}
    </p>
  );
}
