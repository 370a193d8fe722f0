"""Which calls ran inside of which: of a module, of a Function, of a check."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator
from itertools import chain
from types import CodeType

from gradviz.dependence.learning import once
from gradviz.program import Backward, Call, History, ModuleCall, RawSite, following


def modules_around(history: History, event: int | None) -> Iterator[ModuleCall]:
    """Yield the call of a module that an event is, and those around it, outwards.

    ``call.module`` asks for those around a call, ``call.parent`` for those around a
    module's.
    """
    around = history.at(event)
    while isinstance(around, ModuleCall):
        yield around
        around = history.at(around.parent)


def outermost(history: History, event: int | None) -> ModuleCall | None:
    """Return the last that `modules_around` yields: ``net(x)`` in the loop."""
    around = [*modules_around(history, event)]
    return around[-1] if around else None


def calls_in(history: History, around: ModuleCall) -> Iterator[Call]:
    """Yield the calls that ran inside of a module's, in order."""
    for index in range(around.index + 1, around.left or around.index + 1):
        call = history.call_at(index)
        if call is not None:
            yield call


def last_call_in(history: History, around: ModuleCall) -> Call | None:
    """Return the last call that ran inside of a module's: mostly it made the result."""
    inside = range((around.left or 0) - 1, around.index, -1)
    calls = (history.call_at(index) for index in inside)
    return next((each for each in calls if each is not None), None)


def frames_of(history: History, call: Call) -> tuple[RawSite, ...]:
    """Return where a call ran, from inside out, and where the modules around it did.

    Of calls in a module that is known by heart, the innermost frame alone is noted.
    """
    around = (each.frames for each in modules_around(history, call.module))
    return tuple(dict.fromkeys([*call.frames, *chain.from_iterable(around)]))


@once
def calls_of(history: History) -> dict[int | None, list[ModuleCall]]:
    """Return the calls of each module, in order."""
    found: dict[int | None, list[ModuleCall]] = defaultdict(list)
    for call in history.of(ModuleCall):
        found[call.module].append(call)
    return found


@once
def within(history: History) -> dict[int, list[Call]]:
    """Return the calls by the event that they ran within, such as a Function's."""
    found: dict[int, list[Call]] = defaultdict(list)
    for call in history.calls:
        if call.within is not None:
            found[call.within].append(call)
    return found


def is_part(history: History, call: Call) -> bool:
    """Tell whether another event answers for a call: a Function, a pass."""
    around = history.at(call.within)
    if isinstance(around, Call):
        return "checkpoint" not in around.op.lower()
    return isinstance(around, Backward)


@once
def by_function(history: History) -> dict[CodeType | None, list[Call]]:
    """Return the calls by the function that their line stands in."""
    found: dict[CodeType | None, list[Call]] = defaultdict(list)
    for call in history.calls:
        if call.site is not None:
            found[call.site[0]].append(call)
    return found


# ---- and between which passes --------------------------------------------------------


def turn(history: History, event: int) -> int:
    """Return how many passes had begun before an event."""
    return bisect_left(history.backwards, event, key=lambda each: each.index)


def next_pass(history: History, event: int) -> Backward | None:
    """Return the first pass that began after an event."""
    later = following(history.backwards, event)
    return later[0] if later else None
