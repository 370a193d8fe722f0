"""What an engine supplies so that graphs can be made from its log: the adapter."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Literal, NamedTuple, Protocol

from gradviz import ir
from gradviz._capture.detail import Detail
from gradviz._capture.names.hooks import Hook
from gradviz._capture.recorder.raw import RawNode, RawScope, RawStorage, RawTensor
from gradviz.program.events import Backward, Call
from gradviz.program.log import Identities
from gradviz.program.records import Program
from gradviz.program.step_size import StepSize
from gradviz.program.values import Node, Value


class RecordedLog(Protocol):
    """A program log that also notes what only a picture of the graph needs."""

    program: Program
    tensors: Identities
    next_index: int
    size: StepSize
    detail: Detail
    times: dict[int, int]
    """When events came, in nanoseconds since the log was made, by their index."""

    @property
    def passes_over(self) -> int:
        """How many passes have ended."""
        ...

    @property
    def last_pass(self) -> Any:
        """The Backward that ended last, if one did."""
        ...

    def refresh(self) -> None:
        """Bring names and tables up to date."""

    def pause(self) -> None:
        """Log no calls until :meth:`resume`."""

    def resume(self) -> None:
        """End the last :meth:`pause`."""

    def __enter__(self) -> Any: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
        /,
    ) -> None: ...


@dataclass(slots=True)
class Operation:
    """The op that made one node, where an engine announces each."""

    name: str
    kind: ir.NodeKind
    arguments: tuple[str, ...]
    inputs: Sequence[Value]
    outputs: Sequence[Value]
    formula: str


class Inside(NamedTuple):
    """Something that ran within a pass."""

    runs: int  # how many nodes had begun
    kind: Literal["hook", "op"]
    node: int | None  # its key: that of the hook, or that an op made
    text: str


class GraphFacts(Protocol):
    """What an engine knows of the graph in a log, beyond the records of the log."""

    producer: str
    """Who recorded the graph, with its version."""

    tells_inside: bool
    """Whether :meth:`inside` tells what ran in passes, and not the log's own events."""

    def settle(self, nodes: Iterable[int] | None = None) -> None:
        """Make the rows that were put off: all, or those of some nodes."""

    def reading(self) -> AbstractContextManager[None]:
        """Return a context in which nothing is forgotten, however long the log gets."""
        ...

    def layout(self, value: Value) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return shape and strides of a tensor as plain numbers."""
        ...

    def size(self, storage: int) -> tuple[int, int]:
        """Return how many bytes memory has, and how many an element."""
        ...

    def count(self) -> int:
        """Return how many nodes were made, as long as no pass is over."""
        ...

    def values(self, node: Node) -> Sequence[Value]:
        """Return the tensors that the op of a node took and gave; of a leaf, it."""
        ...

    def operation(self, key: int) -> Operation | None:
        """Return the op that made a node, where it is known by itself."""
        ...

    def is_gone(self, key: int) -> bool:
        """Tell whether a node died, and what it saved with it."""
        ...

    def lay_out(self, node: Node, raw: RawNode, source: RawTensor) -> None:
        """Find out how a result lies in memory that nobody saw, where it is a view."""

    def hooks(self) -> Mapping[int, tuple[Hook, ...]]:
        """Return hooks that were met on nodes, by the node's key."""
        ...

    def inside(self, event: Backward) -> Sequence[Inside]:
        """Return the hooks and ops that ran inside a pass, in order."""
        ...

    def notes(self, nodes: Mapping[int, RawNode], bare: int) -> list[str]:
        """Say what could not be seen of a recording's nodes."""
        ...


class RecordedEngine(Protocol):
    """Opens logs of one engine, and reads what they say of its graphs."""

    @property
    def tensor_type(self) -> type:
        """The class of tensors."""
        ...

    def innermost(self) -> RecordedLog | None:
        """Return a log that is open already and tells enough."""
        ...

    def open(self, values: bool, detail: Detail) -> RecordedLog:
        """Return a new log; ``values`` are looked at, as closely as ``detail`` says."""
        ...

    def watch(self, log: Any, steps: int, thumbnails: bool) -> None:
        """Let a log note also what a picture of the last steps needs, from now on.

        ``thumbnails`` also asks for samples of what is looked at in full.
        """

    def facts(self, log: Any) -> GraphFacts:
        """Return what the engine knows of the graph in a log."""
        ...

    def hooks_of(self, tensor: Any) -> tuple[Hook, ...] | None:
        """Return the hooks on a leaf; None for what is no leaf."""
        ...

    def number_of(self, tensor: Any) -> float | None:
        """Return the one number in a tensor; None where asking for it would wait."""
        ...


class Translated(Protocol):
    """The raw records of a graph while events are told about them."""

    facts: GraphFacts
    log: RecordedLog
    nodes: dict[int, RawNode]
    program: Program

    def tensor(self, value: Value) -> RawTensor:
        """Return the record of a tensor as one event saw it."""
        ...

    def storage(self, value: Value) -> RawStorage | None:
        """Return the record of the memory behind a tensor."""
        ...

    def scope(self, index: int | None) -> RawScope | None:
        """Return the record of a module call."""
        ...

    def is_inside(self, call: Call) -> bool:
        """Tell whether a call ran within a pass."""
        ...
