"""Who gave a loss what a helper makes, where the helper serves others as it is."""

from __future__ import annotations

import ast
from bisect import bisect_right

from gradviz.diagnosis.decisions.bindings import returned
from gradviz.diagnosis.decisions.frames import spot
from gradviz.diagnosis.decisions.sites import same_line
from gradviz.program import Backward, Call, History, RawSite

_SPECIAL = ("forward", "__call__", "__init__")


def misused(history: History, call: Call, backward: Backward) -> RawSite | None:
    """Return who called the function of a call for a loss, where others need it so.

    A function that thresholds scores is right for a metric: then the line that hands
    its result to the loss is wrong. None where all its callers go to a loss, or where
    the function computes the loss itself.
    """
    if len(call.frames) < 2:
        return None
    where = spot(history, call.frames[0])
    function = None if where is None else where.scope
    if not isinstance(function, ast.FunctionDef) or function.name in _SPECIAL:
        return None
    if not returned(function) or _makes(history, call, backward):
        return None
    inner, caller = call.frames[:2]
    others = (
        each
        for each in history.calls
        if each.site == inner
        and each.op == call.op
        and not any(same_line(site, caller) for site in each.frames[1:2])
    )
    return caller if any(_is_beside(history, each) for each in others) else None


def _makes(history: History, call: Call, backward: Backward) -> bool:
    """Tell whether the function of a call gave the root of a pass."""
    function = call.frames[0][0]
    made = (history.producer(each, backward.index) for each in backward.roots)
    return any(
        site[0] is function for each in made if each is not None for site in each.frames
    )


def _is_beside(history: History, call: Call) -> bool:
    """Tell whether what a call gives, or writes, goes into no loss."""
    if not call.grad_enabled:
        return True
    passes = history.backwards
    place = bisect_right(passes, call.index, key=lambda each: each.index)
    if place == len(passes):
        return True
    root = passes[place]
    made = {each.tensor for each in call.outputs}
    made |= {each.value.tensor for each in call.writes}
    return made.isdisjoint(history.behind(root.roots, root.index))
