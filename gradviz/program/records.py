"""The program log: what a run did, in the order it did it, as plain records.

A graph cannot say which line wrote a saved tensor, what a stray ``detach()`` cut off or
which optimizer forgot a parameter; this log can. It is the same for every engine, and
the rules of :mod:`gradviz.diagnosis` read nothing else.

Identities are numbers that are never used twice: ``tensor`` is one Python tensor
object, ``storage`` one block of memory (all views share it), ``node`` one backward
function. Sites are raw, a code object and an instruction; :mod:`gradviz.program.places`
resolves them. No record holds a live tensor.
"""

from __future__ import annotations

import threading
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from gradviz.program.events import (
    Backward,
    Call,
    Event,
    ModuleCall,
    OptimizerCall,
    StateLoaded,
    TrainingSwitched,
)
from gradviz.program.noted import (
    Glance,
    events_of,
    leaves_given,
    optimizer_stepped,
    switched,
)
from gradviz.program.values import CustomFunction, Node, RawSite, Value


@dataclass(slots=True, eq=False)
class TensorFacts:
    """What is known of one tensor object beyond its values at events."""

    name: str | None = None  # parameter path or variable
    is_parameter: bool = False
    made: RawSite | None = None  # where it was created, for parameters: the module
    alive: bool = True
    count: int = 0  # elements, of a parameter
    frozen: bool = False  # a parameter that requires no gradient


@dataclass(slots=True, eq=False)
class Pushed:
    """Elements of a 16-bit parameter, over the measured steps of an optimizer.

    Those count whose step ``float32`` would not round away. While next to none has
    moved, they are compared with what they were at the first of these steps.
    """

    steps: int = 0
    elements: int = 0
    stood: int = 0  # of these, those that are what they were


@dataclass(slots=True, eq=False)
class Optimizer:
    """One optimizer and the tensors it was given."""

    key: int
    kind: str  # "SGD"
    site: RawSite | None
    tensors: tuple[int, ...]
    made: int = 0  # index of its init event
    name: str | None = None
    maximizes: bool = False  # any of its groups
    momentum: bool = False  # of SGD, any of its groups
    pushed: dict[int, Pushed] = field(default_factory=dict[int, Pushed])
    # by parameter, of those of 16 bits


@dataclass(slots=True, eq=False)
class Module:
    """One module as it was last seen."""

    key: int
    kind: str  # "Linear"
    name: str = ""  # path from the outermost module, or its variable
    site: RawSite | None = None  # the user's line that constructed it
    stack: tuple[
        RawSite, ...
    ] = ()  # the user's frames around that one, innermost first
    made: int | None = None  # index of the first event after its construction began
    parameters: dict[str, int] = field(default_factory=dict[str, int])  # own ones
    children: dict[str, int] = field(default_factory=dict[str, int])
    training: bool = True
    batches: int | None = None  # that its running statistics have seen, if it has any
    hidden: tuple[tuple[str, str, tuple[int, ...]], ...] = ()  # attribute, container,
    # the modules or parameters' tensors in it: out of parameters()'s sight
    odd: dict[str, RawSite | None] = field(default_factory=dict[str, RawSite | None])
    # plain attributes that look like switches (requires_grad), and who set them
    calls: int = 0


@dataclass(slots=True, eq=False)
class LiveRoot:
    """A tensor that still holds a graph at the end, and no backward ever came."""

    value: Value
    call: int | None  # index of the call that made it
    site: RawSite | None
    nodes: int
    saved_bytes: int
    holders: tuple[str, ...] = ()  # "preds[0]", "total": names in the main program


Updates: TypeAlias = dict[int, tuple[float, float]]
"""By tensor: the norm of a parameter before a step, and of what the step changed."""


