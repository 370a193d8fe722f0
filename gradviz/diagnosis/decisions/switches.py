"""Branches that somebody switches on and off: who had it that an expression runs."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradviz.diagnosis.decisions.bindings import all_parameters
from gradviz.diagnosis.decisions.choice import choice, defaults
from gradviz.diagnosis.decisions.frames import Function, Spot


def switched_by(where: Spot) -> Spot | None:
    """Return what decided that a branch around an expression was taken.

    Only of branches that ask a flag and nothing of the data: a parameter, or a module's
    ``training``. A parameter itself where nobody is seen to give it, or its default.
    """
    for branch in where.source.around(where.node):
        if isinstance(branch, Function | ast.ClassDef):
            return None
        if isinstance(branch, ast.If | ast.IfExp):
            flag = _flag(branch.test)
            if flag is not None and _inside(where, branch):
                return _decided(where.at(flag))
    return None


def is_open(decided: Spot) -> bool:
    """Tell whether a switch was left as it is unless a caller says otherwise."""
    node, function = decided.node, decided.scope
    if isinstance(node, ast.Name) and isinstance(function, Function):
        return node.id in all_parameters(function)
    functions = (e for e in ast.walk(decided.source.tree) if isinstance(e, Function))
    return isinstance(node, ast.Attribute) or any(
        node is each for one in functions for each in defaults(one)
    )


def _decided(flag: Spot) -> Spot | None:
    last = choice(flag)
    is_flag = isinstance(last.node, ast.Constant) or last.node is flag.node
    return last if is_flag or is_open(last) else None


def _flag(test: ast.expr) -> ast.expr | None:
    """Return the flag that a test asks: ``noisy``, ``eps is None``."""
    match test:
        case ast.Name() | ast.Attribute(ast.Name("self"), "training"):
            return test
        case ast.UnaryOp(ast.Not(), operand):
            return _flag(operand)
        case ast.Compare(ast.Name() as left, [_], [ast.Constant()]):
            return left
        case ast.BoolOp(_, values):
            return next(filter(None, map(_flag, values)), None)
        case _:
            return None


def _inside(where: Spot, branch: ast.If | ast.IfExp) -> bool:
    """Tell whether an expression runs in a branch, and is not the test of it."""
    return all(each is not branch.test for each in _way(where, branch))


def _way(where: Spot, to: ast.AST) -> Iterator[ast.AST]:
    for each in where.source.around(where.node):
        if each is to:
            return
        yield each
