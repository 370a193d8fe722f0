"""Who kept a tensor for later: the line that put it where a later turn reads it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradviz.diagnosis.decisions.bindings import (
    definition,
    named,
    own_nodes,
    put_by,
    stored_in,
)
from gradviz.diagnosis.decisions.choice import path
from gradviz.diagnosis.decisions.conditions import asked_around
from gradviz.diagnosis.decisions.decision import Frames
from gradviz.diagnosis.decisions.frames import (
    Frame,
    Spot,
    last_name,
    spot,
    spots,
)
from gradviz.diagnosis.edits.syntax import names_in
from gradviz.program import History, RawSite


def kept_by(history: History, reader: Frames, maker: Frames) -> int | None:
    """Return the line that put into an attribute what one event made and another read.

    The reader got it from the attribute, through parameters if need be, and what the
    line puts there is traced back to a line that the maker ran in.
    """
    return next((line for _, line in _kept(history, reader, maker)), None)


def reused_at(history: History, reader: Frames, maker: Frames) -> RawSite | None:
    """Return the line that makes a tensor only where an attribute has none yet.

    That is where what one event made and another read is kept on purpose: ``table =
    self.table if self.table is not None else self.build()``. None without a condition.
    """
    names = {name for name, _ in _kept(history, reader, maker)}
    for site, where in spots(history, maker) if names else ():
        for test, _ in asked_around(where):
            asked = (e.attr for e in ast.walk(test) if isinstance(e, ast.Attribute))
            if not names.isdisjoint(asked):
                return site
    return None


def _kept(history: History, reader: Frames, maker: Frames) -> Iterator[tuple[str, int]]:
    """Yield the attributes that hand a tensor on, and the lines that put it there."""
    made = {_lines(history, site) for site in maker}
    read = dict.fromkeys(
        (each.source, each.node.attr)  # type: ignore[attr-defined]
        for each in _attributes_read(history, reader, _own(reader, maker))
    )
    for source, name in read:
        for statement, value in stored_in(source, name):
            way = _way(Spot(source, value))
            if any(_is_made(each, made) for each in way if each.source is source):
                yield name, statement.lineno


def _way(kept: Spot, depth: int = 3) -> Iterator[Spot]:
    """Yield the steps back from what is kept, through methods of what it came from."""
    way = path(kept)
    yield from way
    *_, inner = receivers(way[-1].node)
    if inner is not way[-1].node and depth:
        yield from _way(way[-1].at(inner), depth - 1)


def receivers(value: ast.AST) -> Iterator[ast.AST]:
    """Yield an expression, and of ``rows.view(-1).unbind()`` what it is called on."""
    yield value
    while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
        value = value.func.value
        yield value


def put_into(where: Spot, depth: int = 4) -> list[Spot]:
    """Return what was put into the list that an expression is, or takes a part of.

    Where it is filled, statement by statement; of a comprehension, its elements.
    """
    node, found = where.node, dict[ast.AST, Spot]()
    match node:
        case ast.Subscript(container, ast.Slice()) | ast.Starred(container):
            return put_into(where.at(container), depth)
        case ast.ListComp(element, [of]) | ast.GeneratorExp(element, [of]):
            walked, picked = {*names_in(of.target)}, element
            if isinstance(element, ast.Subscript):
                picked = element.value  # ``rows[i] for i in some``
            if walked.isdisjoint(names_in(element)):
                return [where.at(element)]
            here = picked if walked.isdisjoint(names_in(picked)) else of.iter
            return put_into(where.at(here), depth)
        case _:
            pass
    way = path(where)
    for step in way:
        for value in _filled(step):
            found[value.node] = value
    last = way[-1].node
    if found or not depth:
        return list(found.values())
    if isinstance(last, ast.Call):
        yielded = _yielded(way[-1], last)
        parts = yielded or [
            e for a in last.args for e in put_into(way[-1].at(a), depth - 1)
        ]
        return list({each.node: each for each in parts}.values())
    if isinstance(last, ast.Subscript):
        return put_into(way[-1].at(last.value), depth - 1)
    return put_into(way[-1], depth - 1) if last is not node else []


def _yielded(where: Spot, call: ast.Call) -> list[Spot]:
    """Return what a generator of the program's own hands out."""
    function = definition(where.source, last_name(call.func))
    nodes = own_nodes(function) if isinstance(function, ast.FunctionDef) else ()
    values = [each.value for each in nodes if isinstance(each, ast.Yield)]
    frame = Frame(call, where.source, where.frame)
    return [Spot(where.source, each, frame) for each in values if each is not None]


def _filled(where: Spot) -> Iterator[Spot]:
    """Yield what statements put into the list that an expression names."""
    holder, name = where.node, named(where.node)
    while isinstance(holder, ast.Subscript):
        holder = holder.value
    is_attribute = isinstance(holder, ast.Attribute)
    if not name or not isinstance(holder, ast.Name | ast.Attribute):
        return
    for each in ast.walk(where.source.tree) if is_attribute else own_nodes(where.scope):
        value = put_by(each, name)
        if value is not None:
            yield Spot(where.source, value) if is_attribute else where.at(value)


def _own(reader: Frames, maker: Frames) -> int:
    """Return how many frames the reader has of its own, from the innermost.

    Calls that led to both handed the tensor over, if at all, as a parameter.
    """
    shared = 0
    for mine, other in zip(reversed(reader), reversed(maker), strict=False):
        if mine != other:
            break
        shared += 1
    return max(len(reader) - shared, 1)


def _attributes_read(history: History, reader: Frames, count: int) -> Iterator[Spot]:
    """Yield the attributes that the innermost frames of an event read a tensor from."""
    for place, site in enumerate(reader[:count]):
        where = spot(history, site, reader[place + 1 :])
        for each in () if where is None else ast.walk(where.node):
            if where is None or not isinstance(
                each, ast.Name | ast.Attribute | ast.Call
            ):
                continue
            if not _is_called(where, each) and each is not where.node:
                for step in path(where.at(each)):
                    for part in ast.walk(step.node):
                        if isinstance(part, ast.Attribute):
                            yield step.at(part)


def _is_called(where: Spot, node: ast.expr) -> bool:
    around = where.source.parent(node)
    return isinstance(around, ast.Call) and around.func is node


def _lines(history: History, site: RawSite) -> tuple[str, int, int]:
    where = history.places.site(site)
    return where.file, where.line, where.end_line


def _is_made(where: Spot, made: set[tuple[str, int, int]]) -> bool:
    return any(
        where.source.file == file and first <= where.line <= last
        for file, first, last in made
    )