@dataclass(slots=True, eq=False)
class Program:
    """The whole log. ``events[0].index`` is above 0 where old events were dropped."""

    engine: Literal["gradtape", "torch"]
    raw: list[Any] = field(default_factory=list[Any])  # ask for ``events`` instead
    left: dict[int, int] = field(default_factory=dict[int, int])  # ModuleCall.left
    nodes: dict[int, Node] = field(default_factory=dict[int, Node])
    tensors: dict[int, TensorFacts] = field(
        default_factory=lambda: defaultdict(TensorFacts)
    )  # a row opens when it is asked for by []
    optimizers: dict[int, Optimizer] = field(default_factory=dict[int, Optimizer])
    modules: dict[int, Module] = field(default_factory=dict[int, Module])
    functions: list[CustomFunction] = field(default_factory=list[CustomFunction])
    # one per class of the user's Functions, as its first call was
    live: list[LiveRoot] = field(default_factory=list[LiveRoot])
    together: tuple[frozenset[int], ...] = ()
    # tensors that were alive at one time: in the second half of the passes, at the end
    scanned: bool = False  # whether values were looked at
    script: str | None = None  # the file that is the main program
    thread: int | None = None  # the only one that is seen whole, where there is one
    notes: list[str] = field(default_factory=list[str])  # what could not be seen
    unseen: dict[RawSite, str] = field(default_factory=dict[RawSite, str])
    # calls of regions whose inside was not seen, and the sentence that says so
    lock: Any = field(default_factory=threading.RLock)  # of whoever changes ``raw``
    taught: set[int] = field(default_factory=set[int])
    # leaves that were given a gradient by passes whose events are gone
    stepped: set[int] = field(default_factory=set[int])
    # optimizers with steps whose events are gone
    gaps: set[int] = field(default_factory=set[int])
    # events before which passes or updates are gone: what was known ends there
    before_drop: list[Callable[[], None]] = field(
        default_factory=list[Callable[[], None]]
    )  # called while old events are still there
    number_of: Callable[[Any], float | None] | None = None
    # where somebody follows the loss: asks a tensor for its one number
    loss: float | None = None  # of the pass that began last, asked for by that
    after_pass: Callable[[], None] | None = None  # called when one has ended
    updates: dict[int, Updates] | None = None
    # by step of an optimizer, where somebody wants to know and values were looked at
    _settled: int = 0  # so many entries of ``raw``, from the first, are events
    _open: list[ModuleCall] = field(default_factory=list[ModuleCall])  # had not ended
    _values: dict[Any, tuple[Glance, Any]] = field(
        default_factory=dict[Any, tuple[Glance, Any]]
    )  # by id of the glance, which lives as long, and with a version if it has none

    @property
    def events(self) -> list[Event]:
        """All events, in order; those that were only noted become records here."""
        raw = self.raw
        if self._settled != len(raw):
            with self.lock:
                noted = raw[self._settled :]
                raw[self._settled :] = [e for each in noted for e in self._opened(each)]
                self._settled = len(raw)
        for call in self._open:
            call.left = self.left.get(call.index)
        self._open = [call for call in self._open if call.left is None]
        return raw

    def _opened(self, noted: Any) -> list[Event]:
        """Return the events that a note tells of; of an event itself, that one."""
        if type(noted) is not tuple:
            return [noted]
        events = events_of(noted, self.value)
        for event in events:
            if type(event) is ModuleCall and event.left is None:
                event.left = self.left.get(event.index)
                self._open.append(event)
        return events

    def event(self, index: int | None) -> Event | None:
        """Return the event with this index, unless it is none or was dropped."""
        if index is None:
            return None
        with self.lock:
            raw = self.raw
            place = bisect_right(raw, index, key=_index_of) - 1
            if place < 0:
                return None
            raw[place : place + 1] = self._opened(raw[place])
            place += index - raw[place].index  # of a run, which was noted as one
            found = raw[place] if place < len(raw) else None
            return found if found is not None and _index_of(found) == index else None

    def passes_and_updates(self, first: int) -> Iterator[Backward | OptimizerCall]:
        """Yield the passes and the optimizers' steps from an index on, in order.

        Other events stay as they were noted.
        """
        start = bisect_left(self.raw, first, key=_index_of)
        for entry in self.raw[start:]:
            kind = entry[0] if type(entry) is tuple else type(entry)
            if kind in _PASSES_AND_UPDATES:
                events = self._opened(entry)
                yield from (e for e in events if isinstance(e, Backward))
                calls = (e for e in events if isinstance(e, OptimizerCall))
                yield from (e for e in calls if e.what == "step")

    def value(
        self, glance: Glance, kind: Callable[..., Any] = Value, version: int = 0
    ) -> Any:
        """Return the value that a glance stands for, the same one each time.

        Other fields stand for what ``kind`` makes of them. With a ``version`` the value
        has that one, whatever the glance says.
        """
        key = (id(glance), version) if version else id(glance)
        known = self._values.get(key)
        if known is None:
            known = self._values[key] = glance, kind(*glance)
            if version:
                known[1].version = version
        return known[1]

    def drop(self, count: int, but: Sequence[Any] = ()) -> int:
        """Forget the oldest events but some; return the index of the first left.

        What switched a module to the mode that it is in stays as well, the state that
        it was given last, and what set requires_grad of a tensor.
        """
        with self.lock:
            for each in self.before_drop:
                each()
            but = self._with_settings(count, but)
            for each in self.raw[:count]:
                self.taught.update(leaves_given(each))
                self.stepped.update(optimizer_stepped(each))
            self.gaps = self._gaps(count, but)
            self.raw[:count] = but
            self._settled = 0 if but else max(0, self._settled - count)
            self._values.clear()
            index = _index_of(self.raw[len(but)])
            kept = set(map(_index_of, but))
            for key in [key for key in self.left if key < index and key not in kept]:
                del self.left[key]
            return _index_of(self.raw[0])

    def _with_settings(self, count: int, but: Sequence[Any]) -> Sequence[Any]:
        """Add, of the oldest events, the last that set what may still hold."""
        last = {key: id(each) for each in self.raw[:count] for key in _set_by(each)}
        if not last:
            return but
        kept = {*last.values(), *map(id, but)}
        return [each for each in self.raw[:count] if id(each) in kept]

    def _gaps(self, count: int, but: Sequence[Any]) -> set[int]:
        """Return the gaps there are once the oldest events are gone, but some."""
        first = _index_of(self.raw[count])
        kept, found, gone = set(map(id, but)), set[int](), False
        for each in self.raw[: count + 1]:
            index = _index_of(each)
            gone = gone or index in self.gaps
            if id(each) in kept or index == first:
                if gone:
                    found.add(index)
                gone = False
            else:
                kind = each[0] if type(each) is tuple else type(each)
                gone = gone or kind in _PASSES_AND_UPDATES
        return found | {index for index in self.gaps if index > first}


def _set_by(event: Any) -> Iterator[tuple[type, int]]:
    """Yield what an event sets until another does: a kind, and of whom."""
    if isinstance(event, TrainingSwitched | StateLoaded):
        yield type(event), event.module
    yield from ((Call, tensor) for tensor in switched(event))


_PASSES_AND_UPDATES = frozenset(("backward", "optimizer", Backward, OptimizerCall))


def _index_of(event: Any) -> int:
    return event[1] if type(event) is tuple else event.index
