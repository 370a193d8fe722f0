// The kept source text around a place, cut into lines with the expression marked.
import type { Site, Source } from "../ir/types.js";

export interface Segment {
  readonly text: string;
  readonly marked: boolean;
}

export interface ExcerptLine {
  readonly number: number;
  /** Whether the line belongs to the place itself or is context around it. */
  readonly inside: boolean;
  readonly segments: readonly Segment[];
}

/** The columns of one line that are marked, from 0, end exclusive; null for none. */
function markedRange(site: Site, line: number, text: string): [number, number] | null {
  if (line < site.line || line > site.end_line) return null;
  const characters = Array.from(text);
  const indent = characters.findIndex((character) => character.trim() !== "");
  if (indent < 0) return null;
  const start = line === site.line && site.column !== null ? site.column - 1 : indent;
  const stop =
    line === site.end_line && site.end_column !== null
      ? site.end_column - 1
      : characters.length;
  const range: [number, number] = [
    Math.max(0, start),
    Math.min(stop, characters.length),
  ];
  return range[0] < range[1] ? range : null;
}

function segmentsOf(text: string, range: [number, number] | null): Segment[] {
  if (range === null) return text === "" ? [] : [{ text, marked: false }];
  // Columns count characters, as Python does; JavaScript's own index counts halves.
  const characters = Array.from(text);
  const parts: Segment[] = [
    { text: characters.slice(0, range[0]).join(""), marked: false },
    { text: characters.slice(range[0], range[1]).join(""), marked: true },
    { text: characters.slice(range[1]).join(""), marked: false },
  ];
  return parts.filter((part) => part.text !== "");
}

/** The lines to show: `context` lines around the place, or its own text alone.
 *
 * Empty when neither the source nor the text of the place was kept. */
export function excerpt(
  site: Site,
  source: Source | null,
  context: number,
): ExcerptLine[] {
  const whole = source === null ? [] : source.text.split(/\r?\n/);
  const kept = whole.length >= site.line && site.line >= 1;
  if (!kept && site.text === "") return [];
  const first = kept ? Math.max(1, site.line - context) : site.line;
  const texts = kept
    ? whole.slice(first - 1, site.end_line + context)
    : site.text.split(/\r?\n/);
  // A text that ends with a newline has no line after it.
  while (first + texts.length - 1 > site.end_line && texts.at(-1) === "") texts.pop();
  return texts.map((text, i) => {
    const number = first + i;
    return {
      number,
      inside: number >= site.line && number <= site.end_line,
      segments: segmentsOf(text, markedRange(site, number, text)),
    };
  });
}
