"""On which conditions a line ran, from the inside out, through the calls to it."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeGuard

from gradviz.diagnosis.decisions.choice import path
from gradviz.diagnosis.decisions.frames import Function, Spot, calls_of, levels

_LEAVING = ast.Return | ast.Continue | ast.Break | ast.Raise
_DEEPEST = 8  # conditions within one another
_ASKING = ast.Compare | ast.BinOp | ast.BoolOp | ast.UnaryOp


@dataclass(frozen=True, slots=True, eq=False)
class Condition:
    """An expression that was asked for, and whether the line ran where it is true."""

    where: Spot
    holds: bool


def conditions(where: Spot) -> Iterator[Condition]:
    """Yield what was asked before a line ran, in its function and in those around.

    Through names, properties and functions, to the comparison itself; of ``a and not
    b``, both.
    """
    for level in _outwards(where):
        for test, holds in asked_around(level):
            yield from _parts(level.at(test), holds)


def _outwards(where: Spot) -> Iterator[Spot]:
    """Yield a spot and the calls that led to it; beyond those known, an only one."""
    level, met = where, set[ast.AST]()
    for level in levels(where):
        yield level
    while isinstance(level.scope, Function) and level.scope not in met:
        function = level.scope
        met.add(function)
        calls = [
            each
            for each in calls_of(level.source, function)
            if all(around is not function for around in level.source.around(each))
        ]
        if len(calls) != 1:
            return
        level = Spot(level.source, calls[0])
        yield level


def asked_around(level: Spot) -> Iterator[tuple[ast.expr, bool]]:
    """Yield the tests around a spot, and those that would have left before it."""
    source, inner = level.source, level.node
    for each in source.around(level.node):
        if isinstance(each, ast.If | ast.IfExp) and inner is not each.test:
            body = each.body if isinstance(each.body, list) else [each.body]
            yield each.test, any(inner is one for one in body)
        if isinstance(each, ast.BoolOp):
            before = each.values[: _place(each.values, inner)]
            yield from ((one, isinstance(each.op, ast.And)) for one in before)
        if isinstance(each, Function):
            return
        if isinstance(each, ast.stmt):
            block = source.block(each)
            earlier = reversed(block[: _place(block, each)])
            yield from ((guard.test, False) for guard in earlier if _leaves(guard))
        inner = each


def strings_in(test: Spot) -> Iterator[Spot]:
    """Yield the strings, and the lists of strings, by which a condition asks.

    Where they are spelt out: of ``name.startswith(self.part)``, what that was set to;
    not of a separator.
    """
    for each in ast.walk(test.node):
        if isinstance(each, ast.Name | ast.Attribute | ast.Constant):
            last = path(test.at(each))[-1]
            parts = getattr(last.node, "elts", [last.node])
            if parts and all(_is_word(getattr(each, "value", 0)) for each in parts):
                yield last


def _is_word(value: object) -> bool:
    return isinstance(value, str) and any(map(str.isalnum, value))


def _leaves(statement: ast.stmt) -> TypeGuard[ast.If]:
    """Tell whether a branch leaves where its test is true, and goes on where not."""
    if not isinstance(statement, ast.If) or statement.orelse:
        return False
    return isinstance(statement.body[-1], _LEAVING)


def _place(among: Sequence[ast.AST], node: ast.AST) -> int:
    return next((i for i, each in enumerate(among) if each is node), 0)


def _parts(where: Spot, holds: bool, left: int = _DEEPEST) -> Iterator[Condition]:
    """Yield the comparisons that a condition stands for, and how each turned out."""
    if not left:  # ``flag = not flag``
        return
    way = path(where)
    asked = next((each for each in way if isinstance(each.node, _ASKING)), way[-1])
    match asked.node:
        case ast.UnaryOp(ast.Not(), operand):
            yield from _parts(asked.at(operand), not holds, left - 1)
        case ast.BoolOp(operator, values):
            if isinstance(operator, ast.And) == holds:
                for each in values:
                    yield from _parts(asked.at(each), holds, left - 1)
        case _:
            yield Condition(asked, holds)
