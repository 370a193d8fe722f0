"""Two parameters share one memory, and the optimizer updates it once for each.

What it does
    Finds different parameters of one optimizer, or of one loss, whose elements overlap
    in memory.

Why is this bad
    Each parameter has a gradient of its own. The step for one moves the other too; with
    momentum or weight decay it is applied twice.

Example
    ::

        decoder.weight.data = encoder.weight.data

Use instead
    ::

        decoder.weight = encoder.weight

When it stays quiet
    One parameter used in two places, views that do not overlap (flat buffers of
    recurrent layers), and copies that no optimizer steps.

References
    https://github.com/pytorch/pytorch/issues/80951
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from gradviz.diagnosis.rule import Hit, Related, Rule
from gradviz.diagnosis.rules import _leaves
from gradviz.diagnosis.rules._provenance import made_at
from gradviz.program.events import Call
from gradviz.program.history import History
from gradviz.program.values import Value


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
        if call.op in ("data.set", "set_") and len(call.inputs) > 1:
            target, source = call.inputs[:2]
            tied = source.storage == one.storage
            if tied and target.tensor in (one.tensor, other.tensor):
                return call
    return None


RULE = Rule("GV609", "tied-storage-two-parameters", "warning", _check)
