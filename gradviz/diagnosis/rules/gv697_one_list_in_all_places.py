"""One list, put into all places of another: what goes into one is in every other.

What it does
    Finds ``[[]] * count`` whose places are filled one by one, in a function of the run,
    and other expressions that put one list in all places of a list or a table:
    ``list(itertools.repeat([], count))``, ``dict.fromkeys(keys, [])``.

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
    replaced: ``rows[k] = [loss]``; a list with a name that is read elsewhere, too.

References
    https://docs.python.org/3/faq/programming.html#how-do-i-create-a-multidimensional-list
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from types import CodeType

from gradviz.diagnosis.decisions.bindings import of_name, own_nodes
from gradviz.diagnosis.decisions.frames import Spot
from gradviz.diagnosis.decisions.sites import assignments, site_at
from gradviz.diagnosis.edits.calls import listed_anew, repeated
from gradviz.diagnosis.edits.syntax import (
    Source,
    called,
    dotted,
    last_name,
    names_in,
    source_of,
)
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.program import History

_FILLING = frozenset(["append", "extend", "insert", "add", "update", "setdefault"])
_DISPLAYS = ast.List | ast.Dict | ast.Set | ast.ListComp | ast.DictComp | ast.SetComp
_REPEATING = ("repeat", "itertools.repeat")
_MADE = frozenset(["list", "dict", "set", "deque", "defaultdict", "OrderedDict"])


@rule("GV697", "one-list-in-all-places", "warning")
def check(history: History) -> Iterator[Hit]:
    """Yield one hit per list of one list whose places are filled one by one."""
    told = set[ast.AST]()
    for code, statement in assignments(history):
        target = statement.targets[0]
        source = source_of(history, code.co_filename)
        if source is None or target in told:
            continue
        told.add(target)
        shared = _shared(source, statement.value)
        filling = shared and _filling(source, target)
        if shared is not None and filling is not None:
            yield _hit(history, source, code, statement, (shared, filling))


def _shared(source: Source, node: ast.AST) -> ast.expr | None:
    """Return the list or table that an expression puts into all places of another."""
    entry = _entry(node)
    if isinstance(entry, ast.Name):
        entry = _named(source, entry)
    made = entry is not None and called(entry) in _MADE
    return entry if made or isinstance(entry, _DISPLAYS) else None


def _entry(node: ast.AST) -> ast.expr | None:
    """Return the expression, run once, whose result is in all places of another's."""
    match node:
        case ast.Call(func, [values]) if last_name(func) in ("list", "tuple"):
            return _entry(values)
        case ast.Call(ast.Name("dict"), [ast.Call(ast.Name("zip"), [_, values])]):
            return _entry(values)
        case ast.List([ast.Starred(values)]) | ast.Tuple([ast.Starred(values)]):
            return _entry(values)
        case ast.Call(func, [entry, *_]) if dotted(func) in _REPEATING:
            return entry
        case ast.Call(ast.Attribute(_, "fromkeys"), [_, entry]):
            return entry
        case ast.ListComp(entry, loops) | ast.DictComp(_, entry, loops):
            turned = [name for each in loops for name in names_in(each.target)]
            outside = isinstance(entry, ast.Name) and entry.id not in turned
            return entry if outside else None
        case _:
            return (repeated(node) or (None,))[0]


def _named(source: Source, name: ast.Name) -> ast.expr | None:
    """Return what a name is bound to; None where it is read elsewhere as well.

    Then it may be meant to be one for all.
    """
    nodes = (each for each in ast.walk(source.tree) if isinstance(each, ast.Name))
    read = [e for e in nodes if e.id == name.id and isinstance(e.ctx, ast.Load)]
    found = of_name(Spot(source, name)) if len(read) == 1 else None
    return found.node if found and isinstance(found.node, ast.expr) else None


def _filling(source: Source, target: ast.expr) -> ast.stmt | None:
    """Return the first statement that puts something into one of the places."""
    scope = source.scope(target)
    if isinstance(target, ast.Attribute):
        nodes: Iterable[ast.AST] = ast.walk(source.owner(target) or scope)
    else:
        nodes = own_nodes(scope)
    name, fillings = ast.unparse(target), list[ast.stmt]()
    for each in nodes:
        match each:
            case ast.Assign([ast.Subscript(whole)]) if ast.unparse(whole) == name:
                return None  # what is in its places may be new by then
            case ast.Expr(ast.Call(ast.Attribute(place, method))):
                found = method in _FILLING and _is_place(source, place, name)
            case ast.AugAssign(place, ast.Add(), ast.List()):
                found = _is_place(source, place, name)
            case ast.Assign([ast.Subscript(place)]) | ast.AugAssign(
                ast.Subscript(place)
            ):
                found = _is_place(source, place, name)
            case _:
                continue
        fillings += [each] if found else []
    return fillings[0] if fillings else None


def _is_place(source: Source, node: ast.expr, name: str) -> bool:
    """Tell whether an expression is a place of a list: an entry, or what a loop has."""
    if isinstance(node, ast.Name):
        bound = of_name(Spot(source, node))
        for loop in source.loops(node):
            if isinstance(loop, ast.For) and node.id in names_in(loop.target):
                return bound is not None and _walks(bound.node, name)
        return bound is not None and _is_entry(bound.node, name)
    return _is_entry(node, name)


def _is_entry(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Subscript) and ast.unparse(node.value) == name


def _walks(node: ast.AST, name: str) -> bool:
    match node:
        case ast.Call(ast.Name("enumerate" | "reversed"), [whole, *_]):
            return _walks(whole, name)
        case ast.Call(ast.Attribute(whole, "values" | "items"), []):
            return _walks(whole, name)
        case _:
            return ast.unparse(node) == name


def _hit(
    history: History,
    source: Source,
    code: CodeType,
    statement: ast.Assign,
    found: tuple[ast.expr, ast.stmt],
) -> Hit:
    shared, filling = found
    site = history.places.at_line(code, statement.lineno)
    filled = site_at(history, site, filling.lineno)
    name, text = source.of(statement.targets[0]), source.of(shared)
    is_table = isinstance(statement.value, ast.DictComp) or (
        called(statement.value) in ("dict", "fromkeys")
    )
    anew = f"{{key: {text} for key in keys}}" if is_table else f"[{text} for _ in …]"
    return Hit(
        f"`{source.of(statement.value)}` puts one and the same object in all places of "
        f"`{name}`: what `{source.of(filling)}` (line {filling.lineno}) puts in one "
        "place is in every other, so each of them has all that was meant for one.",
        site,
        f"Make a new one for each place: `{anew}`.",
        symptom=filled,
        related=(Related("filled here", filled),),
        edit=listed_anew(site),
        certainty=0.9,
    )
