"""Walks from a view to what it is a view of, call by call."""

from __future__ import annotations

from collections.abc import Iterator

from gradviz.program import Call, History, Value


def source(history: History, call: Call, value: Value) -> Value | None:
    """Return the argument of a call that its result shares memory with."""
    for each in call.inputs:
        if each.storage == value.storage and each.tensor != value.tensor:
            return each
    return None


def ancestors(history: History, value: Value) -> Iterator[tuple[Call, Value]]:
    """Yield the calls that made a view of a view…, with what each was a view of.

    >>> from gradviz.program.records import Program
    >>> whole = Value(1, 1, 0, (2,), (1,), 0, "float32")
    >>> list(ancestors(History(Program("gradtape")), whole))
    []
    """
    seen = {value.tensor}
    while True:
        call = history.producer(value)
        base = None if call is None else source(history, call, value)
        if call is None or base is None or base.tensor in seen:
            return
        seen.add(base.tensor)
        yield call, base
        value = base


def through(history: History, value: Value, op: str) -> Call | None:
    """Return the call of ``op`` that a tensor shares its memory through, if any."""
    for call, _ in ancestors(history, value):
        if call.op == op:
            return call
    return None
