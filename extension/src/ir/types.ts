// Generated from gradviz/ir.py by `python -m tools.ir_typescript`. Do not edit.

export const SCHEMA_VERSION = [1, 0] as const;

export type NodeKind =
  | "op"
  | "view"
  | "inplace"
  | "custom"
  | "accumulate"
  | "leaf"
  | "cut"
  | "root";

export type EdgeKind =
  | "data"
  | "cut";

export type EventKind =
  | "op"
  | "write"
  | "grad_mode"
  | "backward_begin"
  | "backward_end"
  | "node_enter"
  | "node_leave"
  | "accumulate"
  | "hook"
  | "optimizer_step"
  | "module_enter"
  | "module_leave"
  | "error";

/** A place in the user's source. Lines and columns count from 1; end is exclusive. */
export interface Site {
  readonly file: string;
  readonly line: number;
  readonly end_line: number;
  /** in characters, not bytes; None: the interpreter kept none */
  readonly column: number | null;
  readonly end_column: number | null;
  /** the source lines line..end_line, joined with newlines; "" if lost */
  readonly text: string;
  /** name of the enclosing function, "<module>" at top level */
  readonly function: string;
  /** index into sources, where the whole text was kept */
  readonly source: number | null;
}

/** The text of one file or notebook cell, as it was when it ran. */
export interface Source {
  readonly file: string;
  readonly text: string;
  /** "Cell In[3]" in a notebook */
  readonly label: string | null;
  /** the notebook's id of the cell */
  readonly cell_id: string | null;
}

/** One call of one module; nested scopes form the tree that the view collapses. */
export interface Scope {
  /** "decoder.cell#17": attribute path, with the call number from the 2nd call on */
  readonly path: string;
  /** the last part of the path: "cell#17" */
  readonly name: string;
  /** class of the module: "LSTMCell" */
  readonly kind: string;
  readonly parent: number | null;
}

/** One backward function: a row of the graph that backward() walks. */
export interface OpNode {
  /** as PyTorch prints it: "ConvolutionBackward0", "AccumulateGrad" */
  readonly name: string;
  readonly kind: NodeKind;
  /** the forward op: "conv2d"; for accumulate nodes the leaf's name */
  readonly call: string;
  /** non-tensor arguments of the call: "stride=(1, 1)" */
  readonly arguments: readonly string[];
  /** tensors, in the order of the call */
  readonly inputs: readonly number[];
  /** tensors, in the order of output_nr */
  readonly outputs: readonly number[];
  readonly scope: number | null;
  /** of the innermost loop over the same site and scope */
  readonly iteration: number | null;
  /** the innermost frame of the user */
  readonly site: number | null;
  /** sites of the user's outer frames, innermost first */
  readonly stack: readonly number[];
  /** forward order: the larger, the later */
  readonly sequence: number | null;
  /** the derivative, as text: "grad * other" */
  readonly formula: string;
  /** names of the hooks registered on the node */
  readonly hooks: readonly string[];
  /** "freed", "modified" (a saved tensor was overwritten) */
  readonly flags: readonly string[];
  /** statistics of gradients that came in, per output; -1: none */
  readonly grad_outputs: readonly number[];
  /** time the backward function took */
  readonly elapsed_ns: number | null;
}

/** A tensor on its way: forward from source to target, its gradient back again. */
export interface Edge {
  /** node that produced the tensor */
  readonly source: number;
  /** which of the source's outputs */
  readonly output: number;
  /** node whose forward call consumed it */
  readonly target: number;
  /** position among the target's next_functions */
  readonly input: number;
  /** what flowed forward */
  readonly tensor: number | null;
  /** statistics of what flowed back along this edge */
  readonly gradient: number | null;
  readonly kind: EdgeKind;
}

/** Layout and autograd facts of one tensor; strides and offset count elements. */
export interface TensorMeta {
  readonly shape: readonly number[];
  readonly strides: readonly number[];
  readonly offset: number;
  /** "float32" */
  readonly dtype: string;
  /** "cpu", "cuda:0" */
  readonly device: string;
  readonly storage: number | null;
  /** of the storage when the tensor was recorded */
  readonly version: number;
  readonly requires_grad: boolean;
  readonly is_leaf: boolean;
  readonly is_view: boolean;
  /** parameter path or variable name, where known */
  readonly name: string | null;
  readonly statistics: number | null;
}

/** A tensor that a node keeps for its derivative. */
export interface Saved {
  readonly node: number;
  /** "_saved_self" */
  readonly slot: string;
  readonly tensor: number;
  readonly version_saved: number;
  readonly version_now: number;
  readonly freed: boolean;
  /** packed by a saved-tensors hook */
  readonly hooked: boolean;
}

/** One in-place change of a storage: who wrote, and the version it made. */
export interface Write {
  readonly storage: number;
  /** the version after the write */
  readonly version: number;
  /** "add_" */
  readonly op: string;
  readonly site: number | null;
  readonly node: number | null;
}

/** A 1-D buffer that one or more tensors look into. */
export interface StorageMeta {
  readonly nbytes: number;
  readonly device: string;
  /** bytes per element of the tensors that view it */
  readonly itemsize: number;
  /** now */
  readonly version: number;
  /** the aliases */
  readonly tensors: readonly number[];
}

/** A summary of the values of one array. NaN and Inf are left out of the moments. */
export interface Statistics {
  /** number of elements */
  readonly count: number;
  /** None when no element is finite */
  readonly minimum: number | null;
  readonly maximum: number | null;
  readonly mean: number | null;
  /** population standard deviation */
  readonly std: number | null;
  /** L2 */
  readonly norm: number | null;
  readonly zeros: number;
  readonly nans: number;
  readonly infs: number;
  /** index of the first NaN or Inf */
  readonly first_bad: readonly number[] | null;
  /** 32 bins of equal width; () when no element is finite */
  readonly histogram: readonly number[];
  /** left edge of the first bin */
  readonly histogram_low: number | null;
  /** right edge of the last bin */
  readonly histogram_high: number | null;
}

/** One thing that happened, in order; what the timeline plays back. */
export interface Event {
  readonly kind: EventKind;
  /** since the recording began */
  readonly time_ns: number;
  readonly node: number | null;
  readonly tensor: number | null;
  readonly storage: number | null;
  readonly statistics: number | null;
  readonly site: number | null;
  readonly scope: number | null;
  /** op name, mode, error sentence: what the kind needs */
  readonly text: string;
}

/** The tables. Row numbers are the ids used everywhere. */
export interface Snapshot {
  /** "gradtape 0.1.0" */
  readonly producer: string;
  readonly title: string;
  readonly nodes: readonly OpNode[];
  readonly edges: readonly Edge[];
  readonly tensors: readonly TensorMeta[];
  readonly saved: readonly Saved[];
  readonly storages: readonly StorageMeta[];
  readonly writes: readonly Write[];
  readonly statistics: readonly Statistics[];
  readonly scopes: readonly Scope[];
  readonly sites: readonly Site[];
  readonly sources: readonly Source[];
  readonly events: readonly Event[];
  /** nodes that backward() starts from */
  readonly roots: readonly number[];
  /** sentences: what could not be seen, and why */
  readonly notes: readonly string[];
  readonly schema: readonly [number, number];
}
