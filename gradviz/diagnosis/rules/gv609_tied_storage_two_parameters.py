"""Two parameters share one memory, and the optimizer updates it once for each.

What it does
    Finds different parameters of one optimizer, or of one loss, whose elements overlap
    in memory; and loops that tie a second parameter by ``.data =`` again and again, as
    if that copied, while the optimizer steps the first.

Why is this bad
    Each parameter has a gradient of its own. The step for one moves the other too; with
    momentum or weight decay it is applied twice. A target network that shares memory
    with the one it follows is no target: it moves with every step.

Example
    ::

        decoder.weight.data = encoder.weight.data

Use instead
    ::

        decoder.weight = encoder.weight

When it stays quiet
    One parameter used in two places, views that do not overlap (flat buffers of
    recurrent layers), and memory shared once with a parameter that no optimizer steps.

References
    https://github.com/pytorch/pytorch/issues/80951
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from gradviz.dependence import learning
from gradviz.diagnosis._memory import overlap
from gradviz.diagnosis.edits.leaves import shared_parameter, values_copied
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.diagnosis.rules._origins import made_at
from gradviz.program import Call, History, RawSite, Value


@rule("GV609", "tied-storage-two-parameters", "warning")
def check(history: History) -> Iterator[Hit]:
    wanted = learning.wanted(history)
    trained = learning.trained(history)
    seen = learning.last_seen(history)
    groups: dict[int, list[Value]] = {}
    for value in seen.values():
        active = value.tensor in (trained if wanted is None else wanted)
        if value.is_parameter and value.requires_grad and active:
            groups.setdefault(value.storage, []).append(value)
    for group in groups.values():
        for one, other in combinations(group, 2):
            if overlap(one, other):
                yield _hit(history, one, other)
    yield from _dragged(history)


def _dragged(history: History) -> Iterator[Hit]:
    """Yield lines that tie again what is one memory already, where a step moves it.

    Who shares memory on purpose does so once. To write it again means a copy.
    """
    stepped = learning.wanted(history) or set[int]()
    ties = [call for call in history.calls if _ties(call)] if stepped else []
    steps: dict[int, tuple[Call, Value]] = {}  # by the storage that they write first
    others: dict[int, Value] = {}  # parameters that compute and are not stepped
    for call in history.calls if ties else ():
        for write in call.writes if call.op == "step" else ():
            steps.setdefault(write.storage, (call, write.value))
        for value in () if _ties(call) else call.inputs:
            if value.is_parameter and value.tensor not in stepped:
                others.setdefault(value.storage, value)
    told: set[RawSite | None] = set()
    for tie in ties:
        target, source = tie.inputs[:2]
        step, moved = steps.get(source.storage, (None, None))
        dragged = others.get(source.storage)
        if target.storage != source.storage or tie.site in told:
            continue
        if step and moved and dragged and step.index < tie.index:
            told.add(tie.site)
            yield _drag(history, tie, step, moved, dragged)


def _ties(call: Call) -> bool:
    """Return whether a call gives a parameter the memory of another tensor."""
    given = call.inputs if call.op in ("data.set", "set_") else ()
    return len(given) > 1 and given[0].is_parameter


def _drag(history: History, tie: Call, step: Call, moved: Value, dragged: Value) -> Hit:
    names = history.name(dragged, "Another parameter"), history.name(moved)
    return Hit(
        f"{names[0]} is no copy of {names[1]}, but the same memory since this line ran "
        f"first: the step in {history.line(step.site)}, which was given only "
        f"{names[1]}, moves both, and running the line again changes nothing.",
        tie.site,
        "Copy the values instead, with `copy_()`.",
        related=(Related("moves both", step.site),),
        edit=values_copied(tie.site),
        tensors=(moved.tensor, dragged.tensor),
    )


def _hit(history: History, one: Value, other: Value) -> Hit:
    tie = _tie(history, one, other)
    site, later = tie and tie.site, max(one.tensor, other.tensor)
    made = learning.created_at(history, later) or made_at(history, later)
    names = learning.listed(history, {one.tensor, other.tensor})
    return Hit(
        f"{names} are two parameters over one memory: a step updates it once for each "
        "of them.",
        site or made,
        "Share the parameter itself, not its memory alone.",
        edit=shared_parameter(site or made),
        related=(Related("constructed here", made if tie else None),),
        tensors=(one.tensor, other.tensor),
    )


def _tie(history: History, one: Value, other: Value) -> Call | None:
    """Return the assignment to ``.data`` that made them share."""
    for call in reversed(history.calls):
        if _ties(call):
            target, source = call.inputs[:2]
            tied = source.storage == one.storage
            if tied and target.tensor in (one.tensor, other.tensor):
                return call
    return None
