// Floating point operations of the forward pass: of what multiplies matrices, as
// torch.utils.flop_counter counts them (a multiplication and an addition are two). What
// else a module does is small beside that, and not counted.
//
//   (…, m, k) @ (…, k, n)              2 · m · n · k per matrix of the result
//   convolution                        2 · elements of the result · elements of a filter
//   attention, (…, l, e), (…, s, e)    2 · l · s · (e of the keys + e of the values)
import type { OpNode, Snapshot, TensorMeta } from "../ir/types.js";

type Shape = readonly number[];

const MATRIX = /^(Addmm|Mm|Bmm|Baddbmm|Addbmm|Linear|Matmul|Mv|Dot)(Backward|$)/i;
const CONVOLUTION = /conv(olution|transpose|depthwise|\dd)/i;
const ATTENTION = /^Scaled\w*Attention/i;

/** The name of the class or of the call, without the marks of backward functions. */
function kindOf({ name, call }: OpNode): "matrix" | "convolution" | "attention" | null {
  for (const word of [name, call.replaceAll("_", "")]) {
    if (ATTENTION.test(word)) return "attention";
    if (CONVOLUTION.test(word)) return "convolution";
    if (MATRIX.test(word)) return "matrix";
  }
  return null;
}

/** What the nodes of a module multiply in the forward pass; null: nothing, or of one of
 * them the shapes are not known. */
export function flopsOf(snapshot: Snapshot, nodes: Iterable<number>): number | null {
  const wanted = new Set<number>();
  for (const id of nodes) {
    const node = snapshot.nodes[id];
    const isOp = node?.kind === "op" || node?.kind === "custom";
    if (node !== undefined && isOp && kindOf(node) !== null) wanted.add(id);
  }
  if (wanted.size === 0) return null;
  const saved = new Map<number, Map<string, Shape>>();
  for (const { node, slot, tensor } of snapshot.saved) {
    const shape = snapshot.tensors[tensor]?.shape;
    if (!wanted.has(node) || shape === undefined) continue;
    const known = saved.get(node);
    if (known === undefined) saved.set(node, new Map([[slot, shape]]));
    else known.set(slot, shape);
  }
  let sum = 0;
  for (const id of wanted) {
    const node = snapshot.nodes[id] as OpNode;
    const own = countOf(snapshot, node, saved.get(id) ?? new Map());
    if (own === null) return null;
    sum += own * node.count;
  }
  return sum;
}

function countOf(
  { tensors }: Snapshot,
  node: OpNode,
  saved: ReadonlyMap<string, Shape>,
): number | null {
  const shapeOf = (row: number | undefined) =>
    (tensors[row ?? -1] as TensorMeta | undefined)?.shape;
  const out = shapeOf(node.outputs[0]);
  const inputs = node.inputs.map(shapeOf);
  switch (kindOf(node)) {
    case "matrix": {
      const length = contracted(inputs, saved);
      return out === undefined || length === null ? null : 2 * product(out) * length;
    }
    case "convolution": {
      const filter = saved.get("_saved_weight") ?? saved.get("weight") ?? inputs[1];
      const isTransposed = /transpose/i.test(`${node.name} ${node.call}`);
      const places = isTransposed ? (saved.get("_saved_input") ?? inputs[0]) : out;
      if (filter === undefined || filter.length < 3 || places === undefined)
        return null;
      return 2 * product(places) * product(filter.slice(1));
    }
    case "attention": {
      const [query, key, value] = inputs;
      if (!query || !key || !value) return null;
      const width = (key.at(-1) ?? 0) + (value.at(-1) ?? 0);
      return 2 * product(query.slice(0, -1)) * (key.at(-2) ?? 0) * width;
    }
    default:
      return null;
  }
}

/** The length that a product of matrices sums over. */
function contracted(
  inputs: readonly (Shape | undefined)[],
  saved: ReadonlyMap<string, Shape>,
): number | null {
  const left = saved.get("_saved_mat1") ?? saved.get("_saved_self");
  const right = saved.get("_saved_mat2");
  if (left !== undefined && left.length > 0) return left.at(-1) ?? null;
  if (right !== undefined) return right.at(right.length > 1 ? -2 : -1) ?? null;
  return inputs[0]?.at(-1) ?? null;
}

function product(shape: Shape): number {
  return shape.reduce((a, b) => a * b, 1);
}
