"""Calls before and after a tensor: what it was made by, and what is made of it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import TypeVar

from gradviz.dependence.op_families import MOVES, PICKS, plain
from gradviz.program import Call, History, Value

T = TypeVar("T")

_FAR = 60  # tensors that are followed on


def reached(
    start: Iterable[T | None],
    onward: Callable[[T], Iterable[T | None]],
    most: int | None = None,
) -> Iterator[T]:
    """Yield some things and all that they lead to, each once, the last found first.

    What is None leads nowhere. With ``most``, no more than so many.
    """
    waiting, met = list(start), set[T]()
    while waiting and (most is None or len(met) < most):
        each = waiting.pop()
        if each is not None and each not in met:
            met.add(each)
            yield each
            waiting += onward(each)


def behind(history: History, value: Value, before: int | None = None) -> Iterator[Call]:
    """Yield the call that made a tensor, the one that made its first operand, …"""
    while (call := history.producer(value, before)) is not None:
        yield call
        if not call.inputs:
            return
        value, before = call.inputs[0], call.index


def made_through(
    history: History, value: Value, before: int | None, skipped: Collection[str]
) -> Call | None:
    """Return the call that made a tensor, seen through calls of these names."""
    calls = behind(history, value, before)
    return next((each for each in calls if plain(each.op) not in skipped), None)


def ahead(
    history: History,
    values: Iterable[Value],
    through: Callable[[Value, Call], bool],
    after: int = -1,
    most: int = _FAR,
) -> Iterator[tuple[Value, Call]]:
    """Yield what uses tensors, and what is made of them, each with the tensor.

    Nearest first, and on to the results of a use where ``through`` says so.
    """
    waiting = list(values)
    met = {each.tensor for each in waiting}
    for value in waiting:
        for use in history.uses(value.tensor, after):
            yield value, use
            if len(waiting) < most and through(value, use):
                new = [each for each in use.outputs if each.tensor not in met]
                met.update(each.tensor for each in new)
                waiting += new


def is_kept(value: Value, use: Call) -> bool:
    """Tell whether a use moves, casts or picks elements of a tensor, as they are."""
    return plain(use.op) in MOVES | PICKS and use.inputs[0].tensor == value.tensor
