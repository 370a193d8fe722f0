"""Whether two values were computed in the same way from the same values.

Then they are equal, and so are their derivatives, without a look at a number.
"""

from __future__ import annotations

from math import isclose
from typing import Any, cast

from gradviz.dependence.draws import draws
from gradviz.program import Call, History, Summary, Value

_MOST = 2_000  # pairs of values that are compared
_ROUNDING = 1e-5  # of norms, in float32 and in float64


def alike(history: History, one: Value, other: Value, before: int) -> bool:
    """Tell whether calls, arguments and what they began with are the same.

    Of nothing that was drawn at random, and of no memory that was written in between.
    ``before`` is the index of the call that meets the two. False where the log does not
    show it.
    """
    waiting = [(one, before, other, before)]
    met = set[tuple[int, int]]()
    while waiting:
        a, end, b, stop = waiting.pop()
        key = a.tensor, b.tensor
        if key in met:
            continue
        met.add(key)
        if len(met) > _MOST or a.shape != b.shape or a.dtype != b.dtype:
            return False
        if a.tensor == b.tensor:
            if history.writes(a.storage, min(end, stop) - 1, max(end, stop)):
                return False
            continue
        makers = history.last_producer(a, end), history.last_producer(b, stop)
        first, second = makers
        if first is None or second is None or not _is_same(first, second):
            return False
        if _place(first, a) != _place(second, b):
            return False
        pairs = zip(first.inputs, second.inputs, strict=True)
        waiting += [(x, first.index, y, second.index) for x, y in pairs]
    return True


def _is_same(one: Call, other: Call) -> bool:
    """Tell whether two calls do the same, whatever their operands are."""
    if one.op != other.op or len(one.inputs) != len(other.inputs) or not one.inputs:
        return False
    if one.writes or other.writes or draws(one) or draws(other):
        return False
    given = (one.arguments, one.keywords), (other.arguments, other.keywords)
    return _form(given[0]) == _form(given[1])


def _place(call: Call, value: Value) -> int:
    """Return which result of a call a tensor is."""
    return [each.tensor for each in call.outputs].index(value.tensor)


def _form(given: Any) -> object:
    """Return arguments with a mark in the place of each tensor."""
    if isinstance(given, Value):
        return Value
    if isinstance(given, dict):
        items = cast(dict[str, Any], given)
        return {key: _form(each) for key, each in items.items()}
    if isinstance(given, list | tuple):
        return [_form(each) for each in cast(list[Any], given)]
    return given


def same_numbers(one: Summary, other: Summary) -> bool:
    """Tell whether two scans found the same, but for rounding."""
    return one.zeros == other.zeros and all(
        isclose(first or 0.0, second or 0.0, rel_tol=_ROUNDING)
        for first, second in (
            (one.minimum, other.minimum),
            (one.maximum, other.maximum),
            (one.norm, other.norm),
        )
    )
