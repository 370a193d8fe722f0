"""Which expression of the program gave a name, an attribute or an item its value."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from gradviz.dependence.flow import words
from gradviz.diagnosis.decisions.frames import (
    Function,
    Spot,
    argument,
    is_method,
    last_name,
    parameters,
)
from gradviz.diagnosis.edits.syntax import Source, names_in

_OPAQUE = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef
_LOOPS = ast.For | ast.AsyncFor | ast.While


def own_nodes(scope: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a function or a file, in order, without functions inside."""
    waiting = [*ast.iter_child_nodes(scope)][::-1]
    while waiting:
        each = waiting.pop()
        yield each
        if not isinstance(each, _OPAQUE):
            waiting += [*ast.iter_child_nodes(each)][::-1]


def of_name(where: Spot) -> Spot | None:
    """Return the expression that a name stands for where it is read.

    Of a loop's variable, that is what the loop walks. None where it is not an
    expression (an import, a definition), or where several can have been it.
    """
    assert isinstance(where.node, ast.Name)
    name, source = where.node.id, where.source
    walked = _comprehension(where, name)
    if walked is not None:
        return where.at(walked)
    scope, frame_is_known = where.scope, True
    while True:
        found = _reaching(source, scope, name, where.node if frame_is_known else None)
        if found:
            if found[0] is None:
                return None
            return where.at(found[0]) if frame_is_known else Spot(source, found[0])
        if isinstance(scope, Function) and name in all_parameters(scope):
            here = where if frame_is_known else Spot(source, where.node)
            own = is_method(source, scope) and name in parameters(scope)[:1]
            return None if own else argument(here, scope, name)
        if isinstance(scope, ast.Module):
            return None
        scope, frame_is_known = source.scope(scope), False


def all_parameters(function: Function) -> list[str]:
    """Return the names of the parameters of a function, keywords included."""
    return [*parameters(function), *(each.arg for each in function.args.kwonlyargs)]


def looked_up(function: Function) -> set[str]:
    """Return the variables that a function looks up outside itself when it runs."""
    inside = function.body if isinstance(function.body, list) else [function.body]
    read = {
        each.id
        for part in inside
        for each in ast.walk(part)
        if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load)
    }
    own = {*all_parameters(function)}
    own |= {
        each.id
        for each in own_nodes(function)
        if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)
    }
    return read - own


def _comprehension(where: Spot, name: str) -> ast.expr | None:
    for each in where.source.around(where.node):
        for one in getattr(each, "generators", ()):
            if name in names_in(one.target) and where.node is not one.iter:
                return walked(one.target, one.iter, name)
    return None


def _reaching(
    source: Source, scope: ast.AST, name: str, use: ast.AST | None
) -> list[ast.expr | None]:
    """Return what a name is bound to at a use: nothing if never, None if unclear.

    Without a use, the last of the scope. One in a branch that the use is not part of
    leaves open what the other branch does.
    """
    bound = [
        (statement, value)
        for statement in own_nodes(scope)
        for value in _bindings(statement, name)
    ]
    if not bound:
        return []
    line = None if use is None else use.lineno  # type: ignore[attr-defined]
    before = [row for row in bound if line is None or row[0].lineno < line]  # type: ignore[attr-defined]
    if use is not None:
        around = [each for each in source.around(use) if isinstance(each, _LOOPS)]
        loops = [each for each in around if any(each is row[0] for row in bound)]
        before = before or [row for row in bound if row[0] in loops]
        if not before:
            turns = {id(node) for each in around for node in ast.walk(each)}
            before = [row for row in bound if id(row[0]) in turns]
    if not before:
        return []
    statement, value = max(before, key=lambda row: row[0].lineno)  # type: ignore[attr-defined]
    outside = list(source.around(use)) if use is not None else []
    for each in source.around(statement):
        branches = isinstance(each, ast.If | ast.Try | ast.Match)
        several = len(before) > 1 or bool(getattr(each, "orelse", None))
        if branches and several and each not in outside:
            return [None]
        if each is scope:
            break
    return [value]


