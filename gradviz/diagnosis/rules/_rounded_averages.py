"""Moving averages of parameters whose steps their dtype rounds away."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from gradviz.dependence import learning
from gradviz.dependence.flow import words
from gradviz.dependence.op_families import plain
from gradviz.diagnosis._words import shortened
from gradviz.diagnosis.decisions.arguments import given
from gradviz.diagnosis.decisions.choice import path
from gradviz.diagnosis.decisions.frames import spot
from gradviz.diagnosis.decisions.sites import site_of, sources_of
from gradviz.diagnosis.rule import Hit, Related
from gradviz.diagnosis.rules._origins import origin_call
from gradviz.program import Call, History, RawSite, Value, Write

_HALF = {"bfloat16": 2.0**-9, "float16": 2.0**-12}
"""Half of the distance to the next number, at least, by the number itself."""

_MOVING = words("add sub iadd isub lerp")
_LEAST = 8  # steps of one average
_MOST = 0.75  # of the steps are lost
_BELOW = 2 / 3  # of the half


@dataclass(slots=True, eq=False)
class _Average:
    """The steps of one average whose size is known, by the size of the average."""

    first: Call
    write: Write
    steps: list[float]


def of_averages(history: History) -> Iterator[Hit]:
    """Yield one hit per line that made such averages, of parameters, this narrow."""
    averages: dict[int, _Average] = {}
    shares = learning.shares(history)
    for call in history.calls:
        for write in call.writes if plain(call.op) in _MOVING else ():
            narrow = write.value.dtype in _HALF
            size = _size(call, write, shares) if narrow else None
            if size is not None:
                new = _Average(call, write, [])
                averages.setdefault(write.storage, new).steps.append(size)
    lines: dict[RawSite | None, list[_Average]] = {}
    for each in averages.values():
        if _is_lost(each):
            lines.setdefault(_narrowed_at(history, each), []).append(each)
    for site, found in lines.items():
        yield _hit(history, site, found)


def _size(call: Call, write: Write, shares: dict[int, frozenset[int]]) -> float | None:
    """Return how large a step is, by the size of what it moves; None if unknown.

    Of one that follows a parameter. What ``lerp_`` moves by is no further than both.
    """
    others = [each for each in call.inputs if each.storage != write.storage]
    behind = shares.get(others[0].storage, frozenset()) if others else frozenset()
    if len(others) != 1 or not behind - {write.storage}:
        return None
    old, pushed = _norm(call.inputs[0]), _norm(others[0])
    if not old or not pushed:
        return None
    if plain(call.op) == "lerp":
        weight = call.keywords.get("weight", (*call.arguments, None, None)[2])
        times, pushed = weight, max(old, pushed)
    else:
        times = call.keywords.get("alpha", 1)
    return abs(times) * pushed / old if isinstance(times, int | float) else None


def _norm(value: Value) -> float | None:
    return None if value.summary is None else value.summary.norm


def _is_lost(average: _Average) -> bool:
    """Tell whether steps are rounded away that would have added up to something."""
    steps, lost = average.steps, _lost(average)
    enough = len(steps) >= _LEAST and len(lost) >= _MOST * len(steps)
    return enough and sum(lost) > 2 * _HALF[average.write.value.dtype]


def _lost(average: _Average) -> list[float]:
    """Return the steps well below the half: elements are more or less than the norm."""
    most = _BELOW * _HALF[average.write.value.dtype]
    return [each for each in average.steps if each < most]


def _narrowed_at(history: History, average: _Average) -> RawSite | None:
    """Return the line that chose the dtype of an average, or else made it.

    In a class of averages, who gave it the dtype: a table of settings that it is
    taken from may be right for others, if they read that setting too.
    """
    made = origin_call(history, average.write.value, lambda each: each.dtype)
    if made is None or made.index > average.first.index:
        return average.first.site
    where = spot(history, made.site, made.stack)
    if where is None or not isinstance(where.node, ast.Call):
        return made.site
    chosen = given(where, 0, ("dtype",))
    way = path(chosen)[1:] if chosen is not None else []
    for each in reversed(way):
        around = each.source.parent(each.node)
        if isinstance(around, ast.keyword) or (
            isinstance(around, ast.Call) and each.node in around.args
        ):
            return site_of(history, way[-1] if _is_own(history, each.node) else each)
    return made.site


def _is_own(history: History, setting: ast.AST) -> bool:
    """Tell whether a setting, ``config.dtype``, is read in one place only."""
    if not isinstance(setting, ast.Attribute):
        return False
    trees = (source.tree for source in sources_of(history))
    same = (
        each
        for tree in trees
        for each in ast.walk(tree)
        if isinstance(each, ast.Attribute) and isinstance(each.ctx, ast.Load)
        if each.attr == setting.attr
    )
    return len([*islice(same, 2)]) == 1


def _hit(history: History, site: RawSite | None, found: list[_Average]) -> Hit:
    each = found[0]
    dtype, lost = each.write.value.dtype, len(_lost(each))
    at = f"`{shortened(history.text(each.first.site))}`"
    return Hit(
        f"The average of parameters stays behind what is trained: {at} in "
        f"{history.line(each.first.site)} keeps the average in {dtype}, and {lost} of "
        f"{len(each.steps)} updates are smaller than half the distance to the next "
        f"{dtype} number, so they are rounded away.",
        site,
        "Keep the average in float32 (`torch.float32` here), and take the difference "
        "to it in float32, too.",
        symptom=each.first.site,
        related=(Related("average updated here", each.first.site),),
        tensors=tuple(islice((one.write.value.tensor for one in found), 8)),
        certainty=0.9,
    )
