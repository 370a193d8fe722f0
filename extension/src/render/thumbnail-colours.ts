// Colours of thumbnails: two hues where zero is in the middle, else the ramp of the map.
import { INF_PIXEL, LEVELS, NAN_PIXEL } from "../state/thumbnail.js";
import { mix } from "./colour.js";
import { rampAt } from "./flow-colours.js";
import type { Theme } from "./theme.js";

const MIDDLE = { light: "#eef0f3", dark: "#262d39" };

/** The colour of each value of a pixel. */
export function thumbnailColours(theme: Theme, isSigned: boolean): readonly string[] {
  const colours = Array.from({ length: LEVELS + 1 }, (_, code) => {
    const share = code / LEVELS;
    if (!isSigned) return rampAt(share);
    const end = share < 0.5 ? theme.edgeIn : theme.edgeOut;
    return mix(MIDDLE[theme.name], end, Math.abs(2 * share - 1));
  });
  colours[INF_PIXEL] = theme.marks.changed;
  colours[NAN_PIXEL] = theme.bad;
  return colours;
}
