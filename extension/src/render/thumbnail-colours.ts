// Colours of thumbnails: two hues where zero is in the middle, else the ramp of the map.
import { INF_PIXEL, LEVELS, NAN_PIXEL } from "../state/thumbnail.js";
import { mix } from "./colour.js";
import { rampAt } from "./flow-colours.js";
import type { Theme } from "./theme.js";

/** Below zero, zero, above: vermillion is none of them for any kind of colour vision. */
const SIGNED = {
  light: ["#0072b2", "#eef0f3", "#e69f00"],
  dark: ["#56b4e9", "#262d39", "#f0e442"],
} as const;

/** Vermillion, as dark as it is seen beside both ramps by all eyes. */
const NAN = "#d55e00";

/** The colour of each value of a pixel. */
export function thumbnailColours(theme: Theme, isSigned: boolean): readonly string[] {
  const [below, zero, above] = SIGNED[theme.name];
  const colours = Array.from({ length: LEVELS + 1 }, (_, code) => {
    const share = code / LEVELS;
    if (!isSigned) return rampAt(share);
    return mix(zero, share < 0.5 ? below : above, Math.abs(2 * share - 1));
  });
  colours[INF_PIXEL] = theme.text;
  colours[NAN_PIXEL] = NAN;
  return colours;
}
