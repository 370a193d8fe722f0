"""The snapshot: everything gradviz knows about one recorded graph, as plain records.

Records refer to each other by index into the tables of :class:`Snapshot`. They hold
no live tensors, do no I/O and import only the standard library. ``None`` means "not
known" or "does not apply"; nothing is guessed.

Bump rule: a field that is added (with a default) raises the minor number; a field
that is removed, renamed or changes meaning raises the major one. Readers accept every
minor of their own major and refuse other majors.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

SCHEMA_VERSION: tuple[int, int] = (1, 6)

# Pixels of a thumbnail: from 0, its low end, to LEVELS, its high end, or one of these.
LEVELS, INF_PIXEL, NAN_PIXEL = 30, 31, 32

NodeKind = Literal[
    "op", "view", "inplace", "custom", "accumulate", "leaf", "cut", "root"
]
EdgeKind = Literal["data", "cut"]
Severity = Literal["error", "warning", "info"]
ThumbnailKind = Literal["matrix", "matrices", "filters", "images", "maps"]
EventKind = Literal[
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
]


@dataclass(frozen=True, slots=True)
class Site:
    """A place in the user's source. Lines, columns count from 1; end is exclusive."""

    file: str
    line: int
    end_line: int
    column: int | None = None  # in characters, not bytes; None: not kept
    end_column: int | None = None
    text: str = ""  # the source lines line..end_line, joined with newlines; "" if lost
    function: str = ""  # name of the enclosing function, "<module>" at top level
    source: int | None = None  # index into sources, where the whole text was kept


@dataclass(frozen=True, slots=True)
class Source:
    """The text of one file or notebook cell, as it was when it ran."""

    file: str
    text: str
    label: str | None = None  # "Cell In[3]" in a notebook
    cell_id: str | None = None  # the notebook's id of the cell


@dataclass(frozen=True, slots=True)
class Scope:
    """One call of one module; nested scopes form the tree that the view collapses."""

    path: str  # "decoder.cell#17": attribute path; from the 2nd call on, its number
    name: str  # the last part of the path: "cell#17"
    kind: str  # class of the module: "LSTMCell"
    parent: int | None = None


@dataclass(frozen=True, slots=True)
class OpNode:
    """One backward function: a row of the graph that backward() walks."""

    name: str  # as PyTorch prints it: "ConvolutionBackward0", "AccumulateGrad"
    kind: NodeKind
    call: str = ""  # the forward op: "conv2d"; for accumulate nodes the leaf's name
    arguments: tuple[str, ...] = ()  # non-tensor arguments of the call: "stride=(1, 1)"
    inputs: tuple[int, ...] = ()  # tensors, in the order of the call
    outputs: tuple[int, ...] = ()  # tensors, in the order of output_nr
    scope: int | None = None
    iteration: int | None = None  # of the innermost loop over the same site and scope
    site: int | None = None  # the innermost frame of the user
    stack: tuple[int, ...] = ()  # sites of the user's outer frames, innermost first
    sequence: int | None = None  # forward order: the larger, the later
    formula: str = ""  # the derivative, as text: "grad * other"
    hooks: tuple[str, ...] = ()  # names of the hooks registered on the node
    flags: tuple[str, ...] = ()  # "freed", "modified" (a saved tensor was overwritten)
    grad_outputs: tuple[int, ...] = ()  # statistics per output, -1: none came in
    elapsed_ns: int | None = None  # time the backward function took
    order: int = 0  # of differentiation: made by a create_graph pass over order - 1
    hook_sites: tuple[int, ...] = ()  # where each is defined, -1: lost. Added in 1.2
    count: int = 1  # backward functions of one place that it stands for. Added in 1.3


@dataclass(frozen=True, slots=True)
class Edge:
    """A tensor on its way: forward from source to target, its gradient back again."""

    source: int  # node that produced the tensor
    output: int  # which of the source's outputs
    target: int  # node whose forward call consumed it
    input: int  # position among the target's next_functions
    tensor: int | None = None  # what flowed forward
    gradient: int | None = None  # statistics of what flowed back along this edge
    kind: EdgeKind = "data"


