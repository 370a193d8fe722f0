// What the colours of the nodes mean now, over a corner of the graph; it folds away.
import { legendOf } from "../render/legend.js";
import { countSharing } from "../scene/links.js";
import { formatPlural } from "../state/format.js";
import { useStore } from "./context.js";
import { Name } from "./text.js";

export function Legend() {
  const { ui, derived } = useStore();
  const graph = derived.graph.value;
  if (graph === null || graph.nodeCount === 0) return null;
  const { caption, entries } = legendOf(graph, ui.colorBy.value, derived.theme.value);
  return (
    <details class="legend" open={!ui.narrow.value} data-testid="legend">
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
