// The records of a snapshot, and what a decoder must know about their fields.
// Generated from gradviz/ir by `python -m tools.ir_typescript`; do not edit.

export const SCHEMA_VERSION = [1, 6] as const;

export type NodeKind =
  | "op"
  | "view"
  | "inplace"
  | "custom"
  | "accumulate"
  | "leaf"
  | "cut"
  | "root";

export type EdgeKind = "data" | "cut";

export type Severity = "error" | "warning" | "info";

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
  /** statistics per output, -1: none came in */
  readonly grad_outputs: readonly number[];
  /** time the backward function took */
  readonly elapsed_ns: number | null;
  /** of differentiation: made by a create_graph pass over order - 1 */
  readonly order: number;
  /** where each is defined, -1: lost. Added in 1.2 */
  readonly hook_sites: readonly number[];
  /** backward functions of one place that it stands for. Added in 1.3 */
  readonly count: number;
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
  /** names that held it in the end: "loss", "history[3]" */
  readonly holders: readonly string[];
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

/** A summary of the values of one array. NaN and Inf are left out of the moments. */
export interface Statistics {
  /** number of elements */
  readonly count: number;
  /** null when no element is finite */
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
  readonly histogram: readonly number[];
  /** left edge of the first bin */
  readonly histogram_low: number | null;
  /** right edge of the last bin */
  readonly histogram_high: number | null;
}

/** One call of one module; nested scopes form the tree that the view collapses. */
export interface Scope {
  /** "decoder.cell#17": attribute path; from the 2nd call on, its number */
  readonly path: string;
  /** the last part of the path: "cell#17" */
  readonly name: string;
  /** class of the module: "LSTMCell" */
  readonly kind: string;
  readonly parent: number | null;
}

/** A place in the user's source. Lines, columns count from 1; end is exclusive. */
export interface Site {
  readonly file: string;
  readonly line: number;
  readonly end_line: number;
  /** in characters, not bytes; null: not kept */
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
  /** of a write: the one that it made. Added in 1.2 */
  readonly version: number | null;
  /** statistics of .grad after a sum. Added in 1.2 */
  readonly grad: number | null;
}

/** A cause of trouble: the line to blame, why, and what to write instead. */
export interface Finding {
  /** "GV101" */
  readonly code: string;
  /** "inplace-saved-output" */
  readonly slug: string;
  readonly severity: Severity;
  readonly message: string;
  readonly fix: string;
  /** site */
  readonly culprit: number | null;
  /** site where it showed */
  readonly symptom: number | null;
  /** sites */
  readonly related: readonly number[];
  /** why each of them matters: "saved here" */
  readonly roles: readonly string[];
  /** to point at */
  readonly nodes: readonly number[];
  readonly tensors: readonly number[];
  readonly storages: readonly number[];
  /** replacements that make the fix. Added in 1.4 */
  readonly edit: readonly number[];
  /** the edit leaves what the program computes as it was meant */
  readonly safe: boolean;
  /** the edit as people read it */
  readonly diff: string;
}

/** A parameter whose gradient was followed over the steps of a training. */
export interface FlowLayer {
  /** "decoder.cell.weight_hh" */
  readonly name: string;
  /** class of the module that owns it: "LSTMCell" */
  readonly kind: string;
  /** number of elements */
  readonly count: number;
  /** its AccumulateGrad, where the graph is here too */
  readonly node: number | null;
  readonly tensor: number | null;
  /** class of the optimizer that steps it; "": none does */
  readonly optimizer: string;
  /** requires_grad is off: it asks for no gradient. Added in 1.4 */
  readonly frozen: boolean;
}

/** One step of a training, in one process of it. */
export interface FlowStep {
  /** counts backward passes, or optimizer steps where there are any */
  readonly number: number;
  /** since the recording began, when its gradients were complete */
  readonly time_ns: number;
  /** of the process, where several train together */
  readonly rank: number | null;
  /** since the step before */
  readonly step_ns: number | null;
  /** from the first gradient to the last */
  readonly backward_ns: number | null;
  /** from the last gradient to the optimizer's step */
  readonly wait_ns: number | null;
  /** of the first parameter group */
  readonly learning_rate: number | null;
  /** an optimizer used the gradients */
  readonly stepped: boolean;
}

