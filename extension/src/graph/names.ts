// What things are called in the user's code: `k` of `k = k.transpose(1, 2)`, and modules
// without the number of their call where only one call is drawn.
import type { OpNode, Site, Snapshot } from "../ir/types.js";
import { isLeaf } from "./parts.js";
import { eachDrawn } from "./shown.js";

/** The name that a statement gives to the whole value of an expression; "" if none.
 *
 * "q, k = self.q(x), self.k(x)" names its second expression `k`. */
export function assignedName({
  text,
  line,
  end_line,
  column,
  end_column,
}: Site): string {
  if (column === null || end_column === null) return "";
  const lines = text.split("\n");
  const before = (lines[0] ?? "").slice(0, column - 1);
  const own = lines.slice(0, end_line - line + 1).join("\n");
  const lastLine = own.length - (own.split("\n").at(-1) ?? "").length;
  const after = own.slice(lastLine + end_column - 1);
  const augmented = /^\s*([\w.]+)\s*(?:[-+*/@%&|^]|\/\/|\*\*|<<|>>)=/.exec(own);
  if (augmented !== null && before.trim() === "") return bare(augmented[1] ?? "");
  const [, targets = "", rest = ""] =
    /^\s*([\w.]+(?:\s*,\s*[\w.]+)*)\s*=(?!=)\s*(.*)$/.exec(before) ?? [];
  const names = targets.split(",").map((name) => bare(name.trim()));
  if (names.length < 2) {
    const isWhole = /^\(*$/.test(rest) && /^\)*\s*(?:[;#].*)?$/.test(after);
    return isWhole ? (names[0] ?? "") : "";
  }
  if (rest === "" && /^\s*(?:[;#].*)?$/.test(after)) return names.join(", ");
  const isPart = /^\s*(?:,|$)/.test(after) && /(?:^|,)\s*$/.test(rest);
  return isPart ? (names[topLevelCommas(rest)] ?? "") : "";
}

/** "self.state" is `state`. */
function bare(name: string): string {
  return name.replace(/^self\./, "");
}

function topLevelCommas(text: string): number {
  let [depth, count] = [0, 0];
  for (const letter of text) {
    if ("([{".includes(letter)) depth += 1;
    else if (")]}".includes(letter)) depth -= 1;
    else if (letter === "," && depth === 0) count += 1;
  }
  return count;
}

const known = new WeakMap<Snapshot["nodes"], ReadonlyMap<number, string>>();

/** The names of the nodes in the code, as far as they have one. Of the nodes that one
 * expression made, the last has the name. */
export function codeNames(snapshot: Snapshot): ReadonlyMap<number, string> {
  const found = known.get(snapshot.nodes);
  if (found !== undefined) return found;
  const names = nameAll(snapshot);
  known.set(snapshot.nodes, names);
  return names;
}

function nameAll(snapshot: Snapshot): Map<number, string> {
  const { nodes, edges, sites, tensors } = snapshot;
  const inner = new Uint8Array(nodes.length); // another node of the expression uses it
  for (const { source, target } of edges) {
    const [from, to] = [nodes[source], nodes[target]];
    if (from === undefined || to === undefined || source === target) continue;
    const isOne = from.site === to.site && from.iteration === to.iteration;
    if (isOne && from.site !== null) inner[source] = 1;
  }
  const bySite = new Map<number, string>();
  const names = new Map<number, string>();
  nodes.forEach((node, id) => {
    if (isLeaf(node)) return;
    const tensor = tensors[node.outputs[0] ?? -1];
    const recorded = tensor?.name || tensor?.holders[0] || "";
    if (recorded !== "") {
      names.set(id, recorded);
      return;
    }
    const site = node.site === null ? undefined : sites[node.site];
    if (site === undefined || node.site === null || inner[id] === 1) return;
    const name = bySite.get(node.site) ?? assignedName(site);
    bySite.set(node.site, name);
    if (name !== "") names.set(id, name);
  });
  return names;
}

const titles = new WeakMap<Snapshot, ReadonlyMap<number, string>>();

/** Per scope that is the only drawn call of its module: its name without the number. */
export function scopeNames(snapshot: Snapshot): ReadonlyMap<number, string> {
  const found = titles.get(snapshot);
  if (found !== undefined) return found;
  const { scopes } = snapshot;
  const drawn = new Set<number>();
  eachDrawn(snapshot, ({ scope }) => {
    for (
      let at = scope;
      at !== null && !drawn.has(at);
      at = scopes[at]?.parent ?? null
    ) {
      drawn.add(at);
    }
  });
  const calls = new Map<string, number>();
  const pathOf = (scope: number) => (scopes[scope]?.path ?? "").replace(/#\d+/g, "");
  for (const scope of drawn) {
    calls.set(pathOf(scope), (calls.get(pathOf(scope)) ?? 0) + 1);
  }
  const names = new Map<number, string>();
  for (const scope of drawn) {
    const name = scopes[scope]?.name ?? "";
    if (/#\d+$/.test(name) && calls.get(pathOf(scope)) === 1) {
      names.set(scope, name.replace(/#\d+$/, ""));
    }
  }
  titles.set(snapshot, names);
  return names;
}

/** The op of a node: "transpose", else what its class is called. */
export function opOf(node: OpNode): string {
  return node.call || node.name.replace(/Backward\d*$/, "");
}
