"""Raw records: what a recording holds until someone asks for its snapshot.

They refer to each other as objects, so old steps can be dropped and the rest stays
whole. They hold no tensor, no array and no node of the engine.

There are many of them, and Python's cycle collector visits each object that refers to
others, again and again. So they are few and flat: tuples that are shared where they are
empty, no closures, edges as columns of their node, a summary as a tuple of numbers,
which the collector leaves out.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields
from itertools import zip_longest
from operator import attrgetter
from typing import Any, NamedTuple, TypeAlias, cast

from gradviz import ir
from gradviz._capture.names.hooks import Hook
from gradviz._capture.statistics.thumbnails import Sample
from gradviz.program.values import RawSite

RawStatistics: TypeAlias = ir.Statistics | tuple[Any, ...]
"""A summary: the record, or a tuple of its fields."""

Patterns: TypeAlias = str | Iterable[str] | None
"""What a user names: modules, tensors, ops, as ``"*.attn"``; None: nothing by name."""

KEPT_STEPS = 4
"""How many finished steps a recording keeps unless the user asks for more."""


@dataclass(slots=True, eq=False)
class RawWrite:
    """One in-place change: the version it made, the op, and who."""

    version: int
    op: str
    site: RawSite | None
    node: RawNode | None = None


@dataclass(slots=True, eq=False)
class RawStorage:
    """Memory, as it was when last looked at."""

    nbytes: int
    device: str
    itemsize: int
    version: int = 0
    writes: deque[RawWrite] | tuple[()] = ()  # oldest first
    seen: int = 0  # the last step in which it was alive, or looked for

    def wrote(self, write: RawWrite, most: int | None = None) -> None:
        """Note a write; of more than ``most`` the oldest are forgotten."""
        if not self.writes:
            self.writes = deque(maxlen=most)
        self.writes.append(write)


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
    statistics: RawStatistics | None = None
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


class RawEdge(NamedTuple):
    """One next function of a node: who made the input, and what gradient it gets."""

    producer: RawNode
    output: int
    input: int
    gradient: RawStatistics | None


@dataclass(slots=True, eq=False)
class RawNode:
    """One backward function of one call.

    ``behind`` and ``numbers`` say who made each input, and which of its outputs that
    was; ``grad_inputs`` what gradient it gets, as far as a pass came.
    """

    name: str
    kind: ir.NodeKind
    call: str = ""
    arguments: tuple[str, ...] = ()
    inputs: Sequence[RawTensor] = ()
    outputs: Sequence[RawTensor] = ()
    behind: Sequence[RawNode | None] = ()
    numbers: Sequence[int] = ()
    saved: Sequence[RawSaved] = ()
    scope: RawScope | None = None
    site: RawSite | None = None
    stack: tuple[RawSite, ...] = ()
    sequence: int | None = None
    formula: str = ""
    hooks: tuple[Hook, ...] = ()  # when last looked at
    keeps: bool = False  # it saved something, which goes when the node goes
    freed: bool = False  # it is gone, when last looked at
    grad_outputs: Sequence[RawStatistics | None] = ()
    grad_inputs: Sequence[RawStatistics | None] = ()
    elapsed_ns: int | None = None
    count: int = 1  # nodes that it stands for, see fold.py

    @property
    def edges(self) -> tuple[RawEdge, ...]:
        """The inputs that gradients go to, in order."""
        columns = zip_longest(self.behind, self.numbers, self.grad_inputs)
        return tuple(
            RawEdge(producer, number, at, gradient)
            for at, (producer, number, gradient) in enumerate(columns)
            if producer is not None
        )


@dataclass(slots=True, eq=False)
class RawEvent:
    """One thing that happened."""

    kind: ir.EventKind
    time_ns: int
    node: RawNode | None = None
    tensor: RawTensor | None = None
    storage: RawStorage | None = None
    statistics: RawStatistics | None = None
    site: RawSite | None = None
    scope: RawScope | None = None
    text: str = ""
    version: int | None = None
    grad: RawStatistics | None = None


class EventList:
    """Many events in one flat list of their fields."""

    __slots__ = ("_cells",)

    def __init__(self) -> None:
        self._cells: list[Any] = []

    def add(
        self,
        kind: ir.EventKind,
        time_ns: int,
        node: RawNode | None = None,
        tensor: RawTensor | None = None,
        storage: RawStorage | None = None,
        statistics: RawStatistics | None = None,
        site: RawSite | None = None,
        scope: RawScope | None = None,
        text: str = "",
        version: int | None = None,
        grad: RawStatistics | None = None,
    ) -> None:
        """Append an event; the arguments are the fields of :class:`RawEvent`."""
        facts = kind, time_ns, node, tensor, storage, statistics, site, scope, text
        self._cells += (*facts, version, grad)

    def forget(self, count: int) -> None:
        """Drop the oldest events."""
        del self._cells[: count * _EVENT_FIELDS]

    def __len__(self) -> int:
        return len(self._cells) // _EVENT_FIELDS

    def __iter__(self) -> Iterator[RawEvent]:
        for at in range(0, len(self._cells), _EVENT_FIELDS):
            yield RawEvent(*self._cells[at : at + _EVENT_FIELDS])


_EVENT_FIELDS = len(fields(RawEvent))


@dataclass(slots=True, eq=False)
class RawFlowStep:
    """The gradients that the leaves took in during one backward pass."""

    time_ns: int
    leaves: Sequence[RawNode] = ()
    summaries: Sequence[RawStatistics] = ()  # one for each of these
    stepped: bool = False
    number: int | None = None  # None: that of the step before, and 1
    updates: Sequence[int] = ()  # events: the optimizers' steps that followed
    changes: Sequence[tuple[float, float] | None] = ()  # see Program.updates


@dataclass(slots=True, eq=False)
class RawUnreached:
    """A parameter that took in nothing in any backward pass."""

    leaf: RawNode
    count: int
    frozen: bool


@dataclass(frozen=True, slots=True)
class Keep:
    """Which thumbnails are kept: those that patterns name, or some of all."""

    patterns: tuple[str, ...] = ()
    on: bool = True

    @classmethod
    def of(cls, given: Patterns) -> Keep:
        """Read what a user gave; raise ValueError for what is no pattern.

        >>> Keep.of("*.attn").patterns, Keep.of(None).on, Keep.of([]).on
        (('*.attn',), True, False)
        """
        if given is None:
            return cls()
        patterns: tuple[object, ...] = (
            (given,) if isinstance(given, str) else tuple(given)
        )
        for each in patterns:
            if not isinstance(each, str) or not each:
                raise ValueError(f"keep names what to keep, as '*.attn', not {each!r}")
        return cls(cast("tuple[str, ...]", patterns), bool(patterns))


@dataclass(slots=True, eq=False)
class Recording:
    """Everything one snapshot is made of."""

    producer: str
    title: str
    nodes: list[RawNode]
    roots: list[RawNode]
    events: list[RawEvent] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    routine: list[str] = field(default_factory=list)  # notes of how much is kept
    flow: list[RawFlowStep] = field(default_factory=list)
    flow_forgotten: int = 0
    flow_unreached: list[RawUnreached] = field(default_factory=list)
    samples: dict[int, Sample] = field(default_factory=dict[int, Sample])
    """For thumbnails, by the ``id`` of the statistics."""
    keep: Keep = field(default_factory=Keep)


def note_versions(nodes: list[RawNode]) -> None:
    """Keep what a failing pass finds saved, for when its graph is gone."""
    for raw in nodes:
        for saved in () if raw.freed else raw.saved:
            if saved.tensor.storage is not None:
                saved.found = saved.tensor.storage.version


def ends_of(nodes: list[RawNode]) -> list[RawNode]:
    """Return the nodes nobody consumed: where a backward pass would begin."""
    consumed = {id(each) for raw in nodes for each in raw.behind}
    return [raw for raw in nodes if id(raw) not in consumed and any(raw.behind)]


def reached(roots: Iterable[RawNode]) -> set[int]:
    """Return the nodes that a pass from these comes to, by ``id``."""
    found: set[int] = set()
    waiting = list(roots)
    while waiting:
        raw = waiting.pop()
        if id(raw) not in found:
            found.add(id(raw))
            waiting.extend(each for each in raw.behind if each is not None)
    return found


def leaves_of(nodes: Iterable[RawNode]) -> dict[int, RawNode]:
    """Return the leaves at which nodes end, by ``id``, in the order of their use."""
    ends = (each for raw in nodes for each in raw.behind)
    return {id(each): each for each in ends if each and each.kind == "accumulate"}


def as_record(summary: RawStatistics) -> ir.Statistics:
    """Return a summary as the record that a snapshot has."""
    return summary if isinstance(summary, ir.Statistics) else ir.Statistics(*summary)


as_tuple: Callable[[ir.Statistics], tuple[Any, ...]] = attrgetter(
    *[each.name for each in fields(ir.Statistics)]
)
"""Return the fields of a summary."""
