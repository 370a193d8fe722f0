"""What a program's text does with a value it has bound to a name: reads it, or not."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal
from weakref import WeakKeyDictionary

from gradviz.dependence.lineage import reached
from gradviz.program import RawSite
from gradviz.program.places import Places, over_lines

Fate = Literal["unbound", "unread", "overwritten", "last iteration", "returned"]


@dataclass(frozen=True, slots=True)
class Lost:
    """How a value was lost: ``line`` is where it was bound over, or its loop begins.

    ``bound`` is the line that keeps the last one of a loop, under another name;
    ``place`` is that in the tuple which a function returned.
    """

    fate: Fate
    name: str = ""
    line: int | None = None
    bound: int | None = None
    place: int | None = None


def is_unbound(places: Places, site: RawSite) -> bool:
    """Tell whether a value is all that a statement computes, and nothing takes it."""
    statement = places.statement(site)
    return (
        isinstance(statement, ast.Expr)
        and _is_whole(places.expression(site), statement)
        and not places.is_shown(site)
    )


def lost(places: Places, site: RawSite, place: int | None = None) -> Lost | None:
    """Return how the value of a statement is lost; None where anything may read it.

    Only names of a function or a script that nothing else can see are followed, and
    names that take a value over as it is: ``total = loss``. With ``place``, of what is
    there in the tuple that the statement computes: ``out, extra = layer(x)``. That a
    name says itself that nobody needs it, as ``_`` does, is no loss.
    """
    statement = places.statement(site)
    if isinstance(statement, ast.Expr):
        whole = place is None and is_unbound(places, site)
        return Lost("unbound") if whole else None
    text = places.expression(site)
    if isinstance(statement, ast.Return) and place is None:
        at = _place_in(text, statement.value)
        if at is not None:
            return Lost("returned", place=at)
    if not _is_whole(text, statement):
        return None  # an argument of something that may keep it
    if isinstance(statement, ast.Return):
        return Lost("returned", place=place)
    name = _bound(statement) if place is None else _bound_at(statement, place)
    if place is not None and name is not None and not name.strip("_"):
        return None
    scope = places.function(site[0]) or places.tree(site[0].co_filename)
    if statement is None or name is None or scope is None:
        return None
    return None if isinstance(scope, ast.Lambda) else _fate(scope, statement, name)


def _fate(scope: ast.stmt | ast.Module, statement: ast.stmt, name: str) -> Lost | None:
    known = _known.get(scope)
    if known is None:
        known = _known[scope] = _Names(scope)
    if name in known.shared:
        return None
    names = known.aliases(name)
    later = _bound_over(known, _block(scope, statement), statement, names)
    if later is not None:
        return Lost("overwritten", name, later)
    reads = list(known.reads(names))
    around = [
        each
        for each in over_lines(scope, statement.lineno, statement.lineno)
        if isinstance(each, ast.For | ast.While) and each is not statement
    ]
    loop = max(around, key=lambda each: each.lineno, default=None)
    if loop is not None and reads and not known.reads_within(loop, names):
        bound = known.handed_at(names - {name})
        return Lost("last iteration", name, loop.lineno, bound)
    if all(id(each) in known.returned for each in reads):
        return Lost("returned" if reads else "unread", name)
    return None


class _Names:
    """What a function or a script does with each of its names, found in one walk."""

    def __init__(self, scope: ast.AST) -> None:
        self.shared: set[str] = set()
        self.returned: set[int] = set()  # expressions that it returns as they are
        self._handed: dict[int, str] = {}  # where a name's value goes on under another
        self._taken: defaultdict[str, list[str]] = defaultdict(list)
        self._taken_at: dict[str, int] = {}
        self._reads: defaultdict[str, list[ast.Name]] = defaultdict(list)
        for each in ast.walk(scope):
            self._look_at(each)

    def _look_at(self, node: ast.AST) -> None:
        match node:
            case ast.Global() | ast.Nonlocal():
                self.shared.update(node.names)
            case ast.Return():
                self.returned.add(id(node.value))
            case ast.Assign(value=ast.Name(id=name)) if other := _bound(node):
                self._handed[id(node.value)] = other
                self._taken[name].append(other)
                self._taken_at[other] = node.lineno
            case ast.AugAssign(target=ast.Name(id=name) as target):
                self._reads[name].append(target)  # its target, too
            case ast.Name(id=name) if not isinstance(node.ctx, ast.Store):
                self._reads[name].append(node)
            case _:
                pass

    def handed_at(self, aliases: set[str]) -> int | None:
        """Return the first line in which one of these names takes another's value."""
        return min((self._taken_at[each] for each in aliases), default=None)

    def aliases(self, name: str) -> set[str]:
        """Return a name and those that are bound to what it names."""
        return {*reached([name], self._taken.__getitem__)}

    def reads(self, names: set[str]) -> Iterator[ast.Name]:
        """Yield where names are read, but for handing on to another of them."""
        for name in names:
            for each in self._reads[name]:
                if self._handed.get(id(each)) not in names:
                    yield each

    def reads_within(self, node: ast.stmt, names: set[str]) -> bool:
        """Tell whether names are read in a statement."""
        first = node.lineno, node.col_offset
        last = node.end_lineno or first[0], node.end_col_offset or 0
        return any(
            first <= (each.lineno, each.col_offset) < last for each in self.reads(names)
        )