def _bindings(statement: ast.AST, name: str) -> Iterator[ast.expr | None]:
    """Yield what a statement binds a name to; None where that is no expression."""
    match statement:
        case ast.Assign(targets, value):
            for each in targets:
                yield from of_target(each, value, name)
        case ast.AnnAssign(target, _, value) if value is not None:
            yield from of_target(target, value, name)
        case ast.NamedExpr(target, value):
            yield from of_target(target, value, name)
        case ast.For(target, iterable) | ast.AsyncFor(target, iterable):
            if name in names_in(target):
                yield walked(target, iterable, name)
        case ast.With(items) | ast.AsyncWith(items):
            for each in items:
                target = each.optional_vars
                if target is not None and name in names_in(target):
                    yield each.context_expr
        case ast.AugAssign(ast.Name(id)) if id == name:
            yield None
        case ast.Import(names) | ast.ImportFrom(_, names):
            if name in [(each.asname or each.name).split(".")[0] for each in names]:
                yield None
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            if statement.name == name:
                yield None
        case _:
            return


def of_target(
    target: ast.expr, value: ast.expr, name: str
) -> Iterator[ast.expr | None]:
    """Yield what an assignment of a value to a target gives to a name."""
    if isinstance(target, ast.Name):
        if target.id == name:
            yield value
    elif isinstance(target, ast.Tuple | ast.List) and name in names_in(target):
        same = isinstance(value, ast.Tuple | ast.List)
        if same and len(value.elts) == len(target.elts):
            for one, other in zip(target.elts, value.elts, strict=True):
                yield from of_target(one, other, name)
        else:
            for place, one in enumerate(target.elts):
                if not isinstance(one, ast.Starred):
                    yield from of_target(one, _item(value, place), name)


def _item(value: ast.expr, place: int) -> ast.expr:
    """Return an expression for one of the things that another one is unpacked to."""
    key = ast.copy_location(ast.Constant(place), value)
    return ast.copy_location(ast.Subscript(value, key, ast.Load()), value)


def walked(target: ast.expr, iterable: ast.expr, name: str) -> ast.expr:
    """Return what a loop's variable comes from: of ``zip(a, b)``, its own."""
    if isinstance(iterable, ast.Call) and isinstance(target, ast.Tuple):
        for one, other in zip(target.elts, iterable.args, strict=False):
            if last_name(iterable.func) == "zip" and name in names_in(one):
                return other
    return iterable


def returned(function: Function) -> list[ast.expr]:
    """Return the expressions that a function returns."""
    if isinstance(function, ast.Lambda):
        return [function.body]
    values = [e.value for e in own_nodes(function) if isinstance(e, ast.Return)]
    return [each for each in values if each is not None]


def definition(source: Source, name: str) -> ast.stmt | None:
    """Return the only function or class of this name in a file."""
    found = [
        each
        for each in ast.walk(source.tree)
        if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        and each.name == name
    ]
    return found[0] if len(found) == 1 else None


def set_attributes(source: Source, name: str) -> list[tuple[ast.stmt, ast.expr]]:
    """Return the statements of a file that set an attribute of this name, with what."""
    found: list[tuple[ast.stmt, ast.expr]] = []
    for each in ast.walk(source.tree):
        if isinstance(each, ast.Assign):
            for target in each.targets:
                found += _set_by(each, target, each.value, name)
        elif isinstance(each, ast.AnnAssign) and each.value is not None:
            found += _set_by(each, each.target, each.value, name)
    return found


_STORING = words("add append appendleft enqueue extend insert push put setdefault")


def stored_in(source: Source, name: str) -> Iterator[tuple[ast.stmt, ast.expr]]:
    """Yield the statements that put something into an attribute, and what they put.

    Into the attribute itself, or into the list or the table that it is.
    """
    yield from set_attributes(source, name)
    for each in ast.walk(source.tree):
        put = stored(each)
        if put is None or not isinstance(put[0], ast.Attribute):
            continue
        if isinstance(each, ast.stmt) and named(put[0]) == name:
            yield each, put[1][-1]


