"""What a call is given: in its own brackets, or bound to its function before."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterable, Iterator

from gradviz.dependence.axis_ops import REDUCTIONS
from gradviz.dependence.op_families import RESHAPES
from gradviz.diagnosis.decisions.choice import entry_at, entry_of, path
from gradviz.diagnosis.decisions.frames import (
    Spot,
    argument,
    last_name,
    parameters,
)
from gradviz.diagnosis.edits.syntax import names_in


def given(where: Spot, place: int | None, names: Collection[str]) -> Spot | None:
    """Return the argument of the call at a spot, by its place or by its name.

    Also one that ``partial`` bound, or that ``**settings`` hold.
    """
    call = where.node
    if not isinstance(call, ast.Call):
        return None
    bound = list(_bound(where, call))
    for each, one in ((where, call), *bound):
        found = next(filter(None, (_named(each, one, name) for name in names)), None)
        if found is not None:
            return found
    return None if place is None else _placed(where, call, bound, place)


def _named(where: Spot, call: ast.Call, name: str) -> Spot | None:
    for each in call.keywords:
        if each.arg == name:
            return where.at(each.value)
        if each.arg is None:
            found = entry_of(where.at(each.value), name)
            if found is not None:
                return found
    return None


def _placed(
    where: Spot, call: ast.Call, bound: Iterable[tuple[Spot, ast.Call]], place: int
) -> Spot | None:
    before = [each.at(one) for each, partial in bound for one in partial.args[1:]]
    rows = [*before, *map(where.at, call.args)][: place + 1]
    if len(rows) <= place or any(isinstance(e.node, ast.Starred) for e in rows):
        return None
    return rows[place]


def _bound(where: Spot, call: ast.Call) -> Iterator[tuple[Spot, ast.Call]]:
    """Yield the calls of ``partial`` that can be behind the function of a call."""
    for step in path(where.at(call.func)):
        node = step.node
        branches = [node.body, node.orelse] if isinstance(node, ast.IfExp) else []
        ways = (path(step.at(each)) for each in branches)
        picked = entry_at(step)  # of a table of makers, whoever asked for that one
        behind = [] if picked is None else path(picked)
        for each in (step, *behind, *(one for way in ways for one in way)):
            made = each.node
            if isinstance(made, ast.Call) and last_name(made.func) == "partial":
                yield each, made


def in_brackets(call: ast.AST | None) -> list[ast.expr]:
    """Return what a call is given in its own brackets, by place and by name."""
    if not isinstance(call, ast.Call):
        return []
    return [*call.args, *(each.value for each in call.keywords)]


def spoken_of(where: Spot, text: str, names: Iterable[str]) -> Iterator[Spot]:
    """Yield what chose the arguments of a call whose value a text has as a word.

    Strings alone: numbers are in many texts. ``names`` are of keywords that may be
    among ``**settings``.
    """
    named = (given(where, None, (name,)) for name in names)
    for each in (*map(where.at, in_brackets(where.node)), *filter(None, named)):
        way = path(each)
        values = (getattr(step.node, "value", None) for step in way)
        if any(isinstance(value, str) and _has(text, value) for value in values):
            yield way[-1]


def _has(text: str, word: str) -> bool:
    return bool(word) and bool(re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text))


def handed(where: Spot, nodes: Collection[ast.expr]) -> list[Spot] | None:
    """Return what a caller gave, where each expression is of one parameter as it came.

    Elementwise or as it is; from the outermost call that hands both on. None where the
    function around made one of them itself, or nobody knows its caller.
    """
    scope, caller = where.scope, where.frame.caller
    if not isinstance(scope, ast.FunctionDef) or caller is None:
        return None
    names = [_parameter(scope, each) for each in nodes]
    if None in names or len(set(names)) < len(names):
        return None
    found = [argument(where, scope, name) for name in names if name is not None]
    ahead = [each for each in found if each is not None]
    inside = {id(each) for each in ast.walk(caller.node)}
    if len(ahead) < len(names) or any(id(each.node) not in inside for each in ahead):
        return None
    exprs = [each.node for each in ahead if isinstance(each.node, ast.expr)]
    return handed(caller, exprs) or ahead


def _parameter(function: ast.FunctionDef, node: ast.expr) -> str | None:
    """Return the one parameter that an expression is of, shape unchanged."""
    inside = list(ast.walk(node))
    if any(isinstance(each, ast.Subscript | ast.Lambda) for each in inside):
        return None
    called = {last_name(e.func) for e in inside if isinstance(e, ast.Call)}
    bound = {
        each.id
        for each in ast.walk(function)
        if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)
    }
    found = set(names_in(node)) & set(parameters(function)) - {"self"}
    if len(found) != 1 or found & bound or called & (RESHAPES | REDUCTIONS):
        return None
    return found.pop()
