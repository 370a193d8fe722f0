// Finds nodes: free words, and a few filters that the words of a debugger suggest.
//
//   conv2d            op, name, module path, tensor name, file, shape or dtype contains it
//   64x10  [64,10]    an output or input of that shape
//   train.py:12       made by that line
//   has:nan           also has:inf, has:bad, has:hook, has:grad
//   has:finding       a finding points at it; GV101: one with this code does
//   is:leaf           also any other kind of node
//   grad>10           norm of the incoming gradient; also < >= <= =
//   -relu             a minus excludes; all words must hold
import type { OpNode, Snapshot } from "../ir/types.js";
import type { Graph } from "./build.js";
import { badValues, gradientNorm, incomingGradients } from "./gradients.js";

type Test = (node: OpNode) => boolean;

/** The nodes that match every word of the query, in the order of the table. */
export function search(graph: Graph, query: string): readonly number[] {
  const { snapshot } = graph;
  const words = query.trim().toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return [];
  const tests = words.map((word) => {
    const excluded = word.length > 1 && word.startsWith("-");
    const test = testOf(snapshot, excluded ? word.slice(1) : word);
    return excluded ? (node: OpNode) => !test(node) : test;
  });
  const found: number[] = [];
  snapshot.nodes.forEach((node, id) => {
    if (tests.every((test) => test(node))) found.push(id);
  });
  return found;
}

function testOf(snapshot: Snapshot, word: string): Test {
  return (
    propertyTest(snapshot, word) ??
    findingTest(snapshot, word) ??
    kindTest(word) ??
    gradientTest(snapshot, word) ??
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
  const wanted = sizes.join(",");
  return (node) =>
    [...node.outputs, ...node.inputs].some(
      (tensor) => snapshot.tensors[tensor]?.shape.join(",") === wanted,
    );
}

function textTest(snapshot: Snapshot, word: string): Test {
  const contains = (text: string | null | undefined) =>
    text?.toLowerCase().includes(word) === true;
  return (node) => {
    const site = node.site === null ? undefined : snapshot.sites[node.site];
    const tensors = [...node.outputs, ...node.inputs].map((id) => snapshot.tensors[id]);
    return (
      contains(node.name) ||
      contains(node.call) ||
      contains(node.scope === null ? null : snapshot.scopes[node.scope]?.path) ||
      contains(site?.file) ||
      tensors.some((tensor) => contains(tensor?.name)) ||
      node.outputs.some((id) => contains(snapshot.tensors[id]?.dtype))
    );
  };
}
