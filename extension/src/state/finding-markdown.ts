// A finding as Markdown that reads well in an issue: the line, its chain, what to write.
import type { FindingDetails } from "./findings.js";
import type { Place } from "./inspect.js";
import { visibleCode, visibleText } from "./visible-text.js";

/** A finding as Markdown. What comes from the program stands in code, where no mark of
 * Markdown means anything; a sentence of ours keeps its own code. */
export function findingMarkdown(details: FindingDetails, producer: string): string {
  const { finding, culprit, related } = details;
  const { code, slug, severity, message, fix, diff } = finding;
  const chain = related.map(
    ({ role, place }, at) => `${at + 1}. ${prose(role)}: ${lineOf(place)}`,
  );
  return [
    `**${code} ${prose(slug)}** (${severity})`,
    prose(message),
    culprit === null
      ? ""
      : `${span(culprit.label)}\n\n${fenced("python", linesOf(culprit))}`,
    chain.join("\n"),
    fix === "" ? "" : `**Fix:** ${prose(fix)}`,
    diff === "" ? "" : fenced("diff", diff),
    /^GV\d{3}$/.test(code) ? `With an example: \`gradviz explain ${code}\`` : "",
    producer === "" ? "" : `Found by gradviz on ${prose(producer)}.`,
  ]
    .filter((part) => part !== "")
    .join("\n\n")
    .concat("\n");
}

function lineOf(place: Place): string {
  const text = place.site.text.trim().split("\n")[0] ?? "";
  return text === "" ? span(place.label) : `${span(place.label)} ${span(text)}`;
}

function linesOf({ site }: Place): string {
  return site.text.trim();
}

/** Code within a line, between more backticks than it holds. */
function span(text: string): string {
  const shown = visibleText(text);
  const fence = "`".repeat(longestRun(shown) + 1);
  const pad = /^`|`$/.test(shown) ? " " : "";
  return fence + pad + shown + pad + fence;
}

function fenced(language: string, text: string): string {
  const shown = visibleCode(text);
  const fence = "`".repeat(Math.max(3, longestRun(shown) + 1));
  return `${fence}${language}\n${shown}\n${fence}`;
}

function longestRun(text: string): number {
  return Math.max(0, ...(text.match(/`+/g) ?? []).map((run) => run.length));
}

/** A sentence outside of its code: what would be Markdown or HTML is escaped. */
function prose(text: string): string {
  const pieces = visibleText(text).split("`");
  if (pieces.length % 2 === 0) return escapedProse(pieces.join("'"));
  return pieces
    .map((piece, at) => (at % 2 === 0 ? escapedProse(piece) : span(piece)))
    .join("");
}

/** Also what GitHub makes a mention or a link of another issue. */
function escapedProse(text: string): string {
  return text.replace(/[\\*_~<>[\]|]/g, "\\$&").replace(/([@#])(?=\w)/g, "$1\u200b");
}
