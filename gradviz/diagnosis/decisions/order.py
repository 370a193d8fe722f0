"""Where a program chose an order: the lines of one function, or of one caller."""

from __future__ import annotations

import ast

from gradviz.diagnosis.decisions.bindings import definition, returned
from gradviz.diagnosis.decisions.decision import Frames
from gradviz.diagnosis.decisions.frames import Function, Spot, last_name, spot
from gradviz.program import History, RawSite

_CONTAINERS = ("ModuleList", "ModuleDict", "Sequential")


def parting(one: Frames, other: Frames) -> tuple[RawSite, RawSite] | None:
    """Return the two lines of one function, in one call, that led to two events.

    There the program chose which comes first. None where they are one line. Of deep
    stacks only the innermost frames are known: the same ones lie around the two lines.
    """
    for place, mine in enumerate(one, 1):
        for also, others in enumerate(other, 1):
            around = zip(one[place:], other[also:], strict=False)
            apart = mine[0] is others[0] and mine != others
            if apart and all(a == b for a, b in around):
                return mine, others
    return None


def outside_modules(
    history: History, frames: Frames, but: Frames = ()
) -> RawSite | None:
    """Return the innermost line that made an event happen, and is no part of a module.

    Neither of a helper that returns what it made: who asked for it has its place in
    the program. ``but`` are frames of who is no such part, though it may be a module.
    """
    own = {_class(spot(history, each)) for each in but}
    for each in frames:
        where = spot(history, each)
        around = _class(where)
        inside = around is not None and around not in own and _is_module(where, around)
        if where is not None and not inside and not _hands_out(where):
            return each
    return None


def _class(where: Spot | None) -> ast.ClassDef | None:
    """Return the class whose method an expression stands in."""
    return None if where is None else where.source.owner(where.scope)


def _is_module(where: Spot | None, of: ast.ClassDef) -> bool:
    """Tell whether a class inherits from torch's Module, as far as its file says so."""
    for each in of.bases:
        name = last_name(each)
        if name.endswith("Module") or name in _CONTAINERS:
            return True
        base = None if where is None else definition(where.source, name)
        if (
            isinstance(base, ast.ClassDef)
            and base is not of
            and _is_module(where, base)
        ):
            return True
    return False


def _hands_out(where: Spot) -> bool:
    """Tell whether a function returns what a line of it makes."""
    statement, scope = where.source.statement(where.node), where.scope
    if isinstance(statement, ast.Return):
        return True
    if not isinstance(statement, ast.Assign) or not isinstance(scope, Function):
        return False
    names = {each.id for each in statement.targets if isinstance(each, ast.Name)}
    given = [each.id for each in returned(scope) if isinstance(each, ast.Name)]
    return not names.isdisjoint(given)
