"""In which turn of a loop something ran, and what the loop's variables are in it.

A loop over a table that is spelt out, ``{k: make(s) for k, s in SPECS.items()}``, runs
a line for each entry. What ran as the second of two was chosen by the second entry.
"""

from __future__ import annotations

import ast
from collections import defaultdict

from gradviz.dependence.learning import once
from gradviz.diagnosis.decisions.bindings import of_target
from gradviz.diagnosis.decisions.frames import Function, Spot, Turn
from gradviz.diagnosis.edits.syntax import names_in
from gradviz.program import Call, History, Module, Optimizer, OptimizerCall, RawSite

Walk = ast.For | ast.comprehension


def of_call(history: History, call: Call) -> Turn | None:
    """Return which of the calls of a line a call is, within one call of a module."""
    if call.module is None:
        return None
    return _turn(_calls(history)[call.site, call.module], call.index)


@once
def _calls(history: History) -> dict[tuple[RawSite | None, int | None], list[int]]:
    found = defaultdict[tuple[RawSite | None, int | None], list[int]](list)
    for call in history.calls:
        found[call.site, call.module].append(call.index)
    return found


def of_module(history: History, module: Module) -> Turn | None:
    """Return which of the modules that a line made on one way there one is."""
    modules = history.program.modules.values()
    same = [e.key for e in modules if (e.site, e.stack) == (module.site, module.stack)]
    return _turn(sorted(same), module.key)


def of_optimizer(history: History, optimizer: Optimizer) -> Turn | None:
    """Return which of the optimizers that a line made on one way there one is."""
    ways = {
        each.made: made.stack
        for each in history.program.optimizers.values()
        if each.site == optimizer.site
        and isinstance(made := history.at(each.made), OptimizerCall)
    }
    own = ways.get(optimizer.made)
    same = sorted(made for made, stack in ways.items() if stack == own)
    return _turn(same, optimizer.made) if own is not None else None


def _turn(events: list[int], one: int) -> Turn:
    return Turn(events.index(one), len(events))


def loop_of(where: Spot, name: str) -> Walk | None:
    """Return the loop around a spot that gives a variable, each entry once."""
    for each in where.source.around(where.node):
        if isinstance(each, Function):
            return None
        if isinstance(each, ast.For) and name in names_in(each.target):
            return each
        generators: list[ast.comprehension] = getattr(each, "generators", [])
        if any(name in names_in(one.target) for one in generators):
            alone = len(generators) == 1 and not generators[0].ifs
            return generators[0] if alone else None
    return None


def table_of(loop: Walk) -> ast.expr:
    """Return the table that a loop walks."""
    match loop.iter:
        case ast.Call(ast.Attribute(table, "items" | "keys" | "values"), []):
            return table
        case _:
            return loop.iter


def variable(loop: Walk, table: ast.AST, turn: Turn, name: str) -> ast.expr | None:
    """Return what a variable of a loop is in one turn; None if that is not known."""
    rows = _rows(loop.iter, table)
    if len(rows) != turn.of:
        return None
    return next(of_target(loop.target, rows[turn.number], name), None)


def _rows(iterable: ast.expr, table: ast.AST) -> list[ast.expr]:
    """Return what a loop meets, turn by turn, where its table is spelt out."""
    match iterable, table:
        case ast.Call(ast.Attribute(_, "items")), ast.Dict(keys, values):
            return [
                ast.copy_location(ast.Tuple([key, value], ast.Load()), value)
                for key, value in zip(keys, values, strict=True)
                if key is not None
            ]
        case ast.Call(ast.Attribute(_, "values")), ast.Dict(_, values):
            return values
        case _, ast.Dict(keys):
            return [key for key in keys if key is not None]
        case (
            (ast.Name() | ast.Attribute() | ast.List() | ast.Tuple()),
            (ast.List(entries) | ast.Tuple(entries)),
        ):
            return entries
        case _:
            return []