@dataclass(frozen=True, slots=True)
class TensorMeta:
    """Layout and autograd facts of one tensor; strides and offset count elements."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int
    dtype: str  # "float32"
    device: str  # "cpu", "cuda:0"
    storage: int | None = None
    version: int = 0  # of the storage when the tensor was recorded
    requires_grad: bool = False
    is_leaf: bool = False
    is_view: bool = False
    name: str | None = None  # parameter path or variable name, where known
    statistics: int | None = None
    holders: tuple[str, ...] = ()  # names that held it in the end: "loss", "history[3]"


@dataclass(frozen=True, slots=True)
class Saved:
    """A tensor that a node keeps for its derivative."""

    node: int
    slot: str  # "_saved_self"
    tensor: int
    version_saved: int
    version_now: int
    freed: bool = False
    hooked: bool = False  # packed by a saved-tensors hook


@dataclass(frozen=True, slots=True)
class Write:
    """One in-place change of a storage: who wrote, and the version it made."""

    storage: int
    version: int  # the version after the write
    op: str  # "add_"
    site: int | None = None
    node: int | None = None


@dataclass(frozen=True, slots=True)
class StorageMeta:
    """A 1-D buffer that one or more tensors look into."""

    nbytes: int
    device: str
    itemsize: int  # bytes per element of the tensors that view it
    version: int = 0  # now
    tensors: tuple[int, ...] = ()  # the aliases


@dataclass(frozen=True, slots=True)
class Statistics:
    """A summary of the values of one array. NaN and Inf are left out of the moments."""

    count: int  # number of elements
    minimum: float | None = None  # None when no element is finite
    maximum: float | None = None
    mean: float | None = None
    std: float | None = None  # population standard deviation
    norm: float | None = None  # L2
    zeros: int = 0
    nans: int = 0
    infs: int = 0
    first_bad: tuple[int, ...] | None = None  # index of the first NaN or Inf
    # 32 equal bins, of a sample where they count less; () when no element is finite
    histogram: tuple[int, ...] = ()
    histogram_low: float | None = None  # left edge of the first bin
    histogram_high: float | None = None  # right edge of the last bin


@dataclass(frozen=True, slots=True)
class Thumbnail:
    """A small picture of the array behind some statistics. Added in 1.6.

    Tiles are matrices to draw side by side, each of so many rows and columns. Where low
    is -high, the scale has two sides and 0 in the middle.
    """

    statistics: int
    kind: ThumbnailKind
    rows: int
    columns: int
    pixels: tuple[int, ...]  # by tile, then row, then column
    tiles: int = 1
    low: float | None = None  # value of pixel 0; None where no pixel is finite
    high: float | None = None  # value of pixel LEVELS
    how: str = ""  # it came about: "a pixel is the mean of 4 × 4 elements"


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that happened, in order; what the timeline plays back."""

    kind: EventKind
    time_ns: int  # since the recording began
    node: int | None = None
    tensor: int | None = None
    storage: int | None = None
    statistics: int | None = None
    site: int | None = None
    scope: int | None = None
    text: str = ""  # op name, mode, error sentence: what the kind needs
    version: int | None = None  # of a write: the one that it made. Added in 1.2
    grad: int | None = None  # statistics of .grad after a sum. Added in 1.2


@dataclass(frozen=True, slots=True)
class Finding:
    """A cause of trouble: the line to blame, why, and what to write instead."""

    code: str  # "GV101"
    slug: str  # "inplace-saved-output"
    severity: Severity
    message: str
    fix: str = ""
    culprit: int | None = None  # site
    symptom: int | None = None  # site where it showed
    related: tuple[int, ...] = ()  # sites
    roles: tuple[str, ...] = ()  # why each of them matters: "saved here"
    nodes: tuple[int, ...] = ()  # to point at
    tensors: tuple[int, ...] = ()
    storages: tuple[int, ...] = ()
    edit: tuple[int, ...] = ()  # replacements that make the fix. Added in 1.4
    safe: bool = False  # the edit leaves what the program computes as it was meant
    diff: str = ""  # the edit as people read it


@dataclass(frozen=True, slots=True)
class Replacement:
    """A range of a file, and what a fix puts there. Counted as in a site."""

    file: str
    line: int
    column: int
    end_line: int
    end_column: int  # exclusive; a line's end is behind its last character
    text: str


@dataclass(frozen=True, slots=True)
class FlowLayer:
    """A parameter whose gradient was followed over the steps of a training."""

    name: str  # "decoder.cell.weight_hh"
    kind: str = ""  # class of the module that owns it: "LSTMCell"
    count: int = 0  # number of elements
    node: int | None = None  # its AccumulateGrad, where the graph is here too
    tensor: int | None = None
    optimizer: str = ""  # class of the optimizer that steps it; "": none does
    frozen: bool = False  # requires_grad is off: it asks for no gradient. Added in 1.4


@dataclass(frozen=True, slots=True)
class FlowStep:
    """One step of a training, in one process of it."""

    number: int  # counts backward passes, or optimizer steps where there are any
    time_ns: int = 0  # since the recording began, when its gradients were complete
    rank: int | None = None  # of the process, where several train together
    step_ns: int | None = None  # since the step before
    backward_ns: int | None = None  # from the first gradient to the last
    wait_ns: int | None = None  # from the last gradient to the optimizer's step
    learning_rate: float | None = None  # of the first parameter group
    stepped: bool = False  # an optimizer used the gradients


