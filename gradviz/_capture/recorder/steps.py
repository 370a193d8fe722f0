"""Which events belong to the steps of some passes; they may still be notes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from typing import Any, Literal

from gradviz.program.events import Backward, ModuleCall, OptimizerCall

_Kind = Literal["pass", "update", "other"]


def of_passes(events: Iterable[Any], wanted: Set[int]) -> list[Any]:
    """Return the events of the steps that end with these passes, by their indices.

    A step is what came since the pass before, and after the pass what an optimizer did.
    What came after the last of all passes belongs to it.

    >>> from gradviz.program.events import Event
    >>> run = [Event(index=0), Backward(index=1), Event(index=2), Backward(index=3)]
    >>> [event.index for event in of_passes(run, {3})]
    [2, 3]
    """
    kept, since = list[Any](), list[Any]()  # since the pass before
    after = False  # a pass that is wanted, as long as only optimizers do something
    last = False  # the last pass is wanted
    for event in events:
        kind = _kind_of(event)
        since.append(event)
        if kind == "pass":
            after = last = index_of(event) in wanted
            if last:
                kept += since
            since.clear()
        elif after and kind == "update":
            kept += since
            since.clear()
        elif begins_step(event):
            after = False
    return kept + since if last else kept


def begins_step(noted: Any) -> bool:
    """Tell whether an event belongs to a forward, which ends what a step did last."""
    if type(noted) is not tuple:
        return isinstance(noted, ModuleCall) or bool(getattr(noted, "nodes", ()))
    return noted[0] in ("module", "run") or (noted[0] == "call" and bool(noted[4]))


def last_passes(passes: Sequence[Backward], count: int) -> list[Backward]:
    """Return so many of the last passes, the first unusual one among them."""
    found = list(passes[-count:])
    first = next((each for each in passes if each.unusual), None)
    if first is not None and first not in found:
        found[0] = first
    return found


def _kind_of(event: Any) -> _Kind:
    if type(event) is tuple:
        return _KINDS.get(event[0], "other")
    if isinstance(event, Backward):
        return "pass"
    return "update" if isinstance(event, OptimizerCall) else "other"


_KINDS: dict[str, _Kind] = {"backward": "pass", "optimizer": "update", "step": "update"}


def index_of(event: Any) -> int:
    """Return the index of an event, or of the note of one."""
    return event[1] if type(event) is tuple else event.index
