// What the colours mean, for the legend.
import type { Graph } from "../graph/build.js";
import type { ColorBy } from "../graph/color-by.js";
import { unwantedValues } from "../graph/gradients.js";
import { eachDrawn } from "../graph/shown.js";
import { toneNodes } from "../scene/toning.js";
import { createTheme, hueOf, type ThemeName } from "./theme.js";

export interface LegendEntry {
  readonly text: string;
  /** The strong colour, and the fill of boxes. */
  readonly colour: string;
  readonly fill: string;
  /** Its boxes have a dashed border. */
  readonly isDashed: boolean;
}

export interface Legend {
  /** What the colours measure; null where the entries say it all. */
  readonly caption: string | null;
  readonly entries: readonly LegendEntry[];
}

/** Entries in order; the last ones are for what is drawn the same in every mode. */
export function legendOf(graph: Graph, colorBy: ColorBy, themeName: ThemeName): Legend {
  const theme = createTheme(themeName);
  const { caption, meanings } = toneNodes(graph, colorBy);
  const entries = meanings.map(({ tone, text }) => {
    const isDashed = tone.kind === "family" && tone.family === "cut";
    const fill = isDashed ? theme.background : theme.colours(tone).fill;
    return { text, colour: hueOf(themeName, tone), fill, isDashed };
  });
  const { snapshot } = graph;
  let hasBad = false;
  eachDrawn(snapshot, (node) => {
    const { nans, infs } = unwantedValues(snapshot, node);
    hasBad ||= nans + infs > 0;
  });
  const bad = { text: "NaN or Inf", colour: theme.bad, fill: theme.badFill };
  if (hasBad) entries.push({ ...bad, isDashed: false });
  return { caption, entries };
}
