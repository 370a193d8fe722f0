// Arithmetic on colours written as #rrggbb.

type Rgb = readonly [number, number, number];

/** Read "#rrggbb", "#rgb" or "rgb(…)"; null for anything else. */
export function parseColour(text: string): Rgb | null {
  const written = text.trim();
  const short = /^#([\da-f])([\da-f])([\da-f])$/i.exec(written);
  if (short) {
    const [, r = "0", g = "0", b = "0"] = short;
    return [r, g, b].map((digit) =>
      Number.parseInt(digit + digit, 16),
    ) as unknown as Rgb;
  }
  const long = /^#([\da-f]{2})([\da-f]{2})([\da-f]{2})$/i.exec(written);
  if (long) {
    const [, r = "0", g = "0", b = "0"] = long;
    return [r, g, b].map((digits) => Number.parseInt(digits, 16)) as unknown as Rgb;
  }
  const call = /^rgb\(\s*(\d+)[\s,]+(\d+)[\s,]+(\d+)\s*\)$/.exec(written);
  if (call) return [Number(call[1]), Number(call[2]), Number(call[3])];
  return null;
}

function toHex(rgb: Rgb): string {
  const digits = (value: number) => Math.round(value).toString(16).padStart(2, "0");
  return `#${digits(rgb[0])}${digits(rgb[1])}${digits(rgb[2])}`;
}

/** `share` of `to`, the rest of `from`. */
export function mix(from: string, to: string, share: number): string {
  const a = parseColour(from) ?? [0, 0, 0];
  const b = parseColour(to) ?? [0, 0, 0];
  const at = (i: 0 | 1 | 2) => a[i] + (b[i] - a[i]) * share;
  return toHex([at(0), at(1), at(2)]);
}

/** WCAG's relative luminance, from 0 (black) to 1 (white). */
function luminance(colour: string): number {
  const linear = (parseColour(colour) ?? [0, 0, 0]).map((value) => {
    const share = value / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  const [r = 0, g = 0, b = 0] = linear;
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

/** WCAG's contrast ratio of two colours, from 1 to 21. */
export function contrast(a: string, b: string): number {
  const [low = 0, high = 0] = [luminance(a), luminance(b)].sort((x, y) => x - y);
  return (high + 0.05) / (low + 0.05);
}

/** Black or white, whichever is easier to read on a colour: at least 4.58 to 1. */
export function readableOn(colour: string): string {
  return contrast(colour, "#000000") >= contrast(colour, "#ffffff")
    ? "#000000"
    : "#ffffff";
}
