// The words on boxes and edges.
import type { Graph } from "../graph/build.js";
import { layersOf } from "../graph/calls.js";
import { isBeside } from "../graph/cuts.js";
import { gradientNorm } from "../graph/gradients.js";
import { codeNames, scopeNames } from "../graph/names.js";
import type { OpNode, Scope, Snapshot, TensorMeta } from "../ir/types.js";
import { formatPlural } from "../state/format.js";
import { visibleText } from "../state/visible-text.js";
import { bareName } from "./families.js";
import { regionText, writtenRegion, writtenTensor } from "./region.js";

export interface Label {
  readonly title: string;
  readonly subtitle: string;
}

/** The name in the code, else the op; below it the op and the shape. */
export function nodeLabel(snapshot: Snapshot, node: OpNode, id: number): Label {
  if (isBeside(node)) {
    const words = [node.name, nodeSubtitle(snapshot, node)];
    return { title: node.call, subtitle: words.filter(Boolean).join(" · ") };
  }
  const op = nodeTitle(snapshot, node);
  const name = node.name === COPY_SLICES ? undefined : codeNames(snapshot).get(id);
  const title = name ?? op;
  const subtitle = nodeSubtitle(snapshot, node);
  const isNamed = title !== op;
  return {
    title: node.count > 1 ? `${title} ×${node.count.toLocaleString("en")}` : title,
    subtitle: isNamed ? [op, subtitle].filter(Boolean).join(" · ") : subtitle,
  };
}

function nodeTitle(snapshot: Snapshot, node: OpNode): string {
  if (node.kind === "accumulate" || node.kind === "leaf") {
    const tensor = snapshot.tensors[node.outputs[0] ?? -1];
    const name = node.call || tensor?.name || "";
    const scope = node.scope === null ? undefined : snapshot.scopes[node.scope];
    return name === "" ? "leaf" : withinScope(name, scope);
  }
  if (node.name === COPY_SLICES) return COPY_SLICES;
  return node.call || bareName(node.name);
}

const COPY_SLICES = "CopySlices";

/** The op inside, and the region it wrote: "mul_ wrote [0] of 4×3". */
function copySlicesSubtitle(snapshot: Snapshot, node: OpNode): string {
  const base = writtenTensor(snapshot, node);
  const op = opInside(snapshot, node);
  const region = writtenRegion(snapshot, node);
  const shape = base === undefined ? "" : tensorLabel(base);
  if (region === null) return [op, shape].filter(Boolean).join(" · ");
  return [op, "wrote", regionText(region), "of", shape].filter(Boolean).join(" ");
}

/** The recording names it, or the log of writes does, by the line that wrote. */
function opInside({ writes }: Snapshot, node: OpNode): string {
  if (node.call !== "copy_slices") return node.call;
  if (node.site === null) return "";
  return writes.find(({ site }) => site === node.site)?.op ?? "";
}

/** ":41 k = k.transpose(1, 2)": the line that made the node; "" where it is not known. */
export function expressionLabel({ sites }: Snapshot, node: OpNode): string {
  const site = node.site === null ? undefined : sites[node.site];
  const first = visibleText(site?.text.trim().split("\n")[0] ?? "");
  return site === undefined ? "" : `:${site.line} ${first}`.trim();
}

/** How large the gradient is that came in, and what the output holds; "" where neither
 * was recorded. */
export function statisticsLabel(snapshot: Snapshot, node: OpNode): string {
  const norm = gradientNorm(snapshot, node);
  const row = snapshot.tensors[node.outputs[0] ?? -1]?.statistics ?? null;
  const { mean = null, std = null } = snapshot.statistics[row ?? -1] ?? {};
  const parts = [
    norm === null ? "" : `|g| ${formatShort(norm)}`,
    mean === null ? "" : `μ ${formatShort(mean)}`,
    std === null ? "" : `σ ${formatShort(std)}`,
  ];
  return parts.filter(Boolean).join("  ");
}

/** Three digits: boxes are narrow. */
export function formatShort(value: number): string {
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-3 || size >= 1e5)) {
    return value.toExponential(1).replace("e+", "e");
  }
  return String(Number(value.toPrecision(3)));
}

/** "net.conv.weight" is just "weight" inside the box of net.conv. */
function withinScope(name: string, scope: Scope | undefined): string {
  const dot = name.lastIndexOf(".");
  if (scope === undefined || dot < 0) return name;
  const owner = name.slice(0, dot);
  const path = scope.path.replace(/#\d+/g, "");
  return path === owner || path.endsWith(`.${owner}`) ? name.slice(dot + 1) : name;
}

function nodeSubtitle(snapshot: Snapshot, node: OpNode): string {
  if (node.name === COPY_SLICES) return copySlicesSubtitle(snapshot, node);
  const tensor = snapshot.tensors[node.outputs[0] ?? -1];
  if (tensor === undefined) return "";
  const more = node.outputs.length - 1;
  return more > 0 ? `${tensorLabel(tensor)}  +${more}` : tensorLabel(tensor);
}

const SHORT_DTYPES: Readonly<Record<string, string>> = {
  float32: "",
  float64: "f64",
  float16: "f16",
  bfloat16: "bf16",
  int64: "i64",
  int32: "i32",
  int16: "i16",
  int8: "i8",
  uint8: "u8",
  complex64: "c64",
  complex128: "c128",
};

/** "64×10", with the number type where it is not float32. */
export function tensorLabel(tensor: TensorMeta): string {
  const dtype = SHORT_DTYPES[tensor.dtype] ?? tensor.dtype;
  return dtype === "" ? shapeLabel(tensor) : `${shapeLabel(tensor)} ${dtype}`;
}

function shapeLabel(tensor: TensorMeta): string {
  return tensor.shape.length === 0 ? "scalar" : tensor.shape.join("×");
}

/** A layer says what it gives, like an op, and has the name of that where the code has
 * none for the module; other modules say how much they hold. */
export function scopeLabel({ snapshot, scopeSize }: Graph, scope: number): Label {
  const { name = "", kind = "" } = snapshot.scopes[scope] ?? {};
  const id = layersOf(snapshot).get(scope)?.result ?? -1;
  const result = snapshot.nodes[id];
  const content =
    result === undefined
      ? formatPlural(scopeSize[scope] ?? 0, "node")
      : nodeSubtitle(snapshot, result);
  const title = (scopeNames(snapshot).get(scope) ?? name) || kind;
  const given = title === kind ? codeNames(snapshot).get(id) : undefined;
  const own = given ?? title;
  const kinds = kind === own ? [] : [kind];
  return { title: own, subtitle: [...kinds, content].filter(Boolean).join(" · ") };
}

/** What an open scope says beside its name. */
export function scopeKind(snapshot: Snapshot, scope: number): string {
  const { name, kind = "" } = snapshot.scopes[scope] ?? {};
  return kind === (scopeNames(snapshot).get(scope) ?? name) ? "" : kind;
}