@dataclass(frozen=True, slots=True)
class FlowPoint:
    """The gradient of one parameter at one step, and what the step made of it."""

    step: int  # row of flow_steps
    layer: int  # row of flow_layers
    norm: float | None = None  # L2, NaN and Inf left out; None: there was no gradient
    largest: float | None = None  # magnitude
    zeros: int = 0
    nans: int = 0
    infs: int = 0
    weight_norm: float | None = None  # L2 of the parameter before the step
    update_norm: float | None = None  # L2 of what the optimizer added to it
    local_norm: float | None = None  # before processes averaged it; inf: it held NaN
    gradient: int | None = None  # statistics, where they were taken in full


@dataclass(frozen=True, slots=True)
class LossTerm:
    """One summand of the loss, in the last pass that was looked at. Added in 1.5."""

    name: str  # "kl", or the expression that made it
    site: int | None = None


@dataclass(frozen=True, slots=True)
class TermShare:
    """A term reaches a parameter, and gives so much of its gradient. Added in 1.5."""

    layer: int  # row of flow_layers
    term: int  # row of loss_terms
    share: float | None = None  # from 0 to 1, where they meet; None: not told apart


@dataclass(frozen=True, slots=True)
class Process:
    """One of the processes that train a model together. Added in 1.3."""

    rank: int
    size: int | None = None  # how many train together
    steps: int | None = None  # that it took, looked at or not
    like: int | None = None  # the rank whose gradients stand for its own; None: its own
    state: str = ""  # what sets it apart: "stopped after 3 of 23 steps"; "": nothing
    step_ns: int | None = None  # medians over its steps
    backward_ns: int | None = None
    wait_ns: int | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """Why something is as it is; alike things share one. Added in 1.4."""

    names: tuple[str, ...]  # "model.encoder.weight"; the verdict is about the first
    kind: str  # "parameter", "module", "loss" or "error"
    question: str  # "none": why it has no gradient
    verdict: str
    finding: str = ""  # the code of the rule that names the same decision


@dataclass(frozen=True, slots=True)
class AnswerStep:
    """One link of the chain of causes behind an answer. Added in 1.4."""

    answer: int
    kind: str  # "use", "gate", "loss", "write", ...
    sentence: str
    site: int | None = None
    node: int | None = None
    decision: bool = False  # the line to change


@dataclass(frozen=True, slots=True)
class Part:
    """One of several graphs in a snapshot that are there to be compared."""

    label: str  # "before"
    nodes: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, repr=False)
class Snapshot:
    """The tables. Row numbers are the ids used everywhere."""

    producer: str  # "gradtape 0.1.0"
    title: str = ""
    nodes: tuple[OpNode, ...] = ()
    edges: tuple[Edge, ...] = ()
    tensors: tuple[TensorMeta, ...] = ()
    saved: tuple[Saved, ...] = ()
    storages: tuple[StorageMeta, ...] = ()
    writes: tuple[Write, ...] = ()
    statistics: tuple[Statistics, ...] = ()
    scopes: tuple[Scope, ...] = ()
    sites: tuple[Site, ...] = ()
    sources: tuple[Source, ...] = ()
    events: tuple[Event, ...] = ()
    findings: tuple[Finding, ...] = ()  # most likely cause first
    roots: tuple[int, ...] = ()  # nodes that backward() starts from
    notes: tuple[str, ...] = ()  # sentences: what could not be seen, and why
    flow_layers: tuple[FlowLayer, ...] = ()
    flow_steps: tuple[FlowStep, ...] = ()
    flow: tuple[FlowPoint, ...] = ()  # by step, then by layer
    parts: tuple[Part, ...] = ()  # (): the passes that the events tell of
    processes: tuple[Process, ...] = ()  # by rank; one, where none are merged
    answers: tuple[Answer, ...] = ()  # most pressing first
    answer_steps: tuple[AnswerStep, ...] = ()  # by answer, in the order of causes
    replacements: tuple[Replacement, ...] = ()  # of the edits of findings
    loss_terms: tuple[LossTerm, ...] = ()  # (): one, or not told apart
    term_shares: tuple[TermShare, ...] = ()  # by layer, then by term
    thumbnails: tuple[Thumbnail, ...] = ()  # at most one for some statistics
    schema: tuple[int, int] = SCHEMA_VERSION

    def __repr__(self) -> str:
        kept = sum(not each.freed for each in self.saved)
        return (
            f"<snapshot {self.title!r} of {self.producer}: {len(self.nodes)} nodes, "
            f"{len(self.edges)} edges, {len(self.saved)} saved tensors ({kept} kept), "
            f"{len(self.findings)} findings>"
        )