def named(node: ast.AST) -> str:
    """Return "rows" of ``self.rows``, "kept['x']" of that entry; "" of what has none.

    By this name, statements are taken to speak of one and the same list.
    """
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        return f"{named(node.value)}[{node.slice.value!r}]"
    return last_name(node)


def put_by(statement: ast.AST, name: str) -> ast.expr | None:
    """Return what a statement puts into a list or a table of this name."""
    put = stored(statement)
    return put[1][-1] if put is not None and named(put[0]) == name else None


def stored(statement: ast.AST) -> tuple[ast.expr, list[ast.expr]] | None:
    """Return the list, queue or table that a statement fills, and what it puts there.

    Of ``rows.insert(0, x)`` and ``table.setdefault(key, x)``, ``x`` is the last; of
    ``table.update(zip(keys, x))``, what gives the values.
    """
    match statement:
        case ast.Assign([*_, ast.Subscript(holder)], value):
            return holder, [value]
        case ast.AugAssign(holder, ast.Add(), ast.List(put) | ast.Tuple(put)) if put:
            return holder, put
        case ast.Expr(ast.Call(ast.Attribute(holder, "update"), [entries], [])):
            put = _values(entries)
            return (holder, put) if put else None
        case ast.Expr(ast.Call(ast.Attribute(holder, method), put)) if put:
            return (holder, put) if method in _STORING else None
        case _:
            return None


def _values(entries: ast.expr) -> list[ast.expr]:
    """Return what gives the values of a table that is spelt out."""
    match entries:
        case ast.Dict(_, values):
            return values
        case ast.DictComp(_, value):
            return [value]
        case ast.Call(ast.Name("zip"), [_, values], []):
            return [values]
        case _:
            return []


def item_set(where: Spot, holder: ast.expr, key: object) -> ast.expr | None:
    """Return what an entry of a table is set to, where one line of a function does it.

    With this key, or with one that is no literal: ``nets[name] = …`` in a loop.
    """
    found = [
        each.value
        for each in own_nodes(where.scope)
        if isinstance(each, ast.Assign)
        for target in each.targets
        if isinstance(target, ast.Subscript)
        and named(target.value) == named(holder) != ""
        and getattr(target.slice, "value", key) == key
    ]
    return found[0] if len(found) == 1 else None


def _set_by(
    statement: ast.stmt, target: ast.expr, value: ast.expr, name: str
) -> Iterator[tuple[ast.stmt, ast.expr]]:
    if isinstance(target, ast.Attribute) and target.attr == name:
        yield statement, value
    elif isinstance(target, ast.Tuple):
        values = value.elts if isinstance(value, ast.Tuple) else []
        if len(values) != len(target.elts):
            values = [_item(value, place) for place in range(len(target.elts))]
        for one, other in zip(target.elts, values, strict=True):
            yield from _set_by(statement, one, other, name)


def last_assigned(
    nodes: Iterable[ast.AST], name: str, before: int
) -> ast.Assign | None:
    """Return the last assignment to a name alone that stands before a line."""
    found = [
        each
        for each in nodes
        if isinstance(each, ast.Assign)
        and each.lineno < before
        and any(isinstance(to, ast.Name) and to.id == name for to in each.targets)
    ]
    return max(found, key=lambda each: each.lineno, default=None)


def field(source: Source, of: ast.ClassDef, name: str) -> ast.expr | None:
    """Return the value that the body of a class gives to a name: a field's default."""
    for each in of.body:
        found = list(_bindings(each, name))
        if found:
            return _default_of(found[-1])
    return None


def _default_of(value: ast.expr | None) -> ast.expr | None:
    """Return what ``field(default_factory=lambda: {…})`` of a dataclass makes."""
    match value:
        case ast.Call(func, [], keywords) if last_name(func) == "field":
            for each in keywords:
                if each.arg == "default":
                    return each.value
                if isinstance(each.value, ast.Lambda):
                    return each.value.body
        case _:
            pass
    return value
