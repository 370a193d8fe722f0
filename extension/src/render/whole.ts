// The picture as it stands, for files, highlights too: every open box at full size, or
// what the screen shows.
import { xmlText } from "../state/xml.js";
import type { Frame } from "./frame.js";
import { paint } from "./paint.js";
import type { Pen } from "./pen.js";
import type { FrameParts } from "./picture.js";
import { SvgPen } from "./svg-pen.js";
import type { TextMetrics } from "./text-metrics.js";

const MARGIN = 24;
/** Beyond, no program opens the SVG, and nobody could read it. */
const MOST_BOXES = 20_000;
/** What browsers allow a canvas: pixels of a side, and in all. */
const MOST_SIDE = 16_000;
const MOST_PIXELS = 100_000_000;
const SHARPNESS = 2; // device pixels per CSS pixel, where that fits
const TOO_LARGE =
  "The picture would have more than 20,000 boxes: close some modules first.";
const TOO_BIG_TO_PAINT = "This browser could not paint a picture of that size.";

/** What is drawn now, what measures its words, and where the camera looks. */
export interface Whole {
  readonly parts: FrameParts;
  readonly text: TextMetrics;
  readonly seen: Pick<Frame, "view" | "size">;
}

/** All of it at full size, or what the screen shows. */
export type Extent = "whole" | "seen";

function placed({ parts, seen }: Whole, extent: Extent) {
  if (extent === "seen") return seen;
  const { boxes, bounds } = parts.scene;
  if (boxes.length > MOST_BOXES) throw new Error(TOO_LARGE);
  const width = Math.ceil(bounds.width) + 2 * MARGIN;
  const size = { width, height: Math.ceil(bounds.height) + 2 * MARGIN };
  return { size, view: { scale: 1, x: MARGIN - bounds.x, y: MARGIN - bounds.y } };
}

function paintWhole(pen: Pen, whole: Whole, extent: Extent, pixelRatio: number): void {
  const { parts, text } = whole;
  const { size, view } = placed(whole, extent);
  const world = {
    x: -view.x / view.scale,
    y: -view.y / view.scale,
    width: size.width / view.scale,
    height: size.height / view.scale,
  };
  paint(pen, { ...parts, text, size, view, world, hovered: -1, pixelRatio });
}

/** The picture as a file of its own: no script, no font and no address in it. */
export function wholeSvg(whole: Whole, title: string, extent: Extent): string {
  const { width, height } = placed(whole, extent).size;
  const page = whole.parts.theme.background;
  const pen = new SvgPen(whole.text.width);
  paintWhole(pen, whole, extent, 1);
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img">`,
    `<title>${xmlText(title)}</title>`,
    `<rect width="100%" height="100%" fill="${xmlText(page)}"/>`,
    pen.elements(),
    "</svg>\n",
  ].join("\n");
}

/** The picture in pixels; twice as sharp as on the screen, where a canvas allows it. */
export async function wholePng(
  whole: Whole,
  page: Document,
  extent: Extent,
): Promise<Blob> {
  const { width, height } = placed(whole, extent).size;
  const scale = Math.min(
    SHARPNESS,
    MOST_SIDE / Math.max(width, height),
    Math.sqrt(MOST_PIXELS / (width * height)),
  );
  const canvas = page.createElement("canvas");
  canvas.width = Math.floor(width * scale);
  canvas.height = Math.floor(height * scale);
  const context = canvas.getContext("2d");
  if (context === null) throw new Error(TOO_BIG_TO_PAINT);
  paintWhole(context, whole, extent, scale);
  context.setTransform(1, 0, 0, 1, 0, 0);
  context.globalCompositeOperation = "destination-over";
  context.fillStyle = whole.parts.theme.background;
  context.fillRect(0, 0, canvas.width, canvas.height);
  return new Promise((resolve, reject) => {
    canvas.toBlob((blob) => {
      if (blob === null) reject(new Error(TOO_BIG_TO_PAINT));
      else resolve(blob);
    }, "image/png");
  });
}
