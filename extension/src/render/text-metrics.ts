// Measures texts once and remembers; cuts what does not fit.
import type { Measure } from "../scene/boxes.js";
import { visibleText } from "../state/visible-text.js";
import { Recent } from "./recent.js";

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
const ROOM = 500; // texts

export function createTextMetrics(
  context: CanvasRenderingContext2D,
  family: string,
): TextMetrics {
  const widths = new Recent<number>(ROOM);
  const fitted = new Recent<string>(ROOM);
  const font = (size: number, bold: boolean) =>
    `${bold ? MEDIUM : REGULAR} ${size}px ${family}`;
  const widthOf = (text: string, size: number, bold: boolean) => {
    context.font = font(size, bold);
    return context.measureText(visibleText(text)).width;
  };
  const measure = (text: string, size: number, bold: boolean) =>
    widths.of(`${size}${bold ? "b" : ""} ${text}`, () => widthOf(text, size, bold));
  const fit = (text: string, size: number, bold: boolean, width: number) => {
    if (measure(text, size, bold) <= width) return visibleText(text);
    return fitted.of(`${size}${bold ? "b" : ""}${Math.floor(width)} ${text}`, () =>
      cut(visibleText(text), (part) => widthOf(part, size, bold) <= width),
    );
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
