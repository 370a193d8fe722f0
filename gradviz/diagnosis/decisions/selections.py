"""Why a mask selects nothing: the number that a slice or a comparison was given."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from gradviz.dependence.op_families import plain
from gradviz.diagnosis.decisions.choice import choice
from gradviz.diagnosis.decisions.frames import Spot, spot
from gradviz.program import Call, History, Value

_COMPARISONS = ("ge", "gt", "le", "lt", "eq", "ne")
_FAR = 12  # calls between a mask and what it was made from


@dataclass(frozen=True, slots=True, eq=False)
class Selection:
    """A call that was to select something, and who chose the bound it goes by."""

    call: Call
    chosen: Spot


def empty_selection(history: History, mask: Value, before: int) -> Selection | None:
    """Return why a tensor of zeros has nothing else: what put no ones into it."""
    waiting = [(mask, before)]
    for _ in range(_FAR):
        if not waiting:
            return None
        value, end = waiting.pop(0)
        for call in _makers(history, value, end):
            where = spot(history, call.site, call.stack)
            bound = None if where is None else _bound(call, where)
            if bound is not None:
                return Selection(call, choice(bound))
            waiting += [(each, call.index) for each in call.inputs if _is_zero(each)]
    return None


def _makers(history: History, value: Value, end: int) -> Iterator[Call]:
    """Yield the calls that wrote a tensor or a part of it, and the one that made it."""
    for call, write in history.writes(value.storage, before=end):
        view = history.producer(write.value, call.index)
        empty = not prod(write.value.shape)
        yield (
            view if empty and view is not None and plain(call.op) != "setitem" else call
        )
    made = history.producer(value, end)
    if made is not None:
        yield made


def _is_zero(value: Value) -> bool:
    summary = value.summary
    return summary is not None and summary.zeros == summary.count > 0


def _bound(call: Call, where: Spot) -> Spot | None:
    """Return the expression by which a call selects nothing: of a slice, its bound."""
    statement = where.source.statement(where.node)
    made = [*(each.value for each in call.writes), *call.outputs]
    if plain(call.op) in ("setitem", "getitem"):
        if any(map(prod, (each.shape for each in made))):
            return None
        parts = [e for e in ast.walk(statement) if isinstance(e, ast.Slice)]
        found = [e for each in parts for e in (each.lower, each.upper) if e is not None]
    elif plain(call.op) in _COMPARISONS and all(map(_is_zero, made)):
        found = [
            each
            for one in ast.walk(statement)
            if isinstance(one, ast.Compare)
            for each in (one.left, *one.comparators)
            if not isinstance(each, ast.Call)
        ]
    else:
        return None
    return where.at(found[0]) if len(found) == 1 else where