/** The gradient of one parameter at one step, and what the step made of it. */
export interface FlowPoint {
  /** row of flow_steps */
  readonly step: number;
  /** row of flow_layers */
  readonly layer: number;
  /** L2, NaN and Inf left out; null: there was no gradient */
  readonly norm: number | null;
  /** magnitude */
  readonly largest: number | null;
  readonly zeros: number;
  readonly nans: number;
  readonly infs: number;
  /** L2 of the parameter before the step */
  readonly weight_norm: number | null;
  /** L2 of what the optimizer added to it */
  readonly update_norm: number | null;
  /** before processes averaged it; inf: it held NaN */
  readonly local_norm: number | null;
  /** statistics, where they were taken in full */
  readonly gradient: number | null;
}

/** One of several graphs in a snapshot that are there to be compared. */
export interface Part {
  /** "before" */
  readonly label: string;
  readonly nodes: readonly number[];
}

/** One of the processes that train a model together. Added in 1.3. */
export interface Process {
  readonly rank: number;
  /** how many train together */
  readonly size: number | null;
  /** that it took, looked at or not */
  readonly steps: number | null;
  /** the rank whose gradients stand for its own; null: its own */
  readonly like: number | null;
  /** what sets it apart: "stopped after 3 of 23 steps"; "": nothing */
  readonly state: string;
  /** medians over its steps */
  readonly step_ns: number | null;
  readonly backward_ns: number | null;
  readonly wait_ns: number | null;
}

/** Why something is as it is; alike things share one. Added in 1.4. */
export interface Answer {
  /** "model.encoder.weight"; the verdict is about the first */
  readonly names: readonly string[];
  /** "parameter", "module", "loss" or "error" */
  readonly kind: string;
  /** "none": why it has no gradient */
  readonly question: string;
  readonly verdict: string;
  /** the code of the rule that names the same decision */
  readonly finding: string;
}

/** One link of the chain of causes behind an answer. Added in 1.4. */
export interface AnswerStep {
  readonly answer: number;
  /** "use", "gate", "loss", "write", ... */
  readonly kind: string;
  readonly sentence: string;
  readonly site: number | null;
  readonly node: number | null;
  /** the line to change */
  readonly decision: boolean;
}

/** A range of a file, and what a fix puts there. Counted as in a site. */
export interface Replacement {
  readonly file: string;
  readonly line: number;
  readonly column: number;
  readonly end_line: number;
  /** exclusive; a line's end is behind its last character */
  readonly end_column: number;
  readonly text: string;
}

/** One summand of the loss, in the last pass that was looked at. Added in 1.5. */
export interface LossTerm {
  /** "kl", or the expression that made it */
  readonly name: string;
  readonly site: number | null;
}

/** A term reaches a parameter, and gives so much of its gradient. Added in 1.5. */
export interface TermShare {
  /** row of flow_layers */
  readonly layer: number;
  /** row of loss_terms */
  readonly term: number;
  /** from 0 to 1, where they meet; null: not told apart */
  readonly share: number | null;
}

/** A small picture of the array behind some statistics. Added in 1.6.

Tiles are matrices to draw side by side, each of so many rows and columns. Where low
is -high, the scale has two sides and 0 in the middle. */
export interface Thumbnail {
  readonly statistics: number;
  readonly kind: string;
  readonly rows: number;
  readonly columns: number;
  /** by tile, then row, then column */
  readonly pixels: readonly number[];
  readonly tiles: number;
  /** value of pixel 0; null where no pixel is finite */
  readonly low: number | null;
  /** value of pixel LEVELS */
  readonly high: number | null;
  /** it came about: "a pixel is the mean of 4 × 4 elements" */
  readonly how: string;
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
  /** most likely cause first */
  readonly findings: readonly Finding[];
  /** nodes that backward() starts from */
  readonly roots: readonly number[];
  /** sentences: what could not be seen, and why */
  readonly notes: readonly string[];
  readonly flow_layers: readonly FlowLayer[];
  readonly flow_steps: readonly FlowStep[];
  /** by step, then by layer */
  readonly flow: readonly FlowPoint[];
  /** (): the passes that the events tell of */
  readonly parts: readonly Part[];
  /** by rank; one, where none are merged */
  readonly processes: readonly Process[];
  /** most pressing first */
  readonly answers: readonly Answer[];
  /** by answer, in the order of causes */
  readonly answer_steps: readonly AnswerStep[];
  /** of the edits of findings */
  readonly replacements: readonly Replacement[];
  /** (): one, or not told apart */
  readonly loss_terms: readonly LossTerm[];
  /** by layer, then by term */
  readonly term_shares: readonly TermShare[];
  /** at most one for some statistics */
  readonly thumbnails: readonly Thumbnail[];
  readonly schema: readonly [number, number];
}

