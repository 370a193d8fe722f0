// Colours. Families start from the Okabe-Ito palette, whose vermillion is kept for NaN and
// Inf alone; colour-vision.test.ts tells them apart as colour-blind eyes do.
import type { Mark } from "../graph/mark.js";
import type { Family } from "../scene/families.js";
import { RAMP_STEPS, type Tone } from "../scene/tones.js";
import { contrast, mix, readableOn } from "./colour.js";

export type ThemeName = "light" | "dark";

/** The colours of one box. */
export interface BoxColours {
  readonly fill: string;
  readonly border: string;
  /** For the far view, where a box is a few pixels. */
  readonly solid: string;
  readonly title: string;
  readonly subtitle: string;
}

/** The colours that do not depend on a tone. */
interface BaseTheme {
  readonly background: string;
  readonly text: string;
  readonly muted: string;
  readonly edge: string;
  readonly edgeStill: string;
  readonly edgeCut: string;
  readonly edgeIn: string;
  readonly edgeOut: string;
  readonly accent: string;
  readonly bad: string;
  readonly badFill: string;
  readonly badText: string;
  readonly match: string;
  /** What gradients have reached by the moment of the timeline, and where it is. */
  readonly lit: string;
  readonly litStrong: string;
  /** Findings: the colours that panels give their severities. */
  readonly marks: Readonly<Record<Mark, string>>;
  /** Fills of open scopes by depth, repeating. */
  readonly frames: readonly string[];
  readonly frameBorder: string;
  readonly ghostBorder: string;
  readonly badge: string;
  readonly badgeText: string;
  readonly shadow: string;
  /** Of shared memory. */
  readonly link: string;
}

export interface Theme extends BaseTheme {
  readonly name: ThemeName;
  colours(tone: Tone): BoxColours;
  /** A colour faded towards the background, for what a search leaves out. */
  faded(colour: string): string;
  /** Faded words on a fill: paler than others there, and still readable. */
  fadedWords(fill: string): string;
}

const OKABE_ITO = {
  orange: "#e69f00",
  sky: "#56b4e9",
  green: "#009e73",
  yellow: "#f0e442",
  blue: "#0072b2",
  vermillion: "#d55e00",
  purple: "#cc79a7",
} as const;

type Hues = Readonly<Record<Family, string>>;

const HUES: Readonly<Record<ThemeName, Hues>> = {
  light: {
    linear: OKABE_ITO.blue,
    activation: OKABE_ITO.orange,
    norm: OKABE_ITO.green,
    reduce: OKABE_ITO.purple,
    math: OKABE_ITO.sky,
    shape: "#667180",
    leaf: "#b4bac4",
    custom: "#3a4352",
    cut: "#8a6f4d",
  },
  dark: {
    linear: "#3d9be0",
    activation: "#f0b23c",
    norm: "#2bb98f",
    reduce: "#d692cf",
    math: "#7cc8f2",
    shape: "#8893a6",
    leaf: "#5f6a7d",
    custom: "#d3d9e4",
    cut: "#bd8e6d",
  },
};

const SERIES = [
  OKABE_ITO.blue,
  OKABE_ITO.orange,
  OKABE_ITO.green,
  OKABE_ITO.purple,
  OKABE_ITO.sky,
  "#857d00",
  "#7a5195",
];

/** Cividis: even in lightness and the same for all kinds of colour vision. */
export const CIVIDIS = [
  "#00204d",
  "#31446b",
  "#666970",
  "#958f78",
  "#cbba69",
  "#ffea46",
];

const LIGHT: BaseTheme = {
  background: "#ffffff",
  text: "#1b212b",
  muted: "#5a6574",
  edge: "#8d98a8",
  edgeStill: "#c9d0d9",
  edgeCut: "#8f7b67",
  edgeIn: "#0072b2",
  edgeOut: "#c77f00",
  accent: "#1f5fbf",
  bad: OKABE_ITO.vermillion,
  badFill: "#fbe6d8",
  badText: "#ffffff",
  match: "#c98a00",
  lit: OKABE_ITO.orange,
  litStrong: "#8f5600",
  marks: {
    error: "#b3261e",
    warning: "#7a5200",
    info: "#1f5fbf",
    added: "#0b6e99",
    removed: "#a4460a",
    changed: "#7a3fb0",
  },
  frames: ["#f6f8fb", "#eef2f7", "#e6ecf3", "#dee6ef"],
  frameBorder: "#cbd4df",
  ghostBorder: "#a5927f",
  badge: "#e9edf2",
  badgeText: "#3d4755",
  shadow: "rgb(20 30 48 / 10%)",
  link: "#8f3f87",
};

