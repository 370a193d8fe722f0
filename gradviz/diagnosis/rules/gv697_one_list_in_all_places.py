"""One list, put into all places of another: what goes into one is in every other.

What it does
    Finds ``[[]] * count`` whose places are filled one by one, in a function of the run.

Why is this bad
    ``*`` repeats the reference, not the list. Losses that are gathered by kind, or
    states by layer, end up in one list: each sum is the sum of everything, and what was
    to be logged or weighed alone counts in the loss.

Example
    ::

        losses = [[]] * len(names)
        for k, loss in enumerate(parts):
            losses[k].append(loss)

Use instead
    ::

        losses = [[] for _ in names]

When it stays quiet
    Numbers, strings, tuples and None, which nobody can change in place; places that are
    only replaced: ``rows[k] = [loss]``.

References
    https://docs.python.org/3/faq/programming.html#how-do-i-create-a-multidimensional-list
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from types import CodeType

from gradviz.diagnosis.decisions.bindings import own_nodes
from gradviz.diagnosis.decisions.sites import assignments
from gradviz.diagnosis.edits.calls import listed_anew, repeated
from gradviz.diagnosis.edits.syntax import Source, called, source_of
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.program import History

_FILLING = frozenset(["append", "extend", "insert", "add", "update", "setdefault"])
_MADE = frozenset(["list", "dict", "set", "deque", "defaultdict", "OrderedDict"])


@rule("GV697", "one-list-in-all-places", "warning")
def check(history: History) -> Iterator[Hit]:
    """Yield one hit per list of one list whose places are filled one by one."""
    told = set[ast.AST]()
    for code, statement in assignments(history):
        if statement in told or not _is_repeated(statement.value):
            continue
        source = source_of(history, code.co_filename)
        filling = source and _filling(source, statement.targets[0])
        if source is not None and filling is not None:
            told.add(statement)
            yield _hit(history, source, code, statement, filling)


def _is_repeated(node: ast.AST) -> bool:
    """Tell whether an expression puts one and the same list in all places."""
    entry, _ = repeated(node) or (None, None)
    displayed = isinstance(entry, ast.List | ast.Dict | ast.Set | ast.ListComp)
    return displayed or (entry is not None and called(entry) in _MADE)


def _filling(source: Source, target: ast.expr) -> ast.stmt | None:
    """Return the first statement that puts something into one of the places."""
    scope = source.scope(target)
    if isinstance(target, ast.Attribute):
        nodes: Iterable[ast.AST] = ast.walk(source.owner(target) or scope)
    else:
        nodes = own_nodes(scope)
    name = ast.unparse(target)
    for each in nodes:
        match each:
            case ast.Expr(ast.Call(ast.Attribute(ast.Subscript(of), method))):
                found = method in _FILLING and ast.unparse(of) == name
            case ast.AugAssign(ast.Subscript(of), ast.Add(), ast.List()):
                found = ast.unparse(of) == name
            case ast.Assign([ast.Subscript(ast.Subscript(of))]):
                found = ast.unparse(of) == name
            case _:
                continue
        if found:
            return each
    return None


def _hit(
    history: History,
    source: Source,
    code: CodeType,
    statement: ast.Assign,
    filling: ast.stmt,
) -> Hit:
    site = history.places.at_line(code, statement.lineno)
    filled = history.places.at_line(code, filling.lineno)
    name = source.of(statement.targets[0])
    return Hit(
        f"`{source.of(statement.value)}` puts one and the same object in all places of "
        f"`{name}`: what `{source.of(filling)}` (line {filling.lineno}) puts in one "
        "place is in every other.",
        site,
        "Make a new one for each place: `[[] for _ in range(count)]`.",
        symptom=filled,
        related=(Related("filled here", filled),),
        edit=listed_anew(site),
        certainty=0.9,
    )
