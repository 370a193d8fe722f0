// The nodes that the line under the cursor of an editor made.
import type { OpNode, Snapshot, Source } from "../ir/types.js";
import { formatPlural } from "./format.js";

/** Where the cursor stands in the host's editor. */
export interface CursorPlace {
  /** The cell; null in a file. */
  readonly cell_id: string | null;
  /** The end of the file's path; null in a cell. */
  readonly file: string | null;
  /** From 1. */
  readonly line: number;
  /** What stands there now: a line that was edited since made nothing. */
  readonly text: string;
}

export interface Lit {
  readonly nodes: readonly number[];
  /** "3 nodes from line 4" */
  readonly words: string;
}

/** What the line made; where it only called what did, the nodes of that call. */
export function litBy(
  snapshot: Snapshot | null,
  place: CursorPlace | null,
): Lit | null {
  if (snapshot === null || place === null || place.text.trim() === "") return null;
  const sources = new Set<number>();
  snapshot.sources.forEach((source, row) => {
    if (isThere(source, place)) sources.add(row);
  });
  if (sources.size === 0) return null;
  const isOn = snapshot.sites.map(
    ({ source, line, end_line }) =>
      source !== null &&
      sources.has(source) &&
      line <= place.line &&
      place.line <= end_line,
  );
  const nodes = nodesOnSites(snapshot, isOn);
  if (nodes.length === 0) return null;
  return {
    nodes,
    words: `${formatPlural(nodes.length, "node")} from line ${place.line}`,
  };
}

/** What these places made; where they only called what did, the nodes of those calls. */
export function nodesOnSites(snapshot: Snapshot, isOn: readonly boolean[]): number[] {
  const made = rowsOf(snapshot, ({ site }) => site !== null && isOn[site] === true);
  if (made.length > 0) return made;
  return rowsOf(snapshot, ({ stack }) => stack.some((site) => isOn[site]));
}

/** The same cell, or the same file, with the same words in that line. */
function isThere({ cell_id, file, text }: Source, place: CursorPlace): boolean {
  const isSame =
    place.cell_id !== null
      ? cell_id === place.cell_id
      : place.file !== null && `/${file}`.endsWith(`/${place.file}`);
  return isSame && text.split("\n")[place.line - 1]?.trim() === place.text.trim();
}

function rowsOf({ nodes }: Snapshot, holds: (node: OpNode) => boolean): number[] {
  return nodes.flatMap((node, id) => (holds(node) ? [id] : []));
}