const DARK: BaseTheme = {
  background: "#14181f",
  text: "#e4e8ef",
  muted: "#9aa6b8",
  edge: "#66728a",
  edgeStill: "#374152",
  edgeCut: "#a8957f",
  edgeIn: "#56b4e9",
  edgeOut: "#f0b23c",
  accent: "#82b1ff",
  bad: "#ff7a2f",
  badFill: "#4a2a16",
  badText: "#1a0f08",
  match: "#e0a92e",
  lit: "#d99a1f",
  litStrong: "#ffdc94",
  marks: {
    error: "#ff8a80",
    warning: "#f0b23c",
    info: "#82b1ff",
    added: "#5cc8f2",
    removed: "#ff9f5c",
    changed: "#cda8ff",
  },
  frames: ["#191e27", "#1e2430", "#242b38", "#2a3241"],
  frameBorder: "#384355",
  ghostBorder: "#a8957f",
  badge: "#2f3848",
  badgeText: "#c9d2df",
  shadow: "rgb(0 0 0 / 35%)",
  link: "#e0a0d8",
};

/** How much of its hue a box's fill and border carry. */
const SHARE = {
  light: { fill: 0.13, border: 0.72, faded: 0.4 },
  dark: { fill: 0.2, border: 0.78, faded: 0.42 },
};
/** What faded words keep, and the steps in which they are made stronger until they do. */
const FADED_CONTRAST = 3.4;
const FADED_STEP = 0.05;

/** The theme, on the background that the page really has where that is known. */
export function createTheme(name: ThemeName, background?: string): Theme {
  const base = {
    ...(name === "light" ? LIGHT : DARK),
    name,
    ...(background === undefined ? {} : { background }),
  };
  const cache = new Map<string, BoxColours>();
  const fadedCache = new Map<string, string>();
  const wordsCache = new Map<string, string>();
  return {
    ...base,
    colours(tone) {
      const hue = hueOf(name, tone);
      const known = cache.get(hue);
      if (known !== undefined) return known;
      const colours =
        tone.kind === "ramp" ? rampColours(hue) : tintedColours(name, base, hue);
      cache.set(hue, colours);
      return colours;
    },
    faded(colour) {
      const known = fadedCache.get(colour);
      if (known !== undefined) return known;
      const faded = mix(base.background, colour, SHARE[name].faded);
      fadedCache.set(colour, faded);
      return faded;
    },
    fadedWords(fill) {
      const known = wordsCache.get(fill);
      if (known !== undefined) return known;
      const words = palestOn(fill);
      wordsCache.set(fill, words);
      return words;
    },
  };
}

/** The palest mix of a fill with black or white that can still be read on it. */
function palestOn(fill: string): string {
  const strongest = readableOn(fill);
  for (let share = 0.3; share < 1; share += FADED_STEP) {
    const words = mix(fill, strongest, share);
    if (contrast(words, fill) >= FADED_CONTRAST) return words;
  }
  return strongest;
}

/** One colour per tone, for legends and the far view. */
export function hueOf(name: ThemeName, tone: Tone): string {
  switch (tone.kind) {
    case "family":
      return HUES[name][tone.family];
    case "series":
      return SERIES[tone.index % SERIES.length] ?? OKABE_ITO.blue;
    case "ramp":
      return rampHue(tone.step / (RAMP_STEPS - 1));
    case "plain":
      return name === "light" ? "#aab4c2" : "#5d6980";
  }
}

function rampHue(share: number): string {
  const at = share * (CIVIDIS.length - 1);
  const index = Math.min(CIVIDIS.length - 2, Math.floor(at));
  return mix(CIVIDIS[index] ?? "", CIVIDIS[index + 1] ?? "", at - index);
}

function rampColours(hue: string): BoxColours {
  const title = readableOn(hue);
  return {
    fill: hue,
    border: mix(hue, title, 0.35),
    solid: hue,
    title,
    subtitle: title,
  };
}

function tintedColours(
  name: ThemeName,
  base: { readonly background: string; readonly text: string; readonly muted: string },
  hue: string,
): BoxColours {
  const share = SHARE[name];
  return {
    fill: mix(base.background, hue, share.fill),
    border: mix(base.background, hue, share.border),
    solid: mix(base.background, hue, share.border),
    title: base.text,
    subtitle: base.muted,
  };
}