_known: WeakKeyDictionary[ast.AST, _Names] = WeakKeyDictionary()


def _is_whole(text: str, statement: ast.stmt | None) -> bool:
    """Tell whether an expression is all that a statement computes."""
    value = getattr(statement, "value", None)
    if not isinstance(value, ast.expr):
        return False
    return _unparsed(text) == ast.unparse(value)


def _place_in(text: str, value: ast.expr | None) -> int | None:
    """Return where in a tuple an expression stands."""
    if not isinstance(value, ast.Tuple):
        return None
    alike = (ast.unparse(each) == _unparsed(text) for each in value.elts)
    return next((place for place, same in enumerate(alike) if same), None)


def _unparsed(text: str) -> str | None:
    try:
        return ast.unparse(ast.parse(text.strip(), mode="eval"))
    except SyntaxError:
        return None


def _bound_at(statement: ast.stmt | None, place: int) -> str | None:
    """Return the name that takes one of the elements of a tuple."""
    targets = statement.targets if isinstance(statement, ast.Assign) else ()
    only = targets[0] if len(targets) == 1 else None
    names = only.elts if isinstance(only, ast.Tuple | ast.List) else ()
    if any(isinstance(each, ast.Starred) for each in names) or place >= len(names):
        return None
    name = names[place]
    return name.id if isinstance(name, ast.Name) else None


def _bound(statement: ast.stmt | None) -> str | None:
    """Return the one name that a statement binds."""
    targets: Sequence[ast.expr] = ()
    if isinstance(statement, ast.Assign):
        targets = statement.targets
    elif isinstance(statement, ast.AnnAssign):
        targets = [statement.target]
    only = targets[0] if len(targets) == 1 else None
    return only.id if isinstance(only, ast.Name) else None


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
    known: _Names, block: list[ast.stmt], statement: ast.stmt, names: set[str]
) -> int | None:
    """Return the line of the block that binds a name anew before anything reads it."""
    for each in block[block.index(statement) + 1 :] if block else ():
        if known.reads_within(each, names):
            return None
        if _bound(each) in names and not _hands_on(each, names):
            return each.lineno
        if not isinstance(each, ast.Assign | ast.Expr | ast.AnnAssign):
            return None  # a branch or a loop may leave
    return None


def _hands_on(statement: ast.stmt, names: set[str]) -> bool:
    value = statement.value if isinstance(statement, ast.Assign) else None
    return isinstance(value, ast.Name) and value.id in names
