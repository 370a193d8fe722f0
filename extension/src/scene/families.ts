// Sorts ops into the families that colours stand for.
import type { OpNode } from "../ir/types.js";

export type Family =
  | "linear"
  | "activation"
  | "norm"
  | "reduce"
  | "math"
  | "shape"
  | "leaf"
  | "custom"
  | "cut";

export const FAMILY_LABELS: Readonly<Record<Family, string>> = {
  linear: "Matrix and convolution",
  activation: "Activation",
  norm: "Normalisation, dropout",
  reduce: "Reduction, loss, pooling",
  math: "Elementwise",
  shape: "View, index, copy",
  leaf: "Parameter or leaf",
  custom: "Custom function",
  cut: "Cut from the graph",
};

/** Tried in order against the op's bare name, so that "softmax" is not "max". */
const PATTERNS: readonly (readonly [RegExp, Family])[] = [
  [/norm(?!al)|dropout|standardi/, "norm"],
  [
    /linear(?!_)|addmm|matmul|bmm|^mm|^mv|^dot|baddb|conv|einsum|attention|lstm|gru|embedding/,
    "linear",
  ],
  [
    /loss|entropy|nll|kl_?div|^mse|^bce|pool|^(log_?)?sum|mean|^max|^min|amax|amin|^prod|^std|^var|median|logsumexp|cumsum|cumprod|^topk|^sort|argm/,
    "reduce",
  ],
  [
    /relu|gelu|silu|elu|tanh|sigmoid|softmax|softplus|swish|mish|threshold|softmin|softsign|glu/,
    "activation",
  ],
  [
    /view|reshape|transpose|permute|^t$|squeeze|expand|repeat|slice|select|index|gather|scatter|take|narrow|split|chunk|unbind|^cat|stack|clone|copy|contiguous|^to$|tocopy|asstrided|as_strided|alias|detach|flip|roll|pad|unfold|fold|diag|tri[ul]|masked|where|movedim|swap|unflatten|flatten/,
    "shape",
  ],
];

const known = new Map<string, Family>();

/** The family of a node: by kind where that says it, else by the name of the op. */
export function familyOf(node: OpNode): Family {
  if (node.kind === "accumulate" || node.kind === "leaf") return "leaf";
  if (node.kind === "cut") return "cut";
  if (node.kind === "custom") return "custom";
  const { name, call } = node;
  let family = known.get(name || call);
  if (family === undefined) {
    family = classify(bareName(name) || call);
    known.set(name || call, family);
  }
  return family === "math" && node.kind === "view" ? "shape" : family;
}

/** "NativeBatchNormBackward0" -> "NativeBatchNorm" */
export function bareName(name: string): string {
  return name.replace(/Backward\d*$/, "");
}

function classify(name: string): Family {
  const word = name.replace(/^_+|_$/g, "").toLowerCase();
  return PATTERNS.find(([pattern]) => pattern.test(word))?.[1] ?? "math";
}
