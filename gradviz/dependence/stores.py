"""What a program's text does with a value it has bound to a name: reads it, or not."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from gradviz.program import RawSite
from gradviz.program.places import Places, over_lines

Fate = Literal["unbound", "unread", "overwritten", "last turn", "returned"]


@dataclass(frozen=True, slots=True)
class Lost:
    """How a value was lost: ``line`` is where it was bound over, or its loop begins."""

    fate: Fate
    name: str = ""
    line: int | None = None


def lost(places: Places, site: RawSite) -> Lost | None:
    """Return how the value of a statement is lost; None where anything may read it.

    Only names of a function or a script that nothing else can see are followed, and
    names that take a value over as it is: ``total = loss``.
    """
    statement = places.statement(site)
    if not _is_whole(places.expression(site), statement):
        return None  # an argument of something that may keep it
    if isinstance(statement, ast.Expr):
        return None if places.is_shown(site) else Lost("unbound")
    if isinstance(statement, ast.Return):
        return Lost("returned")
    name = _bound(statement)
    tree = places.tree(site[0].co_filename)
    scope = places.function(site[0]) or tree
    if (
        statement is None
        or name is None
        or scope is None
        or isinstance(scope, ast.Lambda)
    ):
        return None
    if any(name in _shared(each) for each in ast.walk(scope)):
        return None
    names = _aliases(scope, name)
    later = _bound_over(_block(scope, statement), statement, names)
    if later is not None:
        return Lost("overwritten", name, later)
    if all(id(each) in _returned(scope) for each in _reads(scope, names)):
        is_read = any(_reads(scope, names))
        return Lost("returned" if is_read else "unread", name)
    around = [
        each
        for each in over_lines(scope, statement.lineno, statement.lineno)
        if isinstance(each, ast.For | ast.While) and each is not statement
    ]
    loop = max(around, key=lambda each: each.lineno, default=None)
    if loop is None or any(_reads(loop, names)):
        return None
    return Lost("last turn", name, loop.lineno)


def _is_whole(text: str, statement: ast.stmt | None) -> bool:
    """Tell whether an expression is all that a statement computes."""
    value = getattr(statement, "value", None)
    if not isinstance(value, ast.expr):
        return False
    try:
        return ast.unparse(ast.parse(text.strip(), mode="eval")) == ast.unparse(value)
    except SyntaxError:
        return False


def _bound(statement: ast.stmt | None) -> str | None:
    """Return the one name that a statement binds."""
    targets: Sequence[ast.expr] = ()
    if isinstance(statement, ast.Assign):
        targets = statement.targets
    elif isinstance(statement, ast.AnnAssign):
        targets = [statement.target]
    only = targets[0] if len(targets) == 1 else None
    return only.id if isinstance(only, ast.Name) else None


def _shared(node: ast.AST) -> list[str]:
    return node.names if isinstance(node, ast.Global | ast.Nonlocal) else []


def _aliases(scope: ast.AST, name: str) -> set[str]:
    """Return a name and those that are bound to what it names."""
    names = {name}
    for each in ast.walk(scope):
        value = each.value if isinstance(each, ast.Assign) else None
        other = _bound(each) if isinstance(each, ast.Assign) else None
        if isinstance(value, ast.Name) and value.id in names and other:
            names.add(other)
    return names


def _reads(within: ast.AST, names: set[str]) -> Iterator[ast.Name]:
    """Yield where names are read, but for handing the value on to another of them."""
    handed = {
        id(each.value)
        for each in ast.walk(within)
        if isinstance(each, ast.Assign) and _bound(each) in names
    }
    for each in ast.walk(within):
        if isinstance(each, ast.AugAssign):  # reads its target, too
            each = each.target
        elif not (isinstance(each, ast.Name) and not isinstance(each.ctx, ast.Store)):
            continue
        if isinstance(each, ast.Name) and each.id in names and id(each) not in handed:
            yield each


def _returned(scope: ast.AST) -> set[int]:
    """Return the expressions that a function returns as they are."""
    return {id(each.value) for each in ast.walk(scope) if isinstance(each, ast.Return)}


def _block(scope: ast.AST, statement: ast.stmt) -> list[ast.stmt]:
    """Return the statements of the block that a statement stands in."""
    line = statement.lineno
    for each in (scope, *over_lines(scope, line, line)):
        for field in ("body", "orelse", "finalbody"):
            block = getattr(each, field, None)
            if isinstance(block, list) and statement in block:
                return block  # pyright: ignore[reportUnknownVariableType]
    return []


def _bound_over(
    block: list[ast.stmt], statement: ast.stmt, names: set[str]
) -> int | None:
    """Return the line of the block that binds a name anew before anything reads it."""
    for each in block[block.index(statement) + 1 :] if block else ():
        if any(_reads(each, names)):
            return None
        if _bound(each) in names and not _hands_on(each, names):
            return each.lineno
        if not isinstance(each, ast.Assign | ast.Expr | ast.AnnAssign):
            return None  # a branch or a loop may leave
    return None


def _hands_on(statement: ast.stmt, names: set[str]) -> bool:
    value = statement.value if isinstance(statement, ast.Assign) else None
    return isinstance(value, ast.Name) and value.id in names
