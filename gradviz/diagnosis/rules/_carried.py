"""Which line keeps a tensor with its graph for the next turn of a loop."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from inspect import CO_GENERATOR

from gradviz.dependence.stores import is_unbound
from gradviz.diagnosis.decisions.bindings import stored
from gradviz.diagnosis.decisions.keeping import kept_by, receivers
from gradviz.diagnosis.decisions.sites import line_of
from gradviz.diagnosis.rules._bindings import holds, keeps
from gradviz.diagnosis.rules._freed import Crossing, binds_attribute
from gradviz.diagnosis.rules._lifetime import loads, rebound
from gradviz.program import Backward, Call, History, RawSite
from gradviz.program.places import names_in


def carried_at(
    history: History, crossing: Crossing, second: Backward
) -> RawSite | None:
    """Return the line that binds the tensor which a loop carries along.

    That is ``self.h = …`` inside a module, ``cache[key] = …``, and ``h = cell(x, h)``
    in the loop where the tensor is made inside of ``cell`` and passed back in. Of
    several lines of a module that bind it, the one that computes with the old one.
    """
    maker = history.maker(crossing.node)
    if maker is None or crossing.bridge is None:
        return crossing.node.site
    if binds_attribute(history, maker.site):
        return _takes_over(history, crossing.bridge, maker) or maker.site
    if _keeps_on(history, crossing.bridge, second):
        return crossing.bridge.site
    for site in maker.frames:  # cache[key] = encode(x)
        if any(each.endswith("]") for each in history.places.targets(site)):
            return site
    readers = crossing.bridge.frames
    around = {site[0] for site in second.frames}
    # A local name lives from turn to turn only in a function that the passes ran in.
    for site in sorted(maker.frames, key=lambda each: each[0] not in around):
        read = _read(history, [each for each in readers if each[0] is site[0]])
        bound = history.places.targets(site)
        if site[0] not in around and not _outlives(site):
            bound = [each for each in bound if each.endswith("]") or "." in each]
        if read.intersection(bound):
            return site
    stored = _put_away(history, maker, readers)
    return stored or _out_of_function(history, maker, second)


def _takes_over(history: History, bridge: Call, maker: Call) -> RawSite | None:
    """Return the line that computes a state with the one that another line bound."""
    site, made = bridge.site, maker.site
    if site is None or made is None or site[0] is not made[0]:
        return None
    taken = rebound(history, site)
    return site if taken in history.places.targets(made) else None


def reset_at(
    history: History, site: RawSite | None, name: str
) -> ast.FunctionDef | None:
    """Return the other method of a class that sets a state of it anew."""
    own = None if site is None else history.places.function(site[0])
    around = history.places.around(site) if own is not None else ()
    classes = (each for each in around if isinstance(each, ast.ClassDef))
    for method in (each for one in classes for each in one.body):
        if not isinstance(method, ast.FunctionDef) or method.name == "__init__":
            continue
        sets = (e for e in ast.walk(method) if isinstance(e, ast.Assign))
        anew = (e for e in sets if not isinstance(e.value, ast.Name))
        if method is not own and any(name in _targets(e) - loads(e) for e in anew):
            return method
    return None


def _outlives(site: RawSite) -> bool:
    """Tell whether names live on when code is left: of a file, or a generator."""
    code = site[0]
    return code.co_name == "<module>" or bool(code.co_flags & CO_GENERATOR)


def dropped_detach(
    history: History, crossing: Crossing, second: Backward
) -> Call | None:
    """Return the call that detached a carried tensor, and whose result nothing took."""
    maker = history.maker(crossing.node)
    made = set[int]() if maker is None else {each.tensor for each in maker.outputs}
    for tensor in made:
        for call in history.uses(tensor):
            drops = call.op == "detach" and call.index < second.index and call.outputs
            if not drops or call.site is None:
                continue
            used = history.uses(call.outputs[0].tensor, call.index)
            if not used and is_unbound(history.places, call.site):
                return call
    return None


def reads(history: History, bridge: Call | None, site: RawSite, name: str) -> bool:
    """Tell whether a name of one function is what the next turn reads there."""
    frames = () if bridge is None else bridge.frames
    return name in _read(history, [each for each in frames if each[0] is site[0]])


def blended(history: History, site: RawSite | None, line: int | None) -> str:
    """Return the state that a line computes from its old value; "" if it does not."""
    for each in history.places.around(site, line) if line else ():
        if isinstance(each, ast.Assign):
            old = loads(each).intersection(_targets(each))
            return min(old, default="", key=len)
    return ""


def _read(history: History, sites: Iterable[RawSite]) -> set[str]:
    """Return the names that these statements read."""
    return {name for each in sites for name in loads(history.places.statement(each))}


def _keeps_on(history: History, bridge: Call, second: Backward) -> bool:
    """Tell whether a line after the pass, in its turn, put a tensor into a state."""
    if not binds_attribute(history, bridge.site):
        return False
    passes = {site[0]: line_of(site)[1] for site in second.frames}
    return any(
        site[0] in passes and line_of(site)[1] > passes[site[0]]
        for site in bridge.frames
    )


def _put_away(
    history: History, maker: Call, readers: tuple[RawSite, ...]
) -> RawSite | None:
    """Return the line of a function that puts its result where the next turn reads."""
    places, read = history.places, _read(history, readers)
    for site in maker.frames:
        for each in ast.walk(places.function(site[0]) or ast.Module([], [])):
            filled = keeps(each, set(places.targets(site)))
            if filled is not None and ast.unparse(filled) in read:
                return places.at_line(site[0], filled.lineno)
    return None


def stored_at(
    history: History,
    site: RawSite | None,
    crossing: Crossing,
    bridge: Call,
    second: Backward,
) -> int | None:
    """Return the line that puts a carried tensor into a container after the pass.

    None where the next turn reads it under its own name, and where it is put in before
    the pass, which needs its graph: then something else is to change.
    """
    names = set(history.places.targets(site))
    kept = _kept_at(history, site, names, bridge)
    maker = history.maker(crossing.node)
    if kept is None and maker is not None and not binds_attribute(history, maker.site):
        kept = kept_by(history, bridge.frames, maker.frames)
        if site is not None and kept == line_of(site)[1]:
            kept = None  # the pass may need what is put there
    if kept is not None:
        return kept
    passed = [each for each in second.frames if site and each[0] is site[0]]
    if site is None or not passed or binds_attribute(history, site):
        return None
    for reader in bridge.frames:
        if reader[0] is site[0] and names & loads(history.places.statement(reader)):
            return None
    for each in history.places.in_function(site):
        filled = keeps(each, names)
        if filled is not None and filled.lineno > line_of(passed[0])[1]:
            return filled.lineno
    return None


def kept_name(history: History, site: RawSite | None, line: int) -> str:
    """Return the name of what a line of the file of a site puts away, if it has one."""
    for each in history.places.around(site, line):
        match each:
            case ast.Assign(_, ast.Name() | ast.Attribute() as kept):
                return ast.unparse(kept)
            case ast.Expr(ast.Call(_, [*_, ast.Name() | ast.Attribute() as kept])):
                return ast.unparse(kept)
            case _:
                put = stored(each)
                *_, inner = receivers(put[1][-1]) if put is not None else [each]
                if put is not None and isinstance(inner, ast.Name | ast.Attribute):
                    return ast.unparse(inner)
    return ""


def _kept_at(
    history: History, site: RawSite | None, names: set[str], bridge: Call
) -> int | None:
    """Return the line that keeps it for the next turn: ``self.h = h``, ``last = h``."""
    if site is None:
        return None
    nodes = history.places.in_function(site)
    assigned = [each for each in nodes if isinstance(each, ast.Assign)]
    made, read = line_of(site)[1], _read(history, bridge.frames)
    for each in assigned:
        if read.intersection(_targets(each)):
            read |= _taken_apart(each.value)
    for each in assigned:
        kept = read.intersection(map(ast.unparse, each.targets))
        if holds(each.value, names) and any(
            "." in text or each.lineno > made for text in kept
        ):
            return each.lineno
    return None


def _targets(statement: ast.Assign) -> set[str]:
    return {name for each in statement.targets for name in names_in(each)}


def _taken_apart(value: ast.expr) -> set[str]:
    """Return the name of a tuple that an assignment only hands on: ``h, c = state``."""
    while isinstance(value, ast.Subscript):
        value = value.value
    return {ast.unparse(value)} if isinstance(value, ast.Name) else set()


def _out_of_function(history: History, maker: Call, second: Backward) -> RawSite | None:
    """Return the caller of the function that a tensor was returned from.

    What a function wrote in place stays without being returned.
    """
    if maker.writes:
        return maker.site
    around = {site[0] for site in second.frames}
    for site in maker.frames:
        function = history.places.function(site[0])
        stores = isinstance(function, ast.FunctionDef) and any(
            isinstance(each, ast.Attribute) and isinstance(each.ctx, ast.Store)
            for each in ast.walk(function)
        )
        if stores or site[0] in around:
            return site
    return maker.site
