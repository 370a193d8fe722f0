"""Raw records: what a recording holds until someone asks for its snapshot.

They refer to each other as objects, so old steps can be dropped and the rest stays
whole. They hold no tensor, no array and no node of the engine.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from types import CodeType

from gradviz import ir
from gradviz._capture._hooks import Hook

RawSite = tuple[CodeType, int]

KEPT_STEPS = 4
"""How many finished steps a recording keeps unless the user asks for more."""


@dataclass(slots=True, eq=False)
class RawWrite:
    """One in-place change: the version it made, the op, and who."""

    version: int
    op: str
    site: RawSite | None
    node: RawNode | None = None


@dataclass(slots=True, eq=False, weakref_slot=True)
class RawStorage:
    """Memory, as it was when last looked at."""

    nbytes: int
    device: str
    itemsize: int
    version: int
    refresh: Callable[[RawStorage], None]  # looks again, while the memory lives
    writes: list[RawWrite] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class RawTensor:
    """One tensor as it was at one moment."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int
    dtype: str
    device: str
    storage: RawStorage | None
    version: int = 0
    requires_grad: bool = False
    is_leaf: bool = False
    is_view: bool = False
    name: str | None = None
    statistics: ir.Statistics | None = None
    holders: tuple[str, ...] = ()


@dataclass(slots=True, eq=False)
class RawScope:
    """One call of one module."""

    name: str
    kind: str
    parent: RawScope | None
    call: int = 1  # 1 for the first call under this parent
    calls: dict[str, int] = field(default_factory=dict[str, int])  # so far, by name


@dataclass(slots=True, eq=False)
class RawSaved:
    """A tensor that a node kept."""

    slot: str
    tensor: RawTensor
    version: int
    hooked: bool = False
    found: int | None = None  # the version that a failing backward pass found


@dataclass(slots=True, eq=False)
class RawEdge:
    """One next function of a node: who made the input, and what gradient it gets."""

    producer: RawNode
    output: int
    input: int
    gradient: ir.Statistics | None = None


@dataclass(slots=True, eq=False)
class RawNode:
    """One backward function of one call."""

    name: str
    kind: ir.NodeKind
    call: str = ""
    arguments: tuple[str, ...] = ()
    inputs: list[RawTensor] = field(default_factory=list)
    outputs: list[RawTensor] = field(default_factory=list)
    edges: list[RawEdge] = field(default_factory=list)
    saved: list[RawSaved] = field(default_factory=list)
    scope: RawScope | None = None
    site: RawSite | None = None
    stack: tuple[RawSite, ...] = ()
    sequence: int | None = None
    formula: str = ""
    hooks: Callable[[], tuple[Hook, ...]] = tuple
    is_freed: Callable[[], bool] = bool
    grad_outputs: list[ir.Statistics | None] = field(default_factory=list)
    elapsed_ns: int | None = None


@dataclass(slots=True, eq=False)
class RawEvent:
    """One thing that happened."""

    kind: ir.EventKind
    time_ns: int
    node: RawNode | None = None
    tensor: RawTensor | None = None
    storage: RawStorage | None = None
    statistics: ir.Statistics | None = None
    site: RawSite | None = None
    scope: RawScope | None = None
    text: str = ""
    version: int | None = None
    grad: ir.Statistics | None = None


@dataclass(slots=True, eq=False)
class RawFlowStep:
    """The gradients that the leaves took in during one backward pass."""

    time_ns: int
    points: list[tuple[RawNode, ir.Statistics]] = field(default_factory=list)
    stepped: bool = False


@dataclass(slots=True, eq=False)
class Recording:
    """Everything one snapshot is made of."""

    producer: str
    title: str
    nodes: list[RawNode]
    roots: list[RawNode]
    events: list[RawEvent] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    flow: list[RawFlowStep] = field(default_factory=list)
    flow_forgotten: int = 0


def note_versions(nodes: list[RawNode]) -> None:
    """Keep what a failing pass finds saved, for when its graph is gone."""
    for raw in nodes:
        for saved in () if raw.is_freed() else raw.saved:
            if saved.tensor.storage is not None:
                saved.found = saved.tensor.storage.version


def ends_of(nodes: list[RawNode]) -> list[RawNode]:
    """Return the nodes nobody consumed: where a backward pass would begin."""
    consumed = {id(edge.producer) for raw in nodes for edge in raw.edges}
    return [raw for raw in nodes if id(raw) not in consumed and raw.edges]
