"""Iterators that can be walked once, and the loops that walk them again."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from gradviz.diagnosis.decisions.bindings import definition, own_nodes
from gradviz.diagnosis.decisions.choice import path
from gradviz.diagnosis.decisions.frames import Function, Spot, last_name, levels

_ONCE = ("zip", "map", "filter", "iter", "enumerate", "reversed")
"""What Python has that gives an iterator; so does a function that yields."""

_OF_MODULES = ("parameters", "named_parameters", "buffers", "modules", "children")
"""Methods of modules that do, where the file defines none of that name."""

_THROUGH = (*_ONCE, "tqdm", "islice", "chain")
_LOOPS = ast.For | ast.AsyncFor | ast.While


@dataclass(frozen=True, slots=True, eq=False)
class UsedUp:
    """An iterator that was made before a loop, in each turn of which another walks it.

    ``walk`` is the inner loop; ``again`` the one whose second turn finds nothing left.
    """

    made: Spot
    walk: ast.For
    again: ast.stmt


def used_up(where: Spot) -> UsedUp | None:
    """Return the iterator that the loops around a spot, in its frames, walk again.

    None where a loop ends early, as it may go on from there, and where the iterator
    never ends.
    """
    around = list(levels(where))
    for place, level in enumerate(around):
        for loop in _loops(level):
            if not isinstance(loop, ast.For) or _ends_early(loop):
                continue
            made = made_once(level.at(loop.iter))
            if made is None:
                continue
            for outer in around[place:]:
                again = _around(outer, made, loop)
                if again is not None:
                    return UsedUp(made, loop, again)
    return None


def _loops(level: Spot) -> Iterator[ast.stmt]:
    """Yield the loops around a spot in its function, from the inside out."""
    for each in level.source.around(level.node):
        if isinstance(each, Function):
            return
        if isinstance(each, _LOOPS):
            yield each


def _around(level: Spot, made: Spot, walk: ast.For) -> ast.stmt | None:
    """Return the loop of a level that runs again what walks, and not what made."""
    if made.source is not level.source or made.scope is not level.scope:
        return None
    outside = {id(each) for each in made.source.around(made.node)}
    for loop in _loops(level):
        if loop is not walk and id(loop) not in outside:
            return loop
    return None


def _ends_early(loop: ast.For) -> bool:
    return any(isinstance(each, ast.Break | ast.Return) for each in ast.walk(loop))


def made_once(where: Spot) -> Spot | None:
    """Return the expression that made an iterator which something walks.

    None where it is made on the spot, anew for each walk.
    """
    way = path(where)
    if _is_iterator(way[-1]):
        kinds = ast.Call | ast.GeneratorExp
        made = next((each for each in way if isinstance(each.node, kinds)), None)
        if made is not None and made.node is not where.node:
            return made
    node = way[-1].node
    if isinstance(node, ast.Call) and last_name(node.func) in _THROUGH:
        found = (made_once(way[-1].at(each)) for each in node.args)
        return next((each for each in found if each is not None), None)
    return None


def _is_iterator(where: Spot) -> bool:
    """Tell whether an expression is an iterator that comes to an end."""
    node = where.node
    if isinstance(node, ast.GeneratorExp):
        return True
    if not isinstance(node, ast.Call):
        return False
    if last_name(node.func) in _ONCE:
        return isinstance(node.func, ast.Name) and not _is_endless(node)
    function = definition(where.source, last_name(node.func))
    if function is None and isinstance(node.func, ast.Attribute):
        return node.func.attr in _OF_MODULES
    if not isinstance(function, ast.FunctionDef) or function.decorator_list:
        return False
    own = list(own_nodes(function))
    yields = any(isinstance(each, ast.Yield | ast.YieldFrom) for each in own)
    return yields and not any(map(_runs_on, own)) and not _is_endless(node)


def _runs_on(node: ast.AST) -> bool:
    """Tell whether a loop has no end of its own."""
    test = node.test if isinstance(node, ast.While) else None
    return isinstance(test, ast.Constant) and bool(test.value)


def _is_endless(call: ast.Call) -> bool:
    """Tell whether a call is given something that counts or repeats for ever.

    Or something that it may call again and again: ``iter(queue.get, None)``.
    """
    inner = [each for each in ast.walk(call) if isinstance(each, ast.Call)]
    endless = any(
        last_name(each.func) in ("cycle", "count", "repeat") for each in inner
    )
    return endless or (last_name(call.func) == "iter" and len(call.args) > 1)
