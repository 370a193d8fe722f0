"""Which statements give a name its value, or put what it names away."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradviz.diagnosis.decisions.bindings import (
    all_parameters,
    definition,
    last_assigned,
    own_nodes,
    stored,
    walked,
)
from gradviz.diagnosis.decisions.frames import (
    Spot,
    is_method,
    last_name,
    parameters,
    spot,
)
from gradviz.diagnosis.edits.syntax import names_in
from gradviz.program import History, HookRegistered, RawSite


def bound_at(history: History, site: RawSite, name: str) -> RawSite | None:
    """Return the last assignment to a name alone that stands before a line."""
    line = _line_of(history, site, name)
    return None if line is None else history.places.at_line(site[0], line)


def _line_of(history: History, site: RawSite, name: str) -> int | None:
    places = history.places
    last = last_assigned(places.in_function(site), name, places.line(site))
    return None if last is None else last.lineno


def aliased_at(history: History, site: RawSite | None) -> int | None:
    """Return the line where the name on the right of a difference was given its value.

    Of a loop's variable, the name of what the loop walks: a list of tensors.
    """
    statement = history.places.statement(site)
    if site is None or statement is None:
        return None
    for each in ast.walk(statement):
        if isinstance(each, ast.BinOp) and isinstance(each.op, ast.Sub):
            for side in (each.right, each.left):
                name = side.id if isinstance(side, ast.Name) else ""
                made = _line_of(history, site, _walked(history, site, name) or name)
                if made is not None:
                    return made
    return None


def _walked(history: History, site: RawSite, name: str) -> str | None:
    """Return the name of what a loop around a line takes a variable from."""
    for each in history.places.around(site):
        loops = [each] if isinstance(each, ast.For) else getattr(each, "generators", ())
        for loop in loops:
            if name in names_in(loop.target):
                source = walked(loop.target, loop.iter, name)
                return source.id if isinstance(source, ast.Name) else None
    return None


def put_away_at(history: History, site: RawSite) -> RawSite | None:
    """Return the assignment that puts what a line makes into an attribute."""
    names = history.places.targets(site)
    if any("." in name for name in names):
        return site
    line = history.places.line(site)
    lines = [
        each.lineno
        for each in _assignments(history, site)
        if each.lineno > line
        and isinstance(each.value, ast.Name)
        and each.value.id in names
        and any(isinstance(to, ast.Attribute) for to in each.targets)
    ]
    return history.places.at_line(site[0], min(lines)) if lines else None


def handed_away(history: History, site: RawSite) -> Spot | None:
    """Return the call that hands what a line makes to a function which keeps it."""
    where = spot(history, site)
    names = set(history.places.targets(site))
    if where is None or not names:
        return None
    for each in own_nodes(where.scope):
        if not isinstance(each, ast.Call) or each.lineno < where.line:
            continue
        keeper = definition(where.source, last_name(each.func))
        if isinstance(keeper, ast.FunctionDef):
            bound = is_method(where.source, keeper)
            received = set(_received(each, keeper, names, bound))
            if received and _keeps_any(keeper, received):
                return where.at(each)
    return None


def _received(
    call: ast.Call, function: ast.FunctionDef, names: set[str], bound: bool
) -> Iterator[str]:
    """Yield the parameters that a call gives one of these names to."""
    own, rest = parameters(function)[bound:], function.args
    for place, given in enumerate(call.args):
        if holds(given, names):
            name = own[place] if place < len(own) else getattr(rest.vararg, "arg", None)
            yield from () if name is None else (name,)
    for each in call.keywords:
        if each.arg is not None and holds(each.value, names):
            known = each.arg in all_parameters(function)
            name = each.arg if known else getattr(rest.kwarg, "arg", None)
            yield from () if name is None else (name,)


def _keeps_any(function: ast.FunctionDef, names: set[str]) -> bool:
    """Tell whether a function puts away one of these, or of what they hold, as it is.

    Into an attribute, or into a list or a table of its object.
    """
    names = set(names)
    for each in own_nodes(function):
        if isinstance(each, ast.For) and _mentions(each.iter, names):
            names.update(names_in(each.target))
        put = stored(each) or _set_attribute(each)
        if put is None or not any(holds(kept, names) for kept in put[1]):
            continue
        if any(isinstance(one, ast.Attribute) for one in ast.walk(put[0])):
            return True
    return False


def _set_attribute(node: ast.AST) -> tuple[ast.expr, list[ast.expr]] | None:
    match node:
        case ast.Assign([ast.Attribute() as target], value):
            return target, [value]
        case _:
            return None


def put_away_by(
    history: History, hook: HookRegistered, derived: bool = False
) -> ast.stmt | None:
    """Return the statement of a forward hook that puts its output away.

    Or, where that is asked for, what it makes of it.
    """
    if hook.kind != "module_forward" or hook.code is None:
        return None
    function = history.places.function(hook.code)
    if function is None or not function.args.args:
        return None
    names, has = {function.args.args[-1].arg}, _mentions if derived else holds
    inside = [each for each in ast.walk(function) if isinstance(each, ast.stmt)]
    if isinstance(function, ast.Lambda):
        inside = [ast.copy_location(ast.Expr(function.body), function.body)]
    for each in inside:
        put = stored(each)
        if put is not None and any(has(kept, names) for kept in put[1]):
            return each
        if derived and isinstance(each, ast.Assign) and has(each.value, names):
            names.update(name for to in each.targets for name in names_in(to))
    return None


def _mentions(node: ast.AST, names: set[str]) -> bool:
    return not names.isdisjoint(names_in(node))


def _assignments(history: History, site: RawSite) -> Iterator[ast.Assign]:
    """Yield the assignments of the function around a site, or of its file."""
    nodes = history.places.in_function(site)
    return (each for each in nodes if isinstance(each, ast.Assign))


def keeps(statement: ast.AST, names: set[str]) -> ast.expr | None:
    """Return what a statement fills with something that has one of these names."""
    put = stored(statement)
    kept = put is not None and any(holds(each, names) for each in put[1])
    return put[0] if put is not None and kept else None


def holds(kept: ast.expr, names: set[str]) -> bool:
    """Return whether an expression is one of these names, or a tuple with one."""
    if isinstance(kept, ast.Tuple | ast.List):
        return any(holds(each, names) for each in kept.elts)
    if isinstance(kept, ast.Dict):
        return any(holds(each, names) for each in kept.values)
    return isinstance(kept, ast.Name | ast.Attribute) and ast.unparse(kept) in names
