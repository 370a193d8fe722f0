"""Iterators that can be walked once, and the loops that walk them again."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from gradviz.diagnosis.decisions.bindings import (
    definition,
    own_nodes,
    returned,
    set_attributes,
)
from gradviz.diagnosis.decisions.choice import choice, path
from gradviz.diagnosis.decisions.frames import (
    Frame,
    Spot,
    last_name,
    levels,
    loops_around,
)

_ONCE = ("zip", "map", "filter", "iter", "enumerate", "reversed")
"""What Python has that gives an iterator; so does a function that yields."""

_OF_MODULES = ("parameters", "named_parameters", "buffers", "modules", "children")
"""Methods of modules that do, where the file defines none of that name."""

_THROUGH = (*_ONCE, "tqdm", "chain")


@dataclass(frozen=True, slots=True, eq=False)
class UsedUp:
    """An iterator that was made before a loop, in each turn of which another walks it.

    ``walk`` is the inner loop; ``again`` the one whose second turn finds nothing left.
    """

    made: Spot
    walk: ast.For
    again: ast.stmt

    @property
    def is_advanced(self) -> bool:
        """Tell whether the class that made it takes its elements with ``next``."""
        inside = self.made.source.owner(self.made.node)
        return inside is not None and any(
            isinstance(each, ast.Call) and last_name(each.func) == "next"
            for each in ast.walk(inside)
        )


def used_up(where: Spot) -> UsedUp | None:
    """Return the iterator that the loops around a spot, in its frames, walk again.

    None where a loop ends early, as it may go on from there, and where the iterator
    never ends.
    """
    around = list(levels(where))
    for place, level in enumerate(around):
        for loop in loops_around(level):
            if not isinstance(loop, ast.For) or _ends_early(loop):
                continue
            kept = _kept(level.at(loop.iter))
            again = None if kept is None else _again(kept, around[place:], loop)
            if kept is not None and again is not None:
                return UsedUp(kept.made, loop, again)
    return None


def _again(kept: _Kept, around: list[Spot], walk: ast.For) -> ast.stmt | None:
    """Return the loop of a level that runs again what walks, and not what made."""
    owner = kept.owner
    for place, level in enumerate(around):
        if place and owner is None:
            owner = _constructed(kept.made, around[place - 1], level)
        loops = [each for each in loops_around(level) if each is not walk]
        for since in (owner, kept.made):
            if since is None or since.source is not level.source:
                continue
            if since.scope is level.scope:
                outside = {id(each) for each in since.source.around(since.node)}
                return next((e for e in loops if id(e) not in outside), None)
            if loops and _is_before(since, level, around[place + 1 :]):
                return loops[0]
    return None


def _constructed(made: Spot, inner: Spot, level: Spot) -> Spot | None:
    """Return the construction of the object whose method a level calls.

    Of one whose ``__init__`` made the iterator.
    """
    call = inner.frame.call
    method = None if call is None else call.func
    of = made.source.parent(made.scope)
    if not isinstance(method, ast.Attribute) or not isinstance(of, ast.ClassDef):
        return None
    found = choice(level.at(method.value))
    named = isinstance(found.node, ast.Call) and last_name(found.node.func) == of.name
    return found if named else None


def _is_before(since: Spot, level: Spot, outer: list[Spot]) -> bool:
    """Tell whether something was made before the function of a level was called.

    By who called it, in the file or the function around it, or by the constructor of
    its own object.
    """
    if any(since.scope is each.scope for each in outer):
        return True
    around = since.source.around(level.scope)
    if any(since.scope is each for each in around):
        shared = ast.Global | ast.Nonlocal
        return not any(isinstance(e, shared) for e in ast.walk(since.source.tree))
    of = since.source.parent(since.scope)
    own = isinstance(of, ast.ClassDef) and of is since.source.parent(level.scope)
    return own and getattr(since.scope, "name", "") == "__init__"


def _ends_early(loop: ast.For) -> bool:
    return any(isinstance(each, ast.Break | ast.Return) for each in ast.walk(loop))


def made_once(where: Spot) -> Spot | None:
    """Return the expression that made an iterator which something walks.

    None where it is made on the spot, anew for each walk.
    """
    kept = _kept(where)
    return None if kept is None else kept.made


@dataclass(frozen=True, slots=True, eq=False)
class _Kept:
    """An expression that made an iterator, and the construction of who has it."""

    made: Spot
    owner: Spot | None = None


def _kept(where: Spot) -> _Kept | None:
    way = path(where)
    if _is_iterator(way[-1]):
        kinds = ast.Call | ast.GeneratorExp
        made = next((each for each in way if isinstance(each.node, kinds)), None)
        if made is not None and made.node is not where.node:
            return _Kept(made) if _stays(way, made) else None
    node = way[-1].node
    if not isinstance(node, ast.Call):
        return None
    if last_name(node.func) in _THROUGH:
        if any(_counts(each) for each in node.args):
            return None
        found = (_kept(way[-1].at(each)) for each in node.args)
        return next((each for each in found if each is not None), None)
    for each in _handed_out(way[-1], node):
        kept = _kept(each)
        if kept is not None and kept.made.scope is not each.scope:
            by_class = isinstance(each.source.parent(each.scope), ast.ClassDef)
            return _Kept(kept.made, way[-1]) if by_class else kept
    return None


def _stays(way: list[Spot], made: Spot) -> bool:
    """Tell whether what a constructor put into an attribute is there for good."""
    for each in way:
        if isinstance(each.node, ast.Attribute):
            setting = set_attributes(each.source, each.node.attr)
            by_others = (
                isinstance(target, ast.Attribute) and last_name(target.value) != "self"
                for statement, _ in setting
                for target in ast.walk(statement)
                if isinstance(getattr(target, "ctx", None), ast.Store)
            )
            in_method = isinstance(made.source.parent(made.scope), ast.ClassDef)
            own = not in_method or getattr(made.scope, "name", "") == "__init__"
            if any(by_others) or (not own and made.scope is not way[0].scope):
                return False
    return True


def _handed_out(made: Spot, call: ast.Call) -> Iterator[Spot]:
    """Yield what a generator, or an object with an ``__iter__``, hands the items of."""
    of = definition(made.source, last_name(call.func))
    if isinstance(of, ast.FunctionDef):
        frame = Frame(call, made.source, made.frame)
        yield from (Spot(made.source, each, frame) for each in _walked_in(of))
        return
    methods = {
        each.name: each
        for each in (of.body if isinstance(of, ast.ClassDef) else ())
        if isinstance(each, ast.FunctionDef)
    }
    begins, goes_on = methods.get("__iter__"), methods.get("__next__")
    walked = [] if begins is None else [*returned(begins), *_walked_in(begins)]
    if goes_on is not None and not any(
        isinstance(each, ast.Raise) for each in own_nodes(goes_on)
    ):  # else it may end before what it takes from does, to go on later
        walked += [
            each.args[0]
            for each in own_nodes(goes_on)
            if isinstance(each, ast.Call)
            and last_name(each.func) == "next"
            and len(each.args) == 1
        ]
    yield from (Spot(made.source, each) for each in walked)


def _walked_in(function: ast.FunctionDef) -> Iterator[ast.expr]:
    """Yield what a generator walks to the end."""
    for each in own_nodes(function):
        if isinstance(each, ast.YieldFrom):
            yield each.value
        elif isinstance(each, ast.For) and not _ends_early(each):
            yield each.iter


def _counts(node: ast.expr) -> bool:
    """Tell whether ``zip`` may end with this one, and leave something in the others."""
    return isinstance(node, ast.Call) and last_name(node.func) == "range"


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
