"""What becomes of a gradient: accumulated, used by a step, cleared, in which order."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import inf
from typing import Literal

from gradviz.dependence.flow import words
from gradviz.dependence.learning import managed, once, trained
from gradviz.program import Backward, Call, Event, History, OptimizerCall, Summary

State = Literal["clean", "fresh", "used", "mixed", "lost"]
"""Of one leaf's gradient: ``fresh`` is not used yet, ``used`` a step has seen it,
``mixed`` had more added after that step, ``lost`` was cleared before any step."""

_CLEARING = words("zero_ fill_ _foreach_zero_")
_CLEARING_WITH_ZERO = words("mul_ imul __imul__ __setitem__ _foreach_mul_")
_UPDATING = words("sub_ add_ addcmul_ addcdiv_ copy_ mul_ data.set isub iadd")


@once
def gradient_reads(history: History) -> list[Call]:
    """Return the calls that took ``.grad`` of a tensor, in order."""
    return [call for call in history.calls if call.op == "grad.get" and call.inputs]


def clips(history: History) -> list[Call]:
    """Return the calls that clipped gradients, of no parameters too, in order."""
    called = (each for each in history.calls if each.op.startswith("clip_grad"))
    return [each for each in called if limits(each) and not each.error]


def limits(clip: Call) -> bool:
    """Tell whether a call clips at all: a limit of infinity only asks for the norm."""
    return inf not in (*clip.arguments[1:], *clip.keywords.values())


@dataclass(slots=True)
class Leaf:
    """What happened to the gradient of one leaf so far."""

    state: State = "clean"
    backward: Backward | None = None  # the last that added to it
    step: Event | None = None  # the last that used it
    cleared: Event | None = None
    read: bool = False  # the program took ``.grad`` since the last backward
    added: list[Backward] = field(default_factory=list[Backward])
    # the passes that added to it since it was used or cleared


@dataclass(frozen=True, slots=True)
class Moment:
    """Something that met gradients, with their states just before it.

    A ``search`` is a pass of LBFGS that adds to what it left before in the same step.
    """

    event: Event
    what: Literal["step", "update", "clip", "search"]
    leaves: dict[int, Leaf]

    def of(self, *states: State) -> dict[int, Leaf]:
        """Return the leaves whose gradients were in one of these states."""
        return {key: leaf for key, leaf in self.leaves.items() if leaf.state in states}


@dataclass(frozen=True, slots=True)
class Dropped:
    """A pass whose gradients were all cleared, unread, before the same line ran."""

    backward: Backward
    cleared: Event
    again: Backward
    others: tuple[Event, ...] = ()  # that cleared the gradients of other leaves


class Timeline:
    """Follows the gradients of all leaves through a run."""

    def __init__(self, history: History) -> None:
        self.history = history
        self.managed = managed(history)
        self.dropped: list[Dropped] = []
        self.leaves: dict[int, Leaf] = defaultdict(Leaf)
        self.owners: dict[int, int] = {}  # storage of a gradient -> its leaf
        self.search: OptimizerCall | None = None  # the step of LBFGS that is running

    def moments(self) -> Iterator[Moment]:
        """Yield the steps, manual updates and clippings of a run, in order."""
        gaps = self.history.program.gaps
        for event in self.history.events:
            if event.index in gaps:
                self.leaves.clear()
                self.search = None
            if isinstance(event, Backward):
                yield from self._searched(event)
                self._accumulate(event)
            elif isinstance(event, OptimizerCall):
                yield from self._optimizer(event)
            elif isinstance(event, Call):
                yield from self._call(event)

    def _accumulate(self, event: Backward) -> None:
        if event.api == "grad" or is_failed(event):
            return
        keys = {value.tensor for value in event.inputs} or set(event.leaves)
        self._note_dropped(event, [self.leaves[key] for key in keys & self.managed])
        for key in keys:
            leaf = self.leaves[key]
            leaf.state = "mixed" if leaf.state in ("used", "mixed") else "fresh"
            leaf.backward, leaf.read = event, False
            leaf.added.append(event)

    def _searched(self, event: Backward) -> Iterator[Moment]:
        """Yield a pass of a search that finds gradients of the one before it."""
        search = self.search
        if search is None or event.api == "grad":
            return
        stepped = {each.tensor for each in search.states}
        found = {
            key: replace(leaf, step=search)
            for key in stepped.intersection(event.leaves)
            if (leaf := self.leaves[key]).state in ("fresh", "mixed")
            and leaf.backward is not None
            and leaf.backward.index > search.index
            and leaf.backward.site == event.site
            and (leaf.cleared is None or leaf.cleared.index < search.index)
        }
        if found:
            yield Moment(event, "search", found)

    def _note_dropped(self, event: Backward, leaves: list[Leaf]) -> None:
        for leaf in leaves:
            mine = leaf.backward is not None and leaf.backward.site == event.site
            if leaf.state != "lost" or leaf.read or not mine:
                return
        events = {each.cleared.index: each.cleared for each in leaves if each.cleared}
        if events and leaves[0].backward:
            first, *others = [events[index] for index in sorted(events)]
            drop = Dropped(leaves[0].backward, first, event, tuple(others))
            self.dropped.append(drop)

    def _optimizer(self, event: OptimizerCall) -> Iterator[Moment]:
        keys = [each.tensor for each in event.states]
        if event.what == "zero_grad":
            for key in keys:
                self._clear(key, event)
        elif event.what == "step":
            keys = [key for key in keys if key in self.leaves]
            optimizer = self.history.program.optimizers.get(event.optimizer)
            if optimizer is not None and optimizer.kind == "LBFGS":
                self.search = event
            yield self._moment(event, "step", keys)
            for key in keys:
                self._use(key, event)

    def _call(self, call: Call) -> Iterator[Moment]:
        if call.op == "grad.get" and call.inputs:
            key = call.inputs[0].tensor
            self.leaves[key].read = True
            for value in call.outputs:
                self.owners[value.storage] = key
        elif call.op == "grad.set" and len(call.inputs) == 1:
            self._clear(call.inputs[0].tensor, call)
        elif call.op == "grad.set" and call.inputs:
            self.leaves[call.inputs[0].tensor].state = "fresh"
        elif call.op.startswith("clip_grad") and call.inputs:
            keys = [value.tensor for value in call.inputs]
            yield self._moment(call, "clip", keys)
        elif call.op == "step":  # its end: a closure ran passes since it began
            self.search = None
            for key in [value.tensor for value in call.inputs]:
                self._use(key, self.leaves[key].step or call)
        elif call.writes:
            yield from self._write(call)

    def _write(self, call: Call) -> Iterator[Moment]:
        for write in call.writes:
            grad_of = self.owners.get(write.storage)
            if grad_of is not None and _clears(call):
                self._clear(grad_of, call)
            elif grad_of is not None and call.op.startswith("clamp"):
                yield self._moment(call, "clip", [grad_of])
        if call.op in _UPDATING:
            for key in self._updated(call):
                if self.leaves[key].read:
                    yield self._moment(call, "update", [key])
                    self._use(key, call)

    def _updated(self, call: Call) -> list[int]:
        """Return the leaves that a call writes, with gradients that were read."""
        written = {write.storage for write in call.writes}
        if call.op == "data.set":
            return [value.tensor for value in call.inputs[:1]]
        return [key for key in map(self._leaf_of.get, written) if key is not None]

    @cached_property
    def _leaf_of(self) -> dict[int, int]:
        reached = {leaf for each in self.history.backwards for leaf in each.leaves}
        return {
            value.storage: value.tensor
            for call in self.history.calls
            for value in call.inputs
            if value.tensor in reached
        }

    def _moment(
        self, event: Event, what: Literal["step", "update", "clip"], keys: list[int]
    ) -> Moment:
        return Moment(event, what, {key: replace(self.leaves[key]) for key in keys})

    def _use(self, key: int, event: Event) -> None:
        leaf = self.leaves[key]
        leaf.step, leaf.added = event, []
        if leaf.state in ("fresh", "mixed"):
            leaf.state = "used"
        elif leaf.state == "lost":
            leaf.state = "clean"

    def _clear(self, key: int, event: Event) -> None:
        leaf = self.leaves[key]
        leaf.state = "lost" if leaf.state in ("fresh", "mixed") else "clean"
        leaf.cleared, leaf.added = event, []


def _clears(call: Call) -> bool:
    zero = call.op in _CLEARING_WITH_ZERO and call.arguments[-1:] in ((0,), (0.0,))
    return zero or call.op in _CLEARING


@once
def applied(history: History) -> dict[int, set[int]]:
    """Return, by the index of a pass, the leaves that a step changed with its gradient.

    Gradients that are cleared before any step are not among them: of a critic, those
    that an actor's loss left.
    """
    found: dict[int, set[int]] = defaultdict(set)
    for moment in moments(history):
        for key, leaf in moment.leaves.items() if moment.what != "clip" else ():
            for each in leaf.added:
                found[each.index].add(key)
    return found


@once
def steps_with(history: History) -> dict[int, list[OptimizerCall]]:
    """Return, by the index of a pass, the steps that used its gradients, in order."""
    found: dict[int, list[OptimizerCall]] = defaultdict(list)
    for moment in moments(history):
        if moment.what == "step" and isinstance(moment.event, OptimizerCall):
            passes = (each for leaf in moment.leaves.values() for each in leaf.added)
            for index in {each.index for each in passes}:
                found[index].append(moment.event)
    return found


@once
def applied_by(history: History) -> dict[int, set[int]]:
    """Return, by the index of a pass, the optimizers whose steps used its gradients."""
    found: dict[int, set[int]] = defaultdict(set)
    for index, steps in steps_with(history).items():
        found[index] = {each.optimizer for each in steps}
    return found


def by_hand(history: History) -> set[int]:
    """Return the leaves that the program updates itself, from their gradients."""
    updates = [each for each in moments(history) if each.what == "update"]
    return {key for each in updates for key in each.leaves}


@once
def unstepped(history: History) -> set[int]:
    """Return the leaves that passes reach, and that nobody updates with a gradient.

    No optimizer was given them, and the program does not step them itself.
    """
    return trained(history) - managed(history) - by_hand(history)


def passes_into(history: History, leaves: set[int]) -> list[Backward]:
    """Return the passes that filled ``.grad`` of some leaves, in order."""
    return [
        each
        for each in history.backwards
        if each.api == "backward"
        and not is_failed(each)
        and not leaves.isdisjoint(each.leaves)
    ]


def is_failed(event: Backward) -> bool:
    """Return whether a pass raised before it could give gradients."""
    return event.error is not None


@once
def _followed(history: History) -> tuple[list[Moment], list[Dropped]]:
    timeline = Timeline(history)
    return list(timeline.moments()), timeline.dropped


def moments(history: History) -> list[Moment]:
    """Return where gradients were used and clipped."""
    return _followed(history)[0]


def dropped(history: History) -> list[Dropped]:
    """Return the passes whose gradients were cleared before anything used them."""
    return _followed(history)[1]


def any_nonzero(gradients: Iterable[Summary | None]) -> bool:
    """Return whether any of these gradients is there and not all zeros."""
    return any(each is not None and each.zeros < each.count for each in gradients)
