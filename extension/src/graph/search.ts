// Finds nodes: free words, and a few filters that the words of a debugger suggest.
//
//   conv2d            op, name, also in the code, module path, tensor, file or dtype
//   64x10  [64,10]    an output or input of that shape
//   train.py:12       made by that line
//   has:nan           also has:inf, has:bad, has:hook, has:grad
//   has:finding       a finding points at it; GV101: one with this code does
//   is:leaf           also any other kind of node
//   storage:3         a tensor of that storage goes in or out, is saved, or is written
//   grad>10           norm of the incoming gradient; also < >= <= =
//   -relu             a minus excludes; all words must hold
import type { OpNode, Snapshot } from "../ir/types.js";
import type { Graph } from "./build.js";
import { badValues, gradientNorm, incomingGradients } from "./gradients.js";
import { codeNames } from "./names.js";

type Test = (node: OpNode, id: number) => boolean;

/** The nodes that match every word of the query, in the order of the table: those that
 * are drawn, else those of other steps. */
export function search(graph: Graph, query: string): readonly number[] {
  const { snapshot } = graph;
  const words = query.trim().toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return [];
  const tests = words.map((word) => {
    const excluded = word.length > 1 && word.startsWith("-");
    const test = testOf(snapshot, excluded ? word.slice(1) : word);
    return excluded ? (node: OpNode, id: number) => !test(node, id) : test;
  });
  const found: number[] = [];
  snapshot.nodes.forEach((node, id) => {
    if (tests.every((test) => test(node, id))) found.push(id);
  });
  const { shown } = graph;
  const drawn = shown === null ? found : found.filter((id) => shown[id] === 1);
  return drawn.length > 0 ? drawn : found;
}

function testOf(snapshot: Snapshot, word: string): Test {
  return (
    propertyTest(snapshot, word) ??
    findingTest(snapshot, word) ??
    kindTest(word) ??
    gradientTest(snapshot, word) ??
    storageTest(snapshot, word) ??
    lineTest(snapshot, word) ??
    shapeTest(snapshot, word) ??
    textTest(snapshot, word)
  );
}

function propertyTest(snapshot: Snapshot, word: string): Test | null {
  switch (word) {
    case "has:nan":
      return (node) => badValues(snapshot, node).nans > 0;
    case "has:inf":
      return (node) => badValues(snapshot, node).infs > 0;
    case "has:bad":
      return (node) => {
        const { nans, infs } = badValues(snapshot, node);
        return nans + infs > 0;
      };
    case "has:hook":
      return (node) => node.hooks.length > 0;
    case "has:grad":
      return (node) => incomingGradients(snapshot, node).length > 0;
    default:
      return null;
  }
}

function findingTest(snapshot: Snapshot, word: string): Test | null {
  const found = snapshot.findings.filter(
    ({ code }) => word === "has:finding" || word === code.toLowerCase(),
  );
  if (found.length === 0 && word !== "has:finding") return null;
  const nodes = new Set(found.flatMap((finding) => finding.nodes));
  const pointedAt = new Set(Array.from(nodes, (id) => snapshot.nodes[id]));
  return (node) => pointedAt.has(node);
}

function kindTest(word: string): Test | null {
  const kind = /^is:(\w+)$/.exec(word)?.[1];
  if (kind === undefined) return null;
  return (node) => node.kind === kind || node.flags.includes(kind);
}

const compare: Readonly<Record<string, (a: number, b: number) => boolean>> = {
  ">": (a, b) => a > b,
  "<": (a, b) => a < b,
  ">=": (a, b) => a >= b,
  "<=": (a, b) => a <= b,
  "=": (a, b) => a === b,
};

