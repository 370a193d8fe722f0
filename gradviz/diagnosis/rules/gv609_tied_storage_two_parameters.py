"""Two parameters share one memory, and the optimizer updates it once for each.

What it does
    Finds different parameters of one optimizer, or of one loss, whose elements overlap
    in memory; and copies, tied by ``.data =``, that go on computing after the optimizer
    stepped the original.

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
    recurrent layers), and copies that compute nothing after a step, or that no
    assignment to ``.data`` made.

References
    https://github.com/pytorch/pytorch/issues/80951
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import combinations

from gradviz.diagnosis.rule import Hit, Related, Rule
from gradviz.diagnosis.rules import _leaves
from gradviz.diagnosis.rules._provenance import made_at
from gradviz.program.events import Call
from gradviz.program.history import History
from gradviz.program.values import RawSite, Value


def _check(history: History) -> Iterator[Hit]:
    wanted = _leaves.wanted(history)
    trained = _leaves.trained(history)
    seen = _leaves.last_seen(history)
    groups: dict[int, list[Value]] = {}
    for value in seen.values():
        active = value.tensor in (trained if wanted is None else wanted)
        if value.is_parameter and value.requires_grad and active:
            groups.setdefault(value.storage, []).append(value)
    for group in groups.values():
        for one, other in combinations(group, 2):
            if _overlap(one, other):
                yield _hit(history, one, other)
    yield from _dragged(history)


def _dragged(history: History) -> Iterator[Hit]:
    """Yield ties by which a step moves a parameter that no optimizer was given."""
    stepped = _leaves.wanted(history) or set[int]()
    ties = [call for call in history.calls if _ties(call)] if stepped else []
    steps: dict[int, list[tuple[Call, Value]]] = {}  # by the storage that they write
    uses: dict[int, list[tuple[Call, Value]]] = {}  # of parameters that are not stepped
    for call in history.calls if ties else ():
        for write in call.writes if call.op == "step" else ():
            steps.setdefault(write.storage, []).append((call, write.value))
        for value in () if _ties(call) else call.inputs:
            if value.is_parameter and value.tensor not in stepped:
                uses.setdefault(value.storage, []).append((call, value))
    told: set[RawSite | None] = set()
    for tie in ties:
        storage = tie.inputs[1].storage
        step, moved = _after(tie, steps.get(storage, ()))
        use, dragged = _after(step, uses.get(storage, ()))
        if step and moved and use and dragged and tie.site not in told:
            told.add(tie.site)
            yield _drag(history, tie, step, moved, dragged)


def _ties(call: Call) -> bool:
    """Return whether a call gives a parameter the memory of another tensor."""
    given = call.inputs if call.op in ("data.set", "set_") else ()
    return len(given) > 1 and given[0].is_parameter


def _after(
    call: Call | None, found: Iterable[tuple[Call, Value]]
) -> tuple[Call | None, Value | None]:
    """Return the first of what was found that comes after a call."""
    if call is not None:
        for each, value in found:
            if each.index > call.index:
                return each, value
    return None, None


def _drag(history: History, tie: Call, step: Call, moved: Value, dragged: Value) -> Hit:
    return Hit(
        f"{history.name(dragged, 'Another parameter')} and {history.name(moved)} share "
        f"one memory from here on: the step in {history.line(step.site)}, which was "
        "given only the second, moves both.",
        tie.site,
        "Copy the values: `target.data.copy_(source.data)`, or load_state_dict().",
        related=(Related("moves both", step.site),),
        tensors=(moved.tensor, dragged.tensor),
    )


def _overlap(one: Value, other: Value) -> bool:
    return one.offset < _end(other) and other.offset < _end(one)


def _end(value: Value) -> int:
    steps = zip(value.shape, value.strides, strict=False)
    return value.offset + 1 + sum((size - 1) * step for size, step in steps)


def _hit(history: History, one: Value, other: Value) -> Hit:
    tie = _tie(history, one, other)
    later = max(one.tensor, other.tensor)
    facts = history.program.tensors.get(later)
    made = (facts.made if facts is not None else None) or made_at(history, later)
    names = _leaves.listed(history, {one.tensor, other.tensor})
    return Hit(
        f"{names} are two parameters over one memory: a step updates it once for each "
        "of them.",
        tie.site if tie is not None else made,
        "Share the parameter itself: `b.weight = a.weight`.",
        related=(Related("constructed here", made),) if tie is not None else (),
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


RULE = Rule("GV609", "tied-storage-two-parameters", "warning", _check)
