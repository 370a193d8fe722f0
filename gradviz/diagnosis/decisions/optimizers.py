"""Which line chose what an optimizer was given: parameters, a rate, a selection."""

from __future__ import annotations

import ast

from gradviz.diagnosis.decisions.arguments import given, in_brackets
from gradviz.diagnosis.decisions.choice import choice, entry, entry_of, path
from gradviz.diagnosis.decisions.decision import Decision, Frames, decided, of_given
from gradviz.diagnosis.decisions.frames import Spot, spot
from gradviz.diagnosis.decisions.loops import handed
from gradviz.diagnosis.decisions.turns import of_optimizer
from gradviz.program import History, Optimizer, OptimizerCall, ScheduleCall


def of_parameters(history: History, optimizer: Optimizer) -> Decision:
    """Return the line that chose which parameters an optimizer was given.

    Where a helper makes it for the model that it is handed, who handed it that.
    """
    where = spot(history, optimizer.site, _stack_of(history, optimizer))
    params = None if where is None else given(where, 0, ("params",))
    if where is None or params is None:
        return Decision(optimizer.site)
    last = path(params.during(of_optimizer(history, optimizer)))[-1]
    key = _key_of(last)
    if key is not None:
        return decided(history, key, optimizer.site)
    while (came := handed(last)) is not None:
        last = came
    own = last.node in in_brackets(where.node)
    return Decision(optimizer.site) if own else decided(history, last, optimizer.site)


def _key_of(params: Spot) -> Spot | None:
    """Return the key that a table of settings has for a model: ``nets[spec.of]``."""
    match params.node:
        case ast.Call(ast.Attribute(ast.Subscript(_, key), "parameters"), []):
            found = choice(params.at(key))
            return found if isinstance(found.node, ast.Constant) else None
        case _:
            return None


def of_rate(history: History, optimizer: Optimizer) -> Decision:
    """Return the line that chose how long the steps of an optimizer are.

    Its own rate, that of the only group that has one, or a scheduler's that takes no
    notice of it.
    """
    for made in history.of(ScheduleCall):
        place = _PEAKS.get(made.kind) if made.what == "init" else None
        if made.optimizer == optimizer.key and place is not None:
            return of_given(history, made.site, made.stack, place, ("max_lr",))
    stack = _stack_of(history, optimizer)
    where = spot(history, optimizer.site, stack)
    groups = None if where is None else given(where, 0, ("params",))
    last = None if groups is None else path(groups)[-1]
    listed = last.node.elts if last and isinstance(last.node, ast.List) else ()
    rates = [entry_of(last.at(each), "lr") for each in listed if last is not None]
    own = [each for each in rates if each is not None]
    rate = None if where is None else given(where, 1, ("lr",))
    if len(own) == 1 and rate is None:
        return decided(history, _longest(own[0]), optimizer.site)
    peak = None if rate is None else _longest(rate)
    if rate is not None and peak is not None and peak.node is not path(rate)[-1].node:
        return decided(history, peak, optimizer.site)
    return of_given(history, optimizer.site, stack, 1, ("lr",))


def _longest(rate: Spot) -> Spot:
    """Return what chose a rate, past the factors that make it no longer: a warm-up."""
    last = path(rate)[-1]
    match last.node:
        case ast.BinOp(left, ast.Mult(), right):
            free = [each for each in (left, right) if not _shortens(each)]
            return _longest(last.at(free[0])) if len(free) == 1 else last
        case _:
            return last


def _shortens(factor: ast.expr) -> bool:
    """Tell whether a factor is 1 at most, as it stands there."""
    match factor:
        case ast.Constant(int() | float() as value):
            return value <= 1
        case ast.Call(ast.Name("min"), parts):
            return any(map(_shortens, parts))
        case _:
            return False


_PEAKS = {"OneCycleLR": 1, "CyclicLR": 2}
# schedulers that have a rate of their own: its place among the arguments


def is_at_rest(history: History, optimizer: Optimizer) -> bool:
    """Tell whether the program gives an optimizer a rate of 0, in plain words."""
    where = spot(history, optimizer.site, _stack_of(history, optimizer))
    rate = None if where is None else given(where, 1, ("lr",))
    last = None if rate is None else path(rate)[-1].node
    return isinstance(last, ast.Constant) and last.value == 0


def of_selection(history: History, optimizer: Optimizer) -> Decision:
    """Return the line that picked an optimizer's parameters by a condition.

    That of a comprehension, of the groups' first where they are spelt out as a list;
    without one, the optimizer's own.
    """
    where = spot(history, optimizer.site, _stack_of(history, optimizer))
    params = None if where is None else given(where, 0, ("params",))
    if params is None:
        return Decision(optimizer.site)
    last = path(params)[-1]
    listed = last.node.elts if isinstance(last.node, ast.List) else []
    lists = [last.at(entry(each, "params") or each) for each in listed] or [last]
    for found in (path(each)[-1] for each in lists):
        node = found.node
        picks = isinstance(node, ast.ListComp | ast.GeneratorExp) and node.generators
        if picks and any(of.ifs for of in picks):
            return decided(history, found, optimizer.site)
    return Decision(optimizer.site)


def _stack_of(history: History, optimizer: Optimizer) -> Frames:
    """Return the frames around the line that made an optimizer."""
    made = history.at(optimizer.made)
    return made.stack if isinstance(made, OptimizerCall) else ()