export type TableName =
  | "nodes"
  | "edges"
  | "tensors"
  | "saved"
  | "storages"
  | "writes"
  | "statistics"
  | "scopes"
  | "sites"
  | "sources"
  | "events"
  | "findings"
  | "flow_layers"
  | "flow_steps"
  | "flow"
  | "parts"
  | "processes"
  | "answers"
  | "answer_steps"
  | "replacements"
  | "loss_terms"
  | "term_shares"
  | "thumbnails";

export type FieldKind = "int" | "float" | "bool" | "string" | "ints" | "strings";

export type FieldDefault = null | number | boolean | string | readonly [];

/** What a decoder needs to know about one field. */
export interface FieldSpec {
  readonly kind: FieldKind;
  /** null is allowed */
  readonly optional: boolean;
  /** absent: the field is always written */
  readonly fallback?: FieldDefault;
  /** the allowed strings; absent: any string */
  readonly values?: readonly string[];
  /** the table that the number, or each of the numbers, is a row of */
  readonly refers?: TableName;
  /** -1 is allowed and means "none" */
  readonly sparse?: true;
}

/** The columns of every table. */
export const TABLES: Readonly<
  Record<TableName, Readonly<Record<string, FieldSpec>>>
> = {
  nodes: {
    name: { kind: "string", optional: false },
    kind: {
      kind: "string",
      optional: false,
      values: [
        "op",
        "view",
        "inplace",
        "custom",
        "accumulate",
        "leaf",
        "cut",
        "root",
      ],
    },
    call: { kind: "string", optional: false, fallback: "" },
    arguments: { kind: "strings", optional: false, fallback: [] },
    inputs: { kind: "ints", optional: false, fallback: [], refers: "tensors" },
    outputs: { kind: "ints", optional: false, fallback: [], refers: "tensors" },
    scope: { kind: "int", optional: true, fallback: null, refers: "scopes" },
    iteration: { kind: "int", optional: true, fallback: null },
    site: { kind: "int", optional: true, fallback: null, refers: "sites" },
    stack: { kind: "ints", optional: false, fallback: [], refers: "sites" },
    sequence: { kind: "int", optional: true, fallback: null },
    formula: { kind: "string", optional: false, fallback: "" },
    hooks: { kind: "strings", optional: false, fallback: [] },
    flags: { kind: "strings", optional: false, fallback: [] },
    grad_outputs: {
      kind: "ints",
      optional: false,
      fallback: [],
      refers: "statistics",
      sparse: true,
    },
    elapsed_ns: { kind: "int", optional: true, fallback: null },
    order: { kind: "int", optional: false, fallback: 0 },
    hook_sites: {
      kind: "ints",
      optional: false,
      fallback: [],
      refers: "sites",
      sparse: true,
    },
    count: { kind: "int", optional: false, fallback: 1 },
  },
  edges: {
    source: { kind: "int", optional: false, refers: "nodes" },
    output: { kind: "int", optional: false },
    target: { kind: "int", optional: false, refers: "nodes" },
    input: { kind: "int", optional: false },
    tensor: { kind: "int", optional: true, fallback: null, refers: "tensors" },
    gradient: {
      kind: "int",
      optional: true,
      fallback: null,
      refers: "statistics",
    },
    kind: {
      kind: "string",
      optional: false,
      fallback: "data",
      values: ["data", "cut"],
    },
  },
  tensors: {
    shape: { kind: "ints", optional: false },
    strides: { kind: "ints", optional: false },
    offset: { kind: "int", optional: false },
    dtype: { kind: "string", optional: false },
    device: { kind: "string", optional: false },
    storage: {
      kind: "int",
      optional: true,
      fallback: null,
      refers: "storages",
    },
    version: { kind: "int", optional: false, fallback: 0 },
    requires_grad: { kind: "bool", optional: false, fallback: false },
    is_leaf: { kind: "bool", optional: false, fallback: false },
    is_view: { kind: "bool", optional: false, fallback: false },
    name: { kind: "string", optional: true, fallback: null },
    statistics: {
      kind: "int",
      optional: true,
      fallback: null,
      refers: "statistics",
    },
    holders: { kind: "strings", optional: false, fallback: [] },
  },
  saved: {
    node: { kind: "int", optional: false, refers: "nodes" },
    slot: { kind: "string", optional: false },
    tensor: { kind: "int", optional: false, refers: "tensors" },
    version_saved: { kind: "int", optional: false },
    version_now: { kind: "int", optional: false },
    freed: { kind: "bool", optional: false, fallback: false },
    hooked: { kind: "bool", optional: false, fallback: false },
  },
  storages: {
    nbytes: { kind: "int", optional: false },
    device: { kind: "string", optional: false },
    itemsize: { kind: "int", optional: false },
    version: { kind: "int", optional: false, fallback: 0 },
    tensors: { kind: "ints", optional: false, fallback: [], refers: "tensors" },
  },
  writes: {
    storage: { kind: "int", optional: false, refers: "storages" },
    version: { kind: "int", optional: false },
    op: { kind: "string", optional: false },
    site: { kind: "int", optional: true, fallback: null, refers: "sites" },
    node: { kind: "int", optional: true, fallback: null, refers: "nodes" },
  },
  statistics: {
    count: { kind: "int", optional: false },
    minimum: { kind: "float", optional: true, fallback: null },
    maximum: { kind: "float", optional: true, fallback: null },
    mean: { kind: "float", optional: true, fallback: null },
    std: { kind: "float", optional: true, fallback: null },
    norm: { kind: "float", optional: true, fallback: null },
    zeros: { kind: "int", optional: false, fallback: 0 },
    nans: { kind: "int", optional: false, fallback: 0 },
    infs: { kind: "int", optional: false, fallback: 0 },
    first_bad: { kind: "ints", optional: true, fallback: null },
    histogram: { kind: "ints", optional: false, fallback: [] },
    histogram_low: { kind: "float", optional: true, fallback: null },
    histogram_high: { kind: "float", optional: true, fallback: null },
  },
  scopes: {
    path: { kind: "string", optional: false },
    name: { kind: "string", optional: false },
    kind: { kind: "string", optional: false },
    parent: { kind: "int", optional: true, fallback: null, refers: "scopes" },
  },
  sites: {
    file: { kind: "string", optional: false },
    line: { kind: "int", optional: false },
    end_line: { kind: "int", optional: false },
    column: { kind: "int", optional: true, fallback: null },
    end_column: { kind: "int", optional: true, fallback: null },
    text: { kind: "string", optional: false, fallback: "" },
    function: { kind: "string", optional: false, fallback: "" },
    source: { kind: "int", optional: true, fallback: null, refers: "sources" },
  },
  sources: {
    file: { kind: "string", optional: false },
    text: { kind: "string", optional: false },
    label: { kind: "string", optional: true, fallback: null },
    cell_id: { kind: "string", optional: true, fallback: null },
  },
  events: {
    kind: {
      kind: "string",
      optional: false,
      values: [
        "op",
        "write",
        "grad_mode",
        "backward_begin",
        "backward_end",
        "node_enter",
        "node_leave",
        "accumulate",
        "hook",
        "optimizer_step",
        "module_enter",
        "module_leave",
        "error",
      ],
    },
    time_ns: { kind: "int", optional: false },
    node: { kind: "int", optional: true, fallback: null, refers: "nodes" },
    tensor: { kind: "int", optional: true, fallback: null, refers: "tensors" },
    storage: {
      kind: "int",
      optional: true,
      fallback: null,
      refers: "storages",
    },
    statistics: {
      kind: "int",
      optional: true,
      fallback: null,
      refers: "statistics",
    },
    site: { kind: "int", optional: true, fallback: null, refers: "sites" },
    scope: { kind: "int", optional: true, fallback: null, refers: "scopes" },
    text: { kind: "string", optional: false, fallback: "" },
    version: { kind: "int", optional: true, fallback: null },
    grad: { kind: "int", optional: true, fallback: null, refers: "statistics" },
  },
  findings: {
    code: { kind: "string", optional: false },
    slug: { kind: "string", optional: false },
    severity: {
      kind: "string",
      optional: false,
      values: ["error", "warning", "info"],
    },
    message: { kind: "string", optional: false },
    fix: { kind: "string", optional: false, fallback: "" },
    culprit: { kind: "int", optional: true, fallback: null, refers: "sites" },
    symptom: { kind: "int", optional: true, fallback: null, refers: "sites" },
    related: { kind: "ints", optional: false, fallback: [], refers: "sites" },
    roles: { kind: "strings", optional: false, fallback: [] },
    nodes: { kind: "ints", optional: false, fallback: [], refers: "nodes" },
    tensors: { kind: "ints", optional: false, fallback: [], refers: "tensors" },
    storages: {
      kind: "ints",
      optional: false,
      fallback: [],
      refers: "storages",
    },
    edit: {
      kind: "ints",
      optional: false,
      fallback: [],
      refers: "replacements",
    },
    safe: { kind: "bool", optional: false, fallback: false },
    diff: { kind: "string", optional: false, fallback: "" },
  },
  flow_layers: {
    name: { kind: "string", optional: false },
    kind: { kind: "string", optional: false, fallback: "" },
    count: { kind: "int", optional: false, fallback: 0 },
    node: { kind: "int", optional: true, fallback: null, refers: "nodes" },
    tensor: { kind: "int", optional: true, fallback: null, refers: "tensors" },
    optimizer: { kind: "string", optional: false, fallback: "" },
    frozen: { kind: "bool", optional: false, fallback: false },
  },
  flow_steps: {
    number: { kind: "int", optional: false },
    time_ns: { kind: "int", optional: false, fallback: 0 },
    rank: { kind: "int", optional: true, fallback: null },
    step_ns: { kind: "int", optional: true, fallback: null },
    backward_ns: { kind: "int", optional: true, fallback: null },
    wait_ns: { kind: "int", optional: true, fallback: null },
    learning_rate: { kind: "float", optional: true, fallback: null },
    stepped: { kind: "bool", optional: false, fallback: false },
  },
  flow: {
    step: { kind: "int", optional: false, refers: "flow_steps" },
    layer: { kind: "int", optional: false, refers: "flow_layers" },
    norm: { kind: "float", optional: true, fallback: null },
    largest: { kind: "float", optional: true, fallback: null },
    zeros: { kind: "int", optional: false, fallback: 0 },
    nans: { kind: "int", optional: false, fallback: 0 },
    infs: { kind: "int", optional: false, fallback: 0 },
    weight_norm: { kind: "float", optional: true, fallback: null },
    update_norm: { kind: "float", optional: true, fallback: null },
    local_norm: { kind: "float", optional: true, fallback: null },
    gradient: {
      kind: "int",
      optional: true,
      fallback: null,
      refers: "statistics",
    },
  },
  parts: {
    label: { kind: "string", optional: false },
    nodes: { kind: "ints", optional: false, fallback: [], refers: "nodes" },
  },
  processes: {
    rank: { kind: "int", optional: false },
    size: { kind: "int", optional: true, fallback: null },
    steps: { kind: "int", optional: true, fallback: null },
    like: { kind: "int", optional: true, fallback: null },
    state: { kind: "string", optional: false, fallback: "" },
    step_ns: { kind: "int", optional: true, fallback: null },
    backward_ns: { kind: "int", optional: true, fallback: null },
    wait_ns: { kind: "int", optional: true, fallback: null },
  },
  answers: {
    names: { kind: "strings", optional: false },
    kind: { kind: "string", optional: false },
    question: { kind: "string", optional: false },
    verdict: { kind: "string", optional: false },
    finding: { kind: "string", optional: false, fallback: "" },
  },
  answer_steps: {
    answer: { kind: "int", optional: false, refers: "answers" },
    kind: { kind: "string", optional: false },
    sentence: { kind: "string", optional: false },
    site: { kind: "int", optional: true, fallback: null, refers: "sites" },
    node: { kind: "int", optional: true, fallback: null, refers: "nodes" },
    decision: { kind: "bool", optional: false, fallback: false },
  },
  replacements: {
    file: { kind: "string", optional: false },
    line: { kind: "int", optional: false },
    column: { kind: "int", optional: false },
    end_line: { kind: "int", optional: false },
    end_column: { kind: "int", optional: false },
    text: { kind: "string", optional: false },
  },
  loss_terms: {
    name: { kind: "string", optional: false },
    site: { kind: "int", optional: true, fallback: null, refers: "sites" },
  },
  term_shares: {
    layer: { kind: "int", optional: false, refers: "flow_layers" },
    term: { kind: "int", optional: false, refers: "loss_terms" },
    share: { kind: "float", optional: true, fallback: null },
  },
  thumbnails: {
    statistics: { kind: "int", optional: false, refers: "statistics" },
    kind: {
      kind: "string",
      optional: false,
      values: ["matrix", "matrices", "filters", "images", "maps"],
    },
    rows: { kind: "int", optional: false },
    columns: { kind: "int", optional: false },
    pixels: { kind: "ints", optional: false },
    tiles: { kind: "int", optional: false, fallback: 1 },
    low: { kind: "float", optional: true, fallback: null },
    high: { kind: "float", optional: true, fallback: null },
    how: { kind: "string", optional: false, fallback: "" },
  },
};

/** The fields of a snapshot that are not tables. */
export const HEADER: Readonly<Record<string, FieldSpec>> = {
  producer: { kind: "string", optional: false },
  title: { kind: "string", optional: false, fallback: "" },
  roots: { kind: "ints", optional: false, fallback: [], refers: "nodes" },
  notes: { kind: "strings", optional: false, fallback: [] },
};
