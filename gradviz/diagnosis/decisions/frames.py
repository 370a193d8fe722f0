"""Expressions in the frames that ran them, and what a call gave to a parameter."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeAlias

from gradviz.diagnosis.edits.syntax import Loop, Source, last_name, place
from gradviz.program import History, RawSite

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


class Turn(NamedTuple):
    """The how manieth of the turns of a loop one is."""

    number: int
    of: int


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """One call of a function: the expression that called it, and that one's frame.

    ``call`` is None where the call is not known: of a function that is not on the
    stack, or of a module's own code, which nobody calls.
    """

    call: ast.Call | None = None
    source: Source | None = None  # of the call
    outer: Frame | None = None
    turn: Turn | None = None  # that the innermost loop in it is in, where it is known

    @property
    def caller(self) -> Spot | None:
        """Return the call as the frame around it ran it; None if it is not known."""
        if self.call is None or self.source is None:
            return None
        return Spot(self.source, self.call, self.outer or UNKNOWN)


UNKNOWN = Frame()
_INLINE = ("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>")
# have a frame of their own, and the names of the function around


@dataclass(frozen=True, slots=True, eq=False)
class Spot:
    """An expression or a statement of the program, as one frame ran it."""

    source: Source
    node: ast.AST
    frame: Frame = UNKNOWN

    @property
    def line(self) -> int:
        """Return the first line of it."""
        return self.node.lineno  # type: ignore[attr-defined]

    @property
    def scope(self) -> ast.AST:
        """Return the function around it, or the file."""
        return self.source.scope(self.node)

    def at(self, node: ast.AST) -> Spot:
        """Return another expression of the same frame."""
        return Spot(self.source, node, self.frame)

    def during(self, turn: Turn | None) -> Spot:
        """Return the same expression as a turn of the loop around it runs it."""
        return replace(self, frame=replace(self.frame, turn=turn))


def spot(
    history: History, site: RawSite | None, stack: tuple[RawSite, ...] = ()
) -> Spot | None:
    """Return what stands at a site, with the calls that led there; None if lost."""
    if site is None:
        return None
    try:
        found = place(history, site)
    except LookupError:
        return None
    outer = spot(history, stack[0], stack[1:]) if stack else None
    if outer is not None and site[0].co_name in _INLINE:
        return Spot(found.source, found.node, outer.frame)
    call = None if outer is None else call_in(outer)
    if outer is None or call is None:
        return Spot(found.source, found.node)
    return Spot(found.source, found.node, Frame(call, outer.source, outer.frame))


def levels(where: Spot) -> Iterator[Spot]:
    """Yield a spot, then the call of its function, and so on outwards."""
    level: Spot | None = where
    while level is not None:
        yield level
        level = level.frame.caller


def spots(
    history: History, frames: tuple[RawSite, ...]
) -> Iterator[tuple[RawSite, Spot]]:
    """Yield the sites of frames, innermost first, each with what stands there."""
    for outside, site in enumerate(frames, 1):
        where = spot(history, site, frames[outside:])
        if where is not None:
            yield site, where


def loops_around(where: Spot) -> Iterator[Loop]:
    """Return the loops around a spot in its function, from the inside out."""
    return where.source.loops(where.node)


def call_in(where: Spot) -> ast.Call | None:
    """Return the call at a spot: itself, or the only one of its statement."""
    if isinstance(where.node, ast.Call):
        return where.node
    calls = [each for each in ast.walk(where.node) if isinstance(each, ast.Call)]
    return calls[0] if len(calls) == 1 else None


def argument(where: Spot, function: Function, name: str) -> Spot | None:
    """Return what the parameter of a function was given by the call of its frame.

    That is an argument of the call, or else the default. Where the frame is not known,
    the only call of that function in its file; None if there are several.
    """
    frame = where.frame
    if frame.call is not None and not is_call_of(frame.call, function):
        return _bound_before(where, function, name)
    if frame.call is None:
        calls = calls_of(where.source, function)
        if len(calls) > 1:
            return None
        frame = Frame(calls[0], where.source) if calls else UNKNOWN
    if frame.call is not None and frame.source is not None:
        method = is_method(where.source, function)
        given, known = _given(frame.call, function, name, method)
        if given is not None:
            return Spot(frame.source, given, frame.outer or UNKNOWN)
        if not known:
            return None
    default = _default(function.args, name)
    return None if default is None else Spot(where.source, default)


def _bound_before(where: Spot, function: Function, name: str) -> Spot | None:
    """Return what ``partial(function, …)`` gave a parameter before it was called."""
    own = getattr(function, "name", None)
    for each in ast.walk(where.source.tree):
        if isinstance(each, ast.Call) and last_name(each.func) == "partial":
            if not each.args or last_name(each.args[0]) != own:
                continue
            for one in each.keywords:
                if one.arg == name:
                    return Spot(where.source, one.value)
    return None


def is_call_of(call: ast.Call, function: Function) -> bool:
    """Tell whether a call can be one of a function, by its name."""
    if isinstance(function, ast.Lambda) or function.name == last_name(call.func):
        return True
    # A constructor goes by its class, a forward by its module; a wrapper by any name.
    special = function.name in ("__init__", "__new__", "__call__", "forward")
    return special or bool(function.decorator_list)


def is_method(source: Source, function: Function) -> bool:
    """Tell whether the first parameter of a function is its object, or its class."""
    if not isinstance(source.parent(function), ast.ClassDef):
        return False
    decorators = getattr(function, "decorator_list", ())
    return "staticmethod" not in map(last_name, decorators)


def parameters(function: Function) -> list[str]:
    """Return the names of the parameters that a call can give by place."""
    return [each.arg for each in (*function.args.posonlyargs, *function.args.args)]


def _given(
    call: ast.Call, function: Function, name: str, bound: bool
) -> tuple[ast.expr | None, bool]:
    """Return what a call gives to a parameter, and whether that is plain to see."""
    for each in call.keywords:
        if each.arg == name:
            return each.value, True
    named = all(each.arg is not None for each in call.keywords)
    names = parameters(function)
    names = names[1:] if bound else names
    if name not in names:
        return None, named
    before = call.args[: names.index(name) + 1]
    if any(isinstance(each, ast.Starred) for each in before):
        return None, False
    found = before[-1] if len(before) == names.index(name) + 1 else None
    return found, named


def _default(args: ast.arguments, name: str) -> ast.expr | None:
    names = [each.arg for each in (*args.posonlyargs, *args.args)]
    pairs = dict(zip(names[::-1], args.defaults[::-1], strict=False))
    named = zip(args.kwonlyargs, args.kw_defaults, strict=True)
    pairs |= {each.arg: value for each, value in named if value is not None}
    return pairs.get(name)


def calls_of(source: Source, function: Function) -> list[ast.Call]:
    """Return the calls of a function that its file spells out, by name."""
    if isinstance(function, ast.Lambda):
        return []
    name, around = function.name, source.parent(function)
    if name == "__init__" and isinstance(around, ast.ClassDef):
        name = around.name
    return [
        each
        for each in ast.walk(source.tree)
        if isinstance(each, ast.Call) and last_name(each.func) == name
    ]
