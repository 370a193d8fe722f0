// What the colours of the nodes mean now, over a corner of the graph; it folds away.
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { legendOf } from "../render/legend.js";
import { countSharing } from "../scene/links.js";
import { reportLegend } from "../state/actions.js";
import { formatPlural } from "../state/format.js";
import { useStore } from "./context.js";
import { Name } from "./text.js";

/** In a graph narrower than this the legend begins folded: nothing could lie beside it. */
const ROOMY = 560;

const FOLDED = { offsetLeft: 0, offsetWidth: 0, offsetHeight: 0, open: false };

export function Legend() {
  const store = useStore();
  const { ui, derived } = store;
  const element = useRef<HTMLDetailsElement>(null);
  const [isRoomy, setRoomy] = useState(true);
  const measure = () => {
    setRoomy((element.current?.parentElement?.clientWidth || ROOMY) >= ROOMY);
    const { offsetLeft, offsetWidth, offsetHeight, open } = element.current ?? FOLDED;
    // The margin below is as wide as the one beside. Folded, it covers next to nothing.
    if (open) reportLegend(store, offsetLeft + offsetWidth, offsetLeft + offsetHeight);
    else reportLegend(store, 0, 0);
  };
  useLayoutEffect(measure);
  const graph = derived.graph.value;
  if (graph === null || graph.nodeCount === 0) return null;
  const { caption, entries } = legendOf(graph, ui.colorBy.value, derived.theme.value);
  return (
    <details
      ref={element}
      class="legend"
      open={isRoomy && !ui.narrow.value}
      onToggle={measure}
      data-testid="legend"
    >
      <summary>Legend</summary>
      {caption !== null && <p class="caption">{caption}</p>}
      <ul>
        {entries.map(({ text, colour, fill, isDashed }) => (
          <li key={text}>
            <i
              class={isDashed ? "swatch dashed" : "swatch"}
              style={{ background: fill, borderColor: colour }}
            />
            <Name text={text} />
          </li>
        ))}
        {ui.drawing.value.links && (
          <li data-testid="links-legend">
            <i class="swatch linked" />
            <span>{`same memory (${formatPlural(countSharing(graph), "node")})`}</span>
          </li>
        )}
      </ul>
    </details>
  );
}
