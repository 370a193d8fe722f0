import { describe, expect, test } from "vitest";
import { buildGraph } from "../graph/build.js";
import { COLOR_BY } from "../graph/color-by.js";
import { twoLayers } from "../graph/snapshots.test-util.js";
import { FAMILY_LABELS, type Family } from "../scene/families.js";
import { RAMP_STEPS, SERIES_COUNT, type Tone } from "../scene/tones.js";
import { Camera } from "./camera.js";
import { contrast, mix, parseColour, readableOn } from "./colour.js";
import { legendOf } from "./legend.js";
import { createTextMetrics } from "./text-metrics.js";
import { createTheme, hueOf } from "./theme.js";

const TONES: readonly Tone[] = [
  ...Object.keys(FAMILY_LABELS).map((family): Tone => {
    return { kind: "family", family: family as Family };
  }),
  ...Array.from(
    { length: SERIES_COUNT },
    (_, index): Tone => ({ kind: "series", index }),
  ),
  ...Array.from({ length: RAMP_STEPS }, (_, step): Tone => ({ kind: "ramp", step })),
  { kind: "plain" },
];

describe.each(["light", "dark"] as const)("the %s theme", (name) => {
  const theme = createTheme(name);

  test("can be read: names 4.5 to 1 on every box, shapes nearly so", () => {
    for (const tone of TONES) {
      const { fill, title, subtitle } = theme.colours(tone);
      expect(contrast(title, fill), JSON.stringify(tone)).toBeGreaterThanOrEqual(4.5);
      expect(contrast(subtitle, fill), JSON.stringify(tone)).toBeGreaterThanOrEqual(4);
    }
    for (const frame of theme.frames) {
      expect(contrast(theme.text, frame)).toBeGreaterThanOrEqual(4.5);
      expect(contrast(theme.muted, frame)).toBeGreaterThanOrEqual(4);
    }
    expect(contrast(theme.text, theme.badFill)).toBeGreaterThanOrEqual(4.5);
    expect(contrast(theme.badText, theme.bad)).toBeGreaterThanOrEqual(3);
    for (const mark of Object.values(theme.marks)) {
      expect(contrast(mark, theme.background)).toBeGreaterThanOrEqual(3);
      expect(contrast(mark, readableOn(mark))).toBeGreaterThanOrEqual(4.5);
    }
  });

  test("keeps what a search leaves out readable, and paler than the rest", () => {
    const fills = [
      ...TONES.map((tone) => theme.colours(tone).fill),
      ...theme.frames,
      theme.background,
      theme.badFill,
    ];
    for (const fill of fills.flatMap((full) => [full, theme.faded(full)])) {
      const ratio = contrast(theme.fadedWords(fill), fill);
      expect(ratio, fill).toBeGreaterThanOrEqual(3);
      expect(ratio, fill).toBeLessThan(4.5);
    }
  });

  test("keeps one colour for NaN and Inf", () => {
    for (const tone of TONES) expect(hueOf(name, tone)).not.toBe(theme.bad);
  });

  test("fades towards the background that the page has", () => {
    const own = createTheme(name, "#808080");
    expect(contrast(own.faded(own.text), "#808080")).toBeLessThan(
      contrast(own.text, "#808080"),
    );
  });
});

describe("colour", () => {
  test("reads what style sheets write", () => {
    expect(parseColour("#abc")).toEqual([170, 187, 204]);
    expect(parseColour(" #1F5fbf ")).toEqual([31, 95, 191]);
    expect(parseColour("rgb(1, 2, 3)")).toEqual([1, 2, 3]);
    expect(parseColour("rebeccapurple")).toBeNull();
  });

  test("mixes and chooses readable text", () => {
    expect(mix("#000000", "#ffffff", 0.5)).toBe("#808080");
    expect(readableOn("#ffea46")).toBe("#000000");
    expect(readableOn("#00204d")).toBe("#ffffff");
    expect(contrast("#000000", "#ffffff")).toBeCloseTo(21, 5);
  });
});

test.each(COLOR_BY)("the legend for %s has a colour for each meaning", (colorBy) => {
  const { entries } = legendOf(buildGraph(twoLayers()), colorBy, "light");
  expect(entries.length).toBeGreaterThan(1);
  expect(entries.at(-1)?.text).toBe("NaN or Inf");
  for (const { colour, fill } of entries) {
    expect(parseColour(colour)).not.toBeNull();
    expect(parseColour(fill)).not.toBeNull();
  }
});

test.each(["light", "dark"] as const)(
  "no two kinds of op share a colour in the %s theme",
  (name) => {
    const hues = Object.keys(FAMILY_LABELS).map((family) =>
      hueOf(name, { kind: "family", family: family as Family }),
    );
    expect(new Set(hues).size).toBe(hues.length);
  },
);

