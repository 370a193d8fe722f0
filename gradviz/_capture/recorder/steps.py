"""Which events belong to the steps of some passes; they may still be notes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence, Set
from typing import Any, Literal

from gradviz.program.events import Backward, Call, ModuleCall, OptimizerCall

_Kind = Literal["pass", "step", "clear", "other"]

_LONGEST = 5_000  # events before passes of `autograd.grad`, one after the other


def of_passes(
    events: Iterable[Any], wanted: Set[int], gaps: Set[int] = frozenset()
) -> list[Any]:
    """Return the events of the steps that end with these passes, by their indices.

    A step is what came since the pass before, and after the pass what an optimizer did.
    What came before `autograd.grad` belongs to the next pass as well, which may walk on
    into it. What came after the last of all passes belongs to it. No step reaches over
    one of the gaps, of which the index of the first event behind it tells.

    >>> from gradviz.program.events import Event
    >>> run = [Event(index=0), Backward(index=1), Event(index=2), Backward(index=3)]
    >>> [event.index for event in of_passes(run, {3})]
    [2, 3]
    """
    kept, since = list[Any](), list[Any]()  # since the pass before
    earlier = list[Any]()  # up to that, if it was one of `autograd.grad`
    over = False  # a pass is, as long as only optimizers do something
    after = False  # that pass is wanted
    last = False  # the last pass is wanted
    for event in events:
        if index_of(event) in gaps:
            over = after = last = False
            since.clear()
            earlier.clear()
        kind = _kind_of(event)
        since.append(event)
        if kind == "pass":
            over, after = True, index_of(event) in wanted
            last = after
            if last:
                kept += earlier + since
            if last or not _is_grad(event) or len(earlier) > _LONGEST:
                earlier.clear()
            else:
                earlier += since
            since.clear()
        elif (after and kind == "clear") or (over and kind == "step"):
            kept += since if after else ()  # it uses what that pass brought
            since.clear()
            earlier.clear()
        elif begins_step(event):
            over = after = False
    return kept + since if last else kept


def begins_step(noted: Any) -> bool:
    """Tell whether an event belongs to a forward, which ends what a step did last."""
    if type(noted) is not tuple:
        return isinstance(noted, ModuleCall) or bool(getattr(noted, "nodes", ()))
    return noted[0] in ("module", "run") or (noted[0] == "call" and bool(noted[4]))


def next_step(events: Sequence[Any], start: int) -> int:
    """Return the place of the first step that begins behind one; else that one.

    A step of an optimizer is not to stand without the pass that it belongs to: it would
    seem to use the gradients of an earlier step, where one is kept. What comes between
    it and the next forward belongs to that: its data, and what it clears.
    """
    over = None  # the place behind a pass and the steps that follow it
    for place in range(start, len(events)):
        if over is not None and begins_step(events[place]):
            return over
        kind = _kind_of(events[place])
        if kind == "pass" or (kind == "step" and over is not None):
            over = place + 1
    return start


def without_asides(
    events: Sequence[Any], end: int, is_aside: Callable[[Any], bool]
) -> list[Any] | None:
    """Return which older events stay where most are calls that no gradient concerns.

    Neither a data loader nor an evaluation is to drive the passes out. Of what came
    before the first pass the last calls stay: models are made there. None where there
    are too few to drop.

    >>> from gradviz.program.events import Event
    >>> run = [*(Event(index=i) for i in range(7)), Backward(index=7), Event(index=8)]
    >>> [e.index for e in without_asides(run, 8, lambda each: each.index < 6)]
    [4, 5, 6, 7]
    """
    aside = list(map(is_aside, events[:end]))
    if aside.count(False) >= end // 2:
        return None
    passes = (i for i, each in enumerate(events) if _kind_of(each) == "pass")
    begun = min(next(passes, 0), end)
    early = [i for i in range(begun) if aside[i]][-max(1, end // 4) :]
    dropped = {i for i in range(end) if aside[i]}.difference(early)
    return [each for i, each in enumerate(events[:end]) if i not in dropped]


def outlasting(
    events: Sequence[Any],
    start: int,
    first: Backward | None,
    wanted: Set[int],
    gaps: Set[int],
) -> tuple[int, list[Any]]:
    """Return where to cut a log that drops its older events, and which outlast that.

    It is cut where a step begins behind ``start``. The first pass stays with all that
    came before it, as models are made there, and so do the steps of the wanted passes,
    unless they are most of what was to go.
    """
    end = next_step(events, start)
    begun = set[int]() if first is None else {first.index}
    for each in (wanted | begun, wanted):
        kept = of_passes(events[:end], each, gaps)
        if len(kept) <= end // 2:
            return end, kept
    return end, []


def last_passes(passes: Sequence[Backward], count: int) -> list[Backward]:
    """Return so many of the last passes, the first unusual one among them."""
    found = list(passes[-count:]) if count else []
    first = first_unusual(passes)
    if first is not None and first not in found:
        found[:1] = [first]
    return found


def first_unusual(passes: Iterable[Backward]) -> Backward | None:
    """Return the first pass in which NaN or Inf was noticed, or came to a leaf."""
    return next((e for e in passes if e.unusual or _is_spoiled(e)), None)


def unusual(passes: Iterable[Backward]) -> list[Backward]:
    """Return the first unusual pass, and the first whose NaN or Inf came to a leaf.

    An Inf that a later node makes 0 of does no harm, and comes before what does.
    """
    known = list(passes)
    spoiled = next(filter(_is_spoiled, known), None)
    return [e for e in (first_unusual(known), spoiled) if e is not None]


def _is_spoiled(each: Backward) -> bool:
    return any(found.bad for _, found in each.at_leaves())


def _is_grad(noted: Any) -> bool:
    """Tell whether a pass is one of `autograd.grad`."""
    api: str = noted[5] if type(noted) is tuple else noted.api
    return api == "grad"


def _kind_of(event: Any) -> _Kind:
    if type(event) is tuple:
        if event[0] == "optimizer":
            return "step" if event[4] == "step" else "clear"
        return _KINDS.get(event[0], "other")
    if isinstance(event, Backward):
        return "pass"
    if isinstance(event, OptimizerCall):
        return "step" if event.what == "step" else "clear"
    return "step" if isinstance(event, Call) and event.op == "step" else "other"


_KINDS: dict[str, _Kind] = {"backward": "pass", "step": "step"}


def index_of(event: Any) -> int:
    """Return the index of an event, or of the note of one."""
    return event[1] if type(event) is tuple else event.index
