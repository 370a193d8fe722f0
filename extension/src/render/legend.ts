// What the colours mean, for the legend.
import type { Graph } from "../graph/build.js";
import type { ColorBy } from "../graph/color-by.js";
import { toneNodes } from "../scene/tones.js";
import { createTheme, hueOf, type ThemeName } from "./theme.js";

export interface LegendEntry {
  readonly text: string;
  /** The strong colour, and the fill of boxes. */
  readonly colour: string;
  readonly fill: string;
  /** Its boxes have a dashed border. */
  readonly isDashed: boolean;
}

/** The entries in order; the last ones are for what is drawn the same in every mode. */
export function legendEntries(
  graph: Graph,
  colorBy: ColorBy,
  themeName: ThemeName,
): readonly LegendEntry[] {
  const theme = createTheme(themeName);
  const entries = toneNodes(graph, colorBy).meanings.map(({ tone, text }) => {
    const isDashed = tone.kind === "family" && tone.family === "cut";
    const fill = isDashed ? theme.background : theme.colours(tone).fill;
    return { text, colour: hueOf(themeName, tone), fill, isDashed };
  });
  const hasBad = graph.snapshot.statistics.some(({ nans, infs }) => nans + infs > 0);
  return hasBad
    ? [
        ...entries,
        { text: "NaN or Inf", colour: theme.bad, fill: theme.badFill, isDashed: false },
      ]
    : entries;
}
