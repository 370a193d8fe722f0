// Measures texts once and remembers; cuts what does not fit.
import type { Measure } from "../scene/boxes.js";
import { visibleText } from "../state/visible-text.js";

export interface TextMetrics {
  readonly measure: Measure;
  /** The CSS font of a size and weight. */
  font(size: number, bold: boolean): string;
  /** The text, or its beginning with an ellipsis, so that it fits a width. */
  fit(text: string, size: number, bold: boolean, width: number): string;
  /** The width of a text that is written as it stands, in a CSS font. */
  width(text: string, font: string): number;
}

const MEDIUM = 600;
const REGULAR = 400;

export function createTextMetrics(
  context: CanvasRenderingContext2D,
  family: string,
): TextMetrics {
  const widths = new Map<string, number>();
  const fitted = new Map<string, string>();
  const font = (size: number, bold: boolean) =>
    `${bold ? MEDIUM : REGULAR} ${size}px ${family}`;
  const measure = (text: string, size: number, bold: boolean) => {
    const key = `${size}${bold ? "b" : ""} ${text}`;
    const known = widths.get(key);
    if (known !== undefined) return known;
    context.font = font(size, bold);
    const { width } = context.measureText(visibleText(text));
    widths.set(key, width);
    return width;
  };
  const fit = (text: string, size: number, bold: boolean, width: number) => {
    if (measure(text, size, bold) <= width) return visibleText(text);
    const key = `${size}${bold ? "b" : ""}${Math.floor(width)} ${text}`;
    const known = fitted.get(key);
    if (known !== undefined) return known;
    const result = cut(visibleText(text), (part) => measure(part, size, bold) <= width);
    fitted.set(key, result);
    return result;
  };
  const width = (text: string, cssFont: string) => {
    context.font = cssFont;
    return context.measureText(text).width;
  };
  return { measure, font, fit, width };
}

/** The longest beginning that fits with an ellipsis, found by halving. */
function cut(text: string, fits: (part: string) => boolean): string {
  const letters = [...text];
  let low = 0;
  let high = letters.length;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (fits(`${letters.slice(0, middle).join("")}…`)) low = middle;
    else high = middle - 1;
  }
  return low === 0 ? "" : `${letters.slice(0, low).join("").trimEnd()}…`;
}
