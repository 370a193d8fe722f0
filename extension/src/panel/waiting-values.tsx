// The values of the gradient that waits at a node, where a stepped pass stands there.
import { visibleCode } from "../state/visible-text.js";
import { useStore } from "./context.js";

/** Nothing for every other node, and where there is no stepped pass. */
export function WaitingValues({ node }: { node: number }) {
  const stop = useStore().data.services.value?.stepping?.stop;
  if (stop === null || stop === undefined || stop.node !== node) return null;
  const values = stop.gradients.filter((gradient) => gradient.values !== "");
  return (
    <div class="waiting-values" data-testid="waiting-values">
      {values.map((gradient, position) => (
        <figure key={position}>
          <figcaption class="muted">about to be used: {gradient.words}</figcaption>
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls by keyboard */}
          <pre dir="ltr" tabIndex={0}>
            {visibleCode(gradient.values)}
          </pre>
        </figure>
      ))}
    </div>
  );
}
