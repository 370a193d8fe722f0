// What colours are told apart with other kinds of colour vision, computed.
//
// Simulation: G. M. Machado, M. M. Oliveira, L. A. F. Fernandes, "A physiologically-based
// model for simulation of color vision deficiency", 2009, full severity. Distance: CIE 1976
// in Lab; 2.3 is just noticeable, 10 is seen at a glance on small areas.
import { describe, expect, test } from "vitest";
import { FAMILY_LABELS, type Family } from "../scene/families.js";
import { RAMP_STEPS, SERIES_COUNT, type Tone } from "../scene/tones.js";
import { INF_PIXEL, LEVELS } from "../state/thumbnail.js";
import { parseColour } from "./colour.js";
import { createTheme, hueOf, type ThemeName } from "./theme.js";
import { thumbnailColours } from "./thumbnail-colours.js";

type Triple = readonly [number, number, number];
type Matrix = readonly [Triple, Triple, Triple];

const VISIONS: Readonly<Record<string, Matrix>> = {
  normal: [
    [1, 0, 0],
    [0, 1, 0],
    [0, 0, 1],
  ],
  protanopia: [
    [0.152286, 1.052583, -0.204868],
    [0.114503, 0.786281, 0.099216],
    [-0.003882, -0.048116, 1.051998],
  ],
  deuteranopia: [
    [0.367322, 0.860646, -0.227968],
    [0.280085, 0.672501, 0.047413],
    [-0.01182, 0.04294, 0.968881],
  ],
  tritanopia: [
    [1.255528, -0.076749, -0.178779],
    [-0.078411, 0.930809, 0.147602],
    [0.004733, 0.691367, 0.3039],
  ],
};
const TO_XYZ: Matrix = [
  [0.4124564, 0.3575761, 0.1804375],
  [0.2126729, 0.7151522, 0.072175],
  [0.0193339, 0.119192, 0.9503041],
];
const WHITE: Triple = [0.95047, 1, 1.08883];

function times(matrix: Matrix, [x, y, z]: Triple): Triple {
  const row = ([a, b, c]: Triple) => a * x + b * y + c * z;
  return [row(matrix[0]), row(matrix[1]), row(matrix[2])];
}

/** A colour in Lab, as an eye with this vision sees it. */
function seen(colour: string, vision: Matrix): Triple {
  const linear = (parseColour(colour) ?? [0, 0, 0]).map((value) => {
    const share = value / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  }) as unknown as Triple;
  const shown = times(vision, linear).map((v) => Math.min(1, Math.max(0, v)));
  const xyz = times(TO_XYZ, shown as unknown as Triple);
  const [x, y, z] = xyz.map((value, i) => {
    const share = value / (WHITE[i] ?? 1);
    return share > 0.008856 ? Math.cbrt(share) : 7.787 * share + 16 / 116;
  }) as unknown as Triple;
  return [116 * y - 16, 500 * (x - y), 200 * (y - z)];
}

function distance(a: string, b: string, vision: Matrix): number {
  const [p, q] = [seen(a, vision), seen(b, vision)];
  return Math.hypot(p[0] - q[0], p[1] - q[1], p[2] - q[2]);
}

/** Pairs that are hard to tell apart, as "a and b: 3.2". */
function alike(
  colours: Readonly<Record<string, string>>,
  vision: Matrix,
  least: number,
) {
  const names = Object.entries(colours);
  return names.flatMap(([a, first], i) =>
    names.slice(i + 1).flatMap(([b, second]) => {
      const apart = distance(first, second, vision);
      return apart < least ? [`${a} and ${b}: ${apart.toFixed(1)}`] : [];
    }),
  );
}

const of = (theme: ThemeName, tone: Tone) => hueOf(theme, tone);
const families = (theme: ThemeName) =>
  Object.fromEntries(
    (Object.keys(FAMILY_LABELS) as Family[]).map((family) => [
      family,
      of(theme, { kind: "family", family }),
    ]),
  );
const series = (theme: ThemeName) =>
  Object.fromEntries(
    Array.from({ length: SERIES_COUNT }, (_, index) => [
      `series ${index}`,
      of(theme, { kind: "series", index }),
    ]),
  );

describe.each(Object.entries(VISIONS))("with %s", (_, vision) => {
  test.each(["light", "dark"] as const)("families differ (%s)", (theme) => {
    expect(alike(families(theme), vision, 8)).toEqual([]);
  });

  test.each(["light", "dark"] as const)("series differ (%s)", (theme) => {
    expect(alike(series(theme), vision, 8)).toEqual([]);
  });

  test.each(["light", "dark"] as const)("NaN and Inf stand out (%s)", (theme) => {
    const { bad } = createTheme(theme);
    for (const [family, colour] of Object.entries(families(theme))) {
      expect(distance(bad, colour, vision), family).toBeGreaterThan(8);
    }
  });

  test.each(["light", "dark"] as const)("so they do in thumbnails (%s)", (name) => {
    const theme = createTheme(name);
    for (const isSigned of [true, false]) {
      const colours = thumbnailColours(theme, isSigned);
      const [inf = "", nan = ""] = colours.slice(INF_PIXEL);
      expect(distance(inf, nan, vision)).toBeGreaterThan(8);
      colours.slice(0, INF_PIXEL).forEach((colour, code) => {
        expect(distance(inf, colour, vision), `Inf, ${code}`).toBeGreaterThan(8);
        expect(distance(nan, colour, vision), `NaN, ${code}`).toBeGreaterThan(8);
      });
    }
  });

  test.each(["light", "dark"] as const)("signs differ in thumbnails (%s)", (name) => {
    const colours = thumbnailColours(createTheme(name), true);
    const [low = "", high = ""] = [colours[0], colours[LEVELS]];
    expect(distance(low, high, vision)).toBeGreaterThan(20);
    expect(distance(low, colours[LEVELS / 2] ?? "", vision)).toBeGreaterThan(20);
    expect(distance(high, colours[LEVELS / 2] ?? "", vision)).toBeGreaterThan(20);
  });

  test("the ramp is walked in even steps from dark to light", () => {
    const steps = Array.from({ length: RAMP_STEPS }, (_, step) =>
      seen(of("light", { kind: "ramp", step }), vision),
    );
    const rises = steps.slice(1).map(([l], i) => l - (steps[i]?.[0] ?? 0));
    expect(Math.min(...rises)).toBeGreaterThan(4);
  });
});

test("colours that are alike are found", () => {
  const [protanopia, normal] = [VISIONS.protanopia, VISIONS.normal];
  const close = { orange: "#e69f00", olive: "#b3a100" };
  expect(alike(close, normal as Matrix, 8)).toEqual([]);
  expect(alike(close, protanopia as Matrix, 8)).toEqual(["orange and olive: 3.2"]);
});
