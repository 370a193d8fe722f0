// Writes what is painted as SVG: every filled or stroked path and every word one element.
import { xmlText } from "../state/xml.js";
import type { Pen } from "./pen.js";

type Style = CanvasRenderingContext2D["fillStyle"];
type Transform = readonly [number, number, number, number, number, number];

/** What `save` keeps. */
interface Look {
  fillStyle: Style;
  strokeStyle: Style;
  lineWidth: number;
  lineCap: CanvasLineCap;
  lineJoin: CanvasLineJoin;
  globalAlpha: number;
  font: string;
  textAlign: CanvasTextAlign;
  textBaseline: CanvasTextBaseline;
}

const START: Look = {
  fillStyle: "#000000",
  strokeStyle: "#000000",
  lineWidth: 1,
  lineCap: "butt",
  lineJoin: "miter",
  globalAlpha: 1,
  font: "10px sans-serif",
  textAlign: "start",
  textBaseline: "alphabetic",
};
const UNMOVED: Transform = [1, 0, 0, 1, 0, 0];
/** From a font's middle line to its baseline, in its size; readers differ on keywords. */
const MIDDLE = 0.35;
const ANCHORS: Readonly<Partial<Record<CanvasTextAlign, string>>> = {
  center: "middle",
  right: "end",
  end: "end",
};

/** How wide a text is in a CSS font: other readers have other fonts. */
export type TextWidth = (text: string, font: string) => number;

export class SvgPen implements Pen {
  fillStyle = START.fillStyle;
  strokeStyle = START.strokeStyle;
  lineWidth = START.lineWidth;
  lineCap = START.lineCap;
  lineJoin = START.lineJoin;
  globalAlpha = START.globalAlpha;
  font = START.font;
  textAlign = START.textAlign;
  textBaseline = START.textBaseline;
  private readonly parts: string[] = [];
  private readonly saved: { look: Look; clips: number }[] = [];
  private path: string[] = [];
  private dash: readonly number[] = [];
  private transform: Transform = UNMOVED;
  private isGrouped = false;
  private clips = 0;
  private clipCount = 0;

  constructor(private readonly widthOf: TextWidth) {}

  /** Everything that was painted until now, as elements. */
  elements(): string {
    this.closeGroup();
    return this.parts.join("\n");
  }

  setTransform(first: DOMMatrix2DInit | number | undefined, ...rest: number[]): void {
    const [b = 0, c = 0, d = 1, e = 0, f = 0] = rest;
    this.closeGroup();
    this.transform = [typeof first === "number" ? first : 1, b, c, d, e, f];
  }

  save(): void {
    const { fillStyle, strokeStyle, lineWidth, lineCap, lineJoin } = this;
    const { globalAlpha, font, textAlign, textBaseline } = this;
    const lines = { strokeStyle, lineWidth, lineCap, lineJoin };
    const words = { font, textAlign, textBaseline };
    const look = { fillStyle, globalAlpha, ...lines, ...words };
    this.saved.push({ look, clips: this.clips });
  }

  restore(): void {
    const last = this.saved.pop();
    if (last === undefined) return;
    Object.assign(this, last.look);
    for (; this.clips > last.clips; this.clips--) this.parts.push("</g>");
  }

  beginPath(): void {
    this.path = [];
  }

  moveTo(x: number, y: number): void {
    this.path.push(`M${px(x)} ${px(y)}`);
  }

  lineTo(x: number, y: number): void {
    this.path.push(`L${px(x)} ${px(y)}`);
  }

  bezierCurveTo(...points: [number, number, number, number, number, number]): void {
    this.path.push(`C${points.map(px).join(" ")}`);
  }

  quadraticCurveTo(...points: [number, number, number, number]): void {
    this.path.push(`Q${points.map(px).join(" ")}`);
  }

  arc(x: number, y: number, radius: number, start: number, end: number): void {
    const at = (angle: number) =>
      `${px(x + radius * Math.cos(angle))} ${px(y + radius * Math.sin(angle))}`;
    const turn = `A${px(radius)} ${px(radius)} 0 0 1`;
    const stops = [0.25, 0.5, 0.75, 1].map((share) => start + share * (end - start));
    const arcs = stops.map((angle) => `${turn} ${at(angle)}`);
    this.path.push(`${this.path.length === 0 ? "M" : "L"}${at(start)}${arcs.join("")}`);
  }

  rect(x: number, y: number, width: number, height: number): void {
    this.path.push(`M${px(x)} ${px(y)}h${px(width)}v${px(height)}h${px(-width)}z`);
  }

