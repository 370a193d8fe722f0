// Colours of the gradient flow: a ramp for the map, and lines that tell depth.
import { mix, parseColour } from "./colour.js";
import { CIVIDIS, createTheme, type ThemeName } from "./theme.js";

export type Rgb = readonly [red: number, green: number, blue: number];

const STEPS = 64;
/** The part of the ramp that can be seen as a thin line on the theme's background. */
const LINES = { light: [0.05, 0.72], dark: [0.38, 1] } as const;

/** Even in lightness, the same for all kinds of colour vision. */
export function rampAt(share: number): string {
  const at = Math.min(1, Math.max(0, share)) * (CIVIDIS.length - 1);
  const index = Math.min(CIVIDIS.length - 2, Math.floor(at));
  return mix(CIVIDIS[index] ?? "", CIVIDIS[index + 1] ?? "", at - index);
}

function rgbOf(colour: string): Rgb {
  const [red = 0, green = 0, blue = 0] = parseColour(colour) ?? [];
  return [red, green, blue];
}

/** The colours of the map from small to large, and that of NaN and Inf. */
export function heatColours(theme: ThemeName): { ramp: readonly Rgb[]; bad: Rgb } {
  const colours = Array.from({ length: STEPS }, (_, step) =>
    rampAt(step / (STEPS - 1)),
  );
  return { ramp: colours.map(rgbOf), bad: rgbOf(createTheme(theme).bad) };
}

/** The line of a layer by its depth, from 0 to 1. */
export function seriesColour(theme: ThemeName, depth: number): string {
  const [low, high] = LINES[theme];
  return rampAt(low + (high - low) * depth);
}
