// Closed scopes from one step of a training to another, whose modules are other calls.
import { shownNodes } from "../graph/shown.js";
import type { Snapshot } from "../ir/types.js";
import { scopeChain } from "./collapse.js";

/** Per scope that holds something drawn: its path without the numbers of the calls, and
 * its place among those of the same path. "net#3.head" is the first "net.head" of step 3. */
function placesOf(snapshot: Snapshot): Map<number, string> {
  const { nodes, scopes } = snapshot;
  const shown = shownNodes(snapshot);
  const holds = new Set<number>();
  nodes.forEach(({ scope }, id) => {
    if (scope === null || holds.has(scope) || shown?.[id] === 0) return;
    for (const around of scopeChain(scopes, scope)) holds.add(around);
  });
  const counts = new Map<string, number>();
  const places = new Map<number, string>();
  for (const id of [...holds].sort((a, b) => a - b)) {
    const path = (scopes[id]?.path ?? "").replace(/#\d+/g, "");
    const count = counts.get(path) ?? 0;
    counts.set(path, count + 1);
    places.set(id, `${path} ${count}`);
  }
  return places;
}

/** What is closed in one step, closed in another; what is new there, as at first sight. */
export function carryToStep(
  before: Snapshot,
  collapsed: ReadonlySet<number>,
  after: Snapshot,
  atFirst: (snapshot: Snapshot) => ReadonlySet<number>,
): Set<number> {
  const known = new Map(
    Array.from(placesOf(before), ([id, place]) => [place, collapsed.has(id)]),
  );
  let first: ReadonlySet<number> | null = null;
  const closed = new Set<number>();
  for (const [id, place] of placesOf(after)) {
    first ??= known.has(place) ? null : atFirst(after);
    if (known.get(place) ?? first?.has(id)) closed.add(id);
  }
  return closed;
}
