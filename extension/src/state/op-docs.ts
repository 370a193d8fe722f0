// What an operation does, its derivative in a line of Python, and the page that says more.
//
// The formulas of op-docs.json are checked against PyTorch's gradients by the tests.
import type { OpNode } from "../ir/types.js";
import table from "./op-docs.json";

export interface OpDoc {
  readonly what: string;
  readonly page: string;
  /** "torch.relu" */
  readonly name: string;
}

export interface Derivative {
  /** One formula for each input, of `grad`, the inputs and `result`. */
  readonly formulas: readonly (readonly [input: string, formula: string])[];
  /** In words, where no line of code would do. */
  readonly says: string;
}

interface Row {
  readonly what: string;
  /** Where it is not torch with the op's name behind it. */
  readonly page?: string;
  readonly gives?: Readonly<Record<string, string>>;
  readonly says?: string;
}

const plain = (name: string) => name.toLowerCase().replaceAll("_", "");

const ROWS: ReadonlyMap<string, Row & { readonly page: string }> = new Map(
  Object.entries(table as Readonly<Record<string, Row>>).map(([name, row]) => [
    plain(name),
    { page: `torch.${name}`, ...row },
  ]),
);

/** Names of calls whose nodes have another. */
const CALLS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    layer_norm: "native_layer_norm",
    batch_norm: "native_batch_norm",
    dropout: "native_dropout",
    conv1d: "convolution",
    conv2d: "convolution",
    conv3d: "convolution",
    max_pool2d: "max_pool2d_with_indices",
    __getitem__: "index",
  }),
);

function rowOf(name: string) {
  return ROWS.get(plain(CALLS.get(name) ?? name)) ?? null;
}

/** "MulBackward0" → "Mul" */
const baseOf = ({ name }: OpNode) => name.split("Backward")[0] ?? "";

/** In-place calls end in an underscore: "add_" does what "add" does. */
function callOf({ call }: OpNode): string {
  return call.endsWith("_") && !call.endsWith("__") ? call.slice(0, -1) : call;
}

export function docOf(node: OpNode): OpDoc | null {
  if (node.kind === "custom") return null;
  const row = rowOf(callOf(node)) ?? rowOf(baseOf(node));
  if (row === null) return null;
  const page = `https://docs.pytorch.org/docs/stable/generated/${row.page}.html`;
  return { what: row.what, page, name: row.page };
}

/** The derivative of the node's own op: of "cross_entropy" that is the one of its loss. */
export function derivativeOf(node: OpNode): Derivative | null {
  if (node.kind === "custom") return null;
  const row = rowOf(baseOf(node)) ?? rowOf(callOf(node));
  if (row === null) return null;
  return { formulas: Object.entries(row.gives ?? {}), says: row.says ?? "" };
}
