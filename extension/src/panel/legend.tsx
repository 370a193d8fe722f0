// What the colours and the lines of the graph mean now, in a strip of its own below it.
import type { Graph } from "../graph/build.js";
import { type Change, SIGNS, type StopMark, signOf } from "../graph/mark.js";
import { legendOf } from "../render/legend.js";
import { edgeRange } from "../scene/edges.js";
import { formatShort } from "../scene/labels.js";
import { countSharing } from "../scene/links.js";
import { formatPlural } from "../state/format.js";
import { useStore } from "./context.js";
import { Name } from "./text.js";

const CHANGE_WORDS: Readonly<Record<Change, string>> = {
  added: "new",
  removed: "gone",
  changed: "changed",
};

/** What the looks of the drawn edges mean. */
function edgeMeanings({ snapshot, shown }: Graph): [look: string, words: string][] {
  const meanings: [string, string][] = [];
  let [flows, isStill, isCut] = [false, false, false];
  for (const { source, target, gradient, kind } of snapshot.edges) {
    if (shown?.[source] === 0 || shown?.[target] === 0) continue;
    const norm = gradient === null ? null : snapshot.statistics[gradient]?.norm;
    flows ||= (norm ?? 0) > 0;
    isStill ||= norm === 0;
    isCut ||= kind === "cut";
  }
  const range = flows ? edgeRange(snapshot) : null;
  if (range !== null) {
    const [low, high] = [formatShort(range.low), formatShort(range.high)];
    meanings.push([
      "width",
      low === high ? `gradient ${low}` : `gradient ${low}…${high}`,
    ]);
  }
  if (isStill) meanings.push(["still", "gradient of zeros"]);
  if (isCut) meanings.push(["cut", "no gradient"]);
  return meanings;
}

/** What the numbers at the nodes mean, as they are drawn. */
function stopMeanings(
  stops: ReadonlyMap<number, StopMark>,
): [look: string | null, words: string][] {
  const marks = [...stops.values()];
  const meanings: [string | null, string][] = [];
  if (marks.some(({ isBirth }) => isBirth)) meanings.push(["birth", "the cause"]);
  if (marks.some(({ isBirth }) => !isBirth)) meanings.push(["", "on the way"]);
  if (marks.some(({ side }) => side !== null))
    meanings.push([null, "left: value, right: gradient"]);
  return meanings;
}

export function Legend() {
  const store = useStore();
  const { ui, derived } = store;
  const graph = derived.graph.value;
  if (graph === null || graph.nodeCount === 0) return null;
  const { caption, entries } = legendOf(graph, ui.colorBy.value, derived.theme.value);
  const changes = [...new Set(derived.marks.value.values())].flatMap((mark) =>
    signOf(mark) === null ? [] : [mark as Change],
  );
  return (
    <details
      class="legend"
      open={!ui.narrow.value && !ui.cell.value}
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
        {changes.map((change) => (
          <li key={change}>
            <i class={`sign ${change}`}>{SIGNS[change]}</i>
            <span>{CHANGE_WORDS[change]}</span>
          </li>
        ))}
        {stopMeanings(derived.storyMarks.value.stops).map(([look, words]) => (
          <li key={words}>
            {look !== null && <i class={`stop ${look}`} />}
            <span>{words}</span>
          </li>
        ))}
        {edgeMeanings(graph).map(([look, words]) => (
          <li key={look}>
            <i class={`line ${look}`} />
            <span>{words}</span>
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