  roundRect(
    x: number,
    y: number,
    width: number,
    height: number,
    radii?: number | DOMPointInit | Iterable<number | DOMPointInit>,
  ): void {
    const most = Math.min(width, height) / 2;
    const r = Math.min(typeof radii === "number" ? radii : 0, most);
    const turn = (dx: number, dy: number) =>
      `a${px(r)} ${px(r)} 0 0 1 ${px(dx)} ${px(dy)}`;
    this.path.push(
      `M${px(x + r)} ${px(y)}h${px(width - 2 * r)}${turn(r, r)}v${px(height - 2 * r)}` +
        `${turn(-r, r)}h${px(2 * r - width)}${turn(-r, -r)}v${px(2 * r - height)}` +
        `${turn(r, -r)}z`,
    );
  }

  closePath(): void {
    this.path.push("Z");
  }

  fill(): void {
    this.add(`<path d="${this.path.join("")}" fill="${colour(this.fillStyle)}"/>`);
  }

  stroke(): void {
    const { lineWidth, lineCap, lineJoin } = this;
    const dash = this.dash.length === 0 ? "" : ` stroke-dasharray="${this.dash}"`;
    const cap = lineCap === "butt" ? "" : ` stroke-linecap="${lineCap}"`;
    const join = lineJoin === "miter" ? "" : ` stroke-linejoin="${lineJoin}"`;
    const line = `stroke="${colour(this.strokeStyle)}" stroke-width="${px(lineWidth)}"`;
    this.add(
      `<path d="${this.path.join("")}" fill="none" ${line}${dash}${cap}${join}/>`,
    );
  }

  /** What follows is painted inside of the path only, until `restore`. */
  clip(): void {
    const id = `clip-${this.clipCount++}`;
    this.openGroup();
    const path = `<path d="${this.path.join("")}"/>`;
    this.parts.push(
      `<clipPath id="${id}">${path}</clipPath><g clip-path="url(#${id})">`,
    );
    this.clips++;
  }

  clearRect(): void {} // an empty page is clear

  fillRect(x: number, y: number, width: number, height: number): void {
    this.add(`<rect ${area(x, y, width, height)} fill="${colour(this.fillStyle)}"/>`);
  }

  strokeRect(x: number, y: number, width: number, height: number): void {
    const line = `stroke="${colour(this.strokeStyle)}" stroke-width="${px(this.lineWidth)}"`;
    this.add(`<rect ${area(x, y, width, height)} fill="none" ${line}/>`);
  }

  fillText(text: string, x: number, y: number): void {
    const { size, weight, family } = parseFont(this.font);
    const anchor = ANCHORS[this.textAlign];
    const baseline = this.textBaseline === "middle" ? y + MIDDLE * size : y;
    const attributes = [
      `x="${px(x)}" y="${px(baseline)}" fill="${colour(this.fillStyle)}"`,
      `font-size="${px(size)}" font-weight="${weight}"`,
      `font-family="${xmlText(family)}"`,
      anchor === undefined ? "" : `text-anchor="${anchor}"`,
      `textLength="${px(this.widthOf(text, this.font))}"`,
      'lengthAdjust="spacingAndGlyphs" xml:space="preserve"',
    ];
    if (text.trim() !== "") {
      this.add(`<text ${attributes.filter(Boolean).join(" ")}>${xmlText(text)}</text>`);
    }
  }

  setLineDash(segments: Iterable<number>): void {
    this.dash = Array.from(segments);
  }

  private add(element: string): void {
    this.openGroup();
    const alpha = this.globalAlpha;
    this.parts.push(alpha < 1 ? `<g opacity="${alpha}">${element}</g>` : element);
  }

  private openGroup(): void {
    if (this.isGrouped) return;
    this.parts.push(`<g transform="matrix(${this.transform.map(px).join(" ")})">`);
    this.isGrouped = true;
  }

  private closeGroup(): void {
    if (this.isGrouped) this.parts.push("</g>");
    this.isGrouped = false;
  }
}

/** At most two digits behind the point, and never an exponent. */
function px(value: number): string {
  const rounded = Math.round(value * 100) / 100;
  return Number.isFinite(rounded) ? String(rounded) : "0";
}

function area(x: number, y: number, width: number, height: number): string {
  return `x="${px(x)}" y="${px(y)}" width="${px(width)}" height="${px(height)}"`;
}

function colour(style: Style): string {
  return typeof style === "string" ? xmlText(style) : "none";
}

/** The parts of a font as `TextMetrics.font` writes it. */
function parseFont(font: string) {
  const [, weight = "400", size = "12", family = "sans-serif"] =
    /^(?:(\d+|bold|normal) )?([\d.]+)px (.+)$/.exec(font) ?? [];
  return { size: Number(size), weight, family };
}