function gradientTest(snapshot: Snapshot, word: string): Test | null {
  const parts = /^grad(>=|<=|>|<|=)([-+.\de]+|inf)$/.exec(word);
  const [, operator = "", written = ""] = parts ?? [];
  const holds = compare[operator];
  const limit = written === "inf" ? Number.POSITIVE_INFINITY : Number(written);
  if (holds === undefined || Number.isNaN(limit)) return null;
  return (node) => {
    const norm = gradientNorm(snapshot, node);
    return norm !== null && holds(norm, limit);
  };
}

function storageTest(snapshot: Snapshot, word: string): Test | null {
  const written = /^storage:(\d+)$/.exec(word)?.[1];
  if (written === undefined) return null;
  const storage = Number(written);
  const isIn = snapshot.tensors.map((tensor) => tensor.storage === storage);
  const touched = new Set<number | null>();
  for (const { node, tensor } of snapshot.saved) if (isIn[tensor]) touched.add(node);
  for (const write of snapshot.writes) {
    if (write.storage === storage) touched.add(write.node);
  }
  return (node, id) => touched.has(id) || tensorsOf(node, (tensor) => isIn[tensor]);
}

/** Whether something holds for a tensor that goes in or out. */
function tensorsOf(
  { inputs, outputs }: OpNode,
  holds: (tensor: number) => boolean | undefined,
): boolean {
  for (const tensor of outputs) if (holds(tensor)) return true;
  for (const tensor of inputs) if (holds(tensor)) return true;
  return false;
}

function lineTest(snapshot: Snapshot, word: string): Test | null {
  const [, file = "", written = ""] = /^(.+):(\d+)$/.exec(word) ?? [];
  if (file === "") return null;
  const line = Number(written);
  const matches = snapshot.sites.map(
    (site) =>
      site.line <= line &&
      line <= site.end_line &&
      (site.file.toLowerCase().endsWith(file) ||
        labelOf(snapshot, site.source).includes(file)),
  );
  return (node) => node.site !== null && matches[node.site] === true;
}

function labelOf(snapshot: Snapshot, source: number | null): string {
  const label = source === null ? null : snapshot.sources[source]?.label;
  return (label ?? "").toLowerCase();
}

function shapeTest(snapshot: Snapshot, word: string): Test | null {
  const inner = /^[[(](.*)[\])]$/.exec(word)?.[1] ?? word;
  const isBracketed = inner !== word;
  const sizes = inner
    .split(/[,x×*]/)
    .filter((part, i, all) => part || i < all.length - 1);
  if (!isBracketed && sizes.length < 2) return null;
  if (!sizes.every((size) => /^\d+$/.test(size))) return null;
  const wanted = sizes.map(Number);
  const fits = snapshot.tensors.map(
    ({ shape }) =>
      shape.length === wanted.length && wanted.every((size, i) => size === shape[i]),
  );
  return (node) => tensorsOf(node, (tensor) => fits[tensor]);
}

/** Words of ops, types and files repeat from row to row, so each is looked into once. */
function textTest(snapshot: Snapshot, word: string): Test {
  const known = new Map<string, boolean>();
  const holds = (text: string) => text.toLowerCase().includes(word);
  const contains = (text: string | null): boolean => {
    if (text === null) return false;
    const before = known.get(text);
    if (before !== undefined) return before;
    const now = holds(text);
    known.set(text, now);
    return now;
  };
  // Names of tensors hardly ever repeat.
  const named = snapshot.tensors.map(({ name }) => name !== null && holds(name));
  const typed = snapshot.tensors.map(({ dtype }) => contains(dtype));
  const scopes = snapshot.scopes.map(({ path }) => contains(path));
  const sites = snapshot.sites.map(({ file }) => contains(file));
  const inCode = codeNames(snapshot);
  return (node, id) =>
    contains(node.name) ||
    contains(node.call) ||
    contains(inCode.get(id) ?? null) ||
    (node.scope !== null && scopes[node.scope] === true) ||
    (node.site !== null && sites[node.site] === true) ||
    tensorsOf(node, (tensor) => named[tensor]) ||
    node.outputs.some((tensor) => typed[tensor] === true);
}