describe("text", () => {
  let measured = 0;
  const context = {
    font: "",
    measureText(text: string) {
      measured++;
      return { width: text.length * 10 };
    },
  } as unknown as CanvasRenderingContext2D;
  const text = createTextMetrics(context, "serif");

  test("is measured once", () => {
    text.measure("abc", 13, true);
    const before = measured;
    expect(text.measure("abc", 13, true)).toBe(30);
    expect(measured).toBe(before);
  });

  test("that does not fit ends with an ellipsis", () => {
    expect(text.fit("abcdef", 13, false, 60)).toBe("abcdef");
    expect(text.fit("abcdef", 13, false, 40)).toBe("abc…");
    expect(text.fit("abcdef", 13, false, 5)).toBe("");
  });

  test("cannot turn the text around it", () => {
    expect(text.fit("a\u202eb\nc", 13, false, 200)).toBe("a\\u202eb\\nc");
  });
});

describe("camera", () => {
  const world = { x: 0, y: 0, width: 400, height: 300 };
  function camera(reduced = true) {
    let clock = 0;
    const made = new Camera({
      onChange: () => {},
      prefersReducedMotion: () => reduced,
      now: () => clock,
    });
    made.resize(800, 600);
    const tick = (millis: number) => {
      clock += millis;
      return made.step(clock);
    };
    return { made, tick };
  }

  test("a small graph is shown whole, in the middle", () => {
    const { made } = camera();
    made.firstLook(world, world);
    expect(made.view.scale).toBe(1.15);
    expect(made.view.x + 200 * made.view.scale).toBeCloseTo(400);
  });

  test("a tall graph is shown from its entry, at a readable size", () => {
    const { made } = camera();
    const tall = { x: 0, y: 0, width: 400, height: 90_000 };
    made.firstLook(tall, { x: 50, y: 0, width: 100, height: 40 });
    expect(made.view).toMatchObject({ scale: 1, y: 28 });
    made.fit(tall);
    expect(made.view.scale).toBeCloseTo((600 - 56) / 90_000);
  });

  test("a wide graph is shown around its entry, and no emptiness beside it", () => {
    const { made } = camera();
    const wide = { x: 0, y: 0, width: 2000, height: 2000 };
    const seen = (x: number) => {
      made.firstLook(wide, { x, y: 0, width: 100, height: 40 });
      const { scale, x: shift } = made.view;
      return [Math.round(-shift / scale), Math.round((800 - shift) / scale)];
    };
    expect(seen(950)).toEqual([429, 1571]);
    expect(seen(1900)).toEqual([897, 2040]);
    expect(seen(0)).toEqual([-40, 1103]);
  });

  test("what was seen from afar is fitted again once it is small", () => {
    const { made } = camera();
    made.jump({ scale: 0.3, x: 0, y: 0 });
    made.fitIfSmall({ ...world, height: 3000 });
    expect(made.view.scale).toBe(0.3);
    made.fitIfSmall(world);
    expect(made.view.scale).toBe(1.15);
    made.jump({ scale: 0.9, x: 0, y: 0 });
    made.fitIfSmall(world);
    expect(made.view.scale).toBe(0.9);
  });

  test("a move takes its time, and none where motion is not wanted", () => {
    const { made, tick } = camera(false);
    made.fit(world);
    const start = made.view;
    expect(tick(100)).toBe(true);
    expect(made.view).not.toEqual(start);
    expect(tick(1000)).toBe(false);
    const { made: still } = camera(true);
    still.fit(world);
    expect(still.view).toEqual(made.view);
  });

  test("what is in view is not moved by a reveal; what is not comes in", () => {
    const { made } = camera();
    made.jump({ scale: 1, x: 0, y: 0 });
    made.reveal({ x: 300, y: 200, width: 80, height: 40 });
    expect(made.view).toEqual({ scale: 1, x: 0, y: 0 });
    made.reveal({ x: 5000, y: 200, width: 80, height: 40 });
    expect(5040 + made.view.x).toBeCloseTo(400);
    made.jump({ scale: 1, x: 0, y: 0 });
    made.reveal({ x: 760, y: 200, width: 80, height: 40 });
    expect(made.view.x).toBe(-88); // just far enough for the margin of 48
  });

  test("what comes in from far leaves no room empty beside a large picture", () => {
    const { made } = camera();
    const large = { x: 0, y: 0, width: 6000, height: 4000 };
    made.jump({ scale: 1, x: -3000, y: 0 });
    made.reveal({ x: 10, y: 3900, width: 80, height: 40 }, large);
    expect(made.view.x).toBe(48); // its left edge at the margin, not in the middle
    expect(made.view.y).toBe(600 - 48 - 4000);
  });

  test("zooming stays between its limits", () => {
    const { made } = camera();
    made.zoom(1e6, { x: 0, y: 0 });
    expect(made.view.scale).toBe(4);
    made.zoom(1e-9, { x: 0, y: 0 });
    expect(made.view.scale).toBe(0.02);
  });
});
