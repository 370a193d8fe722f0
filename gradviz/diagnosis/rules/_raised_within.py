"""Where an exception was raised: in whose backward or hook, and what its line uses."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradviz.diagnosis.decisions.choice import path
from gradviz.diagnosis.decisions.frames import Spot, spot
from gradviz.diagnosis.decisions.sites import site_of
from gradviz.diagnosis.rule import Related
from gradviz.program import History, HookRegistered, Raised, RawSite

_MOST = 4  # names whose origin is told


def within(history: History, raised: Raised) -> tuple[str, tuple[Related, ...]]:
    """Return a sentence about who ran the failing line, and the places that led there.

    A backward and a hook are called by the engine: the traceback goes on at the pass,
    and says nothing of the line that put them into the graph.
    """
    for place, site in enumerate(raised.frames):
        outer = raised.frames[place + 1] if place + 1 < len(raised.frames) else None
        began = Related("the pass begins here", outer)
        for function in history.program.functions:
            if function.backward is site[0]:
                applied = [each for each in history.calls if each.op == function.name]
                at = applied[-1].site if applied else None
                name = f"{function.name}.backward"
                sentence = f" It is a line of {name}, run by {history.line(outer)}."
                return sentence, (began, Related("applied here", at))
        for hook in history.of(HookRegistered):
            if hook.code is site[0] and hook.site is not None:
                where = history.line(hook.site)
                sentence = f" It is a line of the hook that {where} registers."
                return sentence, (began, Related("registered here", hook.site))
    return "", (Related("called here", next(iter(raised.stack), None)),)


def origins(
    history: History, site: RawSite, stack: tuple[RawSite, ...]
) -> tuple[Related, ...]:
    """Return the lines that gave the names of a failing expression what they stand for.

    The frames around it say what was handed to its function; a lambda is called by
    whoever it was handed to, mostly a library.
    """
    where = spot(history, site, () if site[0].co_name == "<lambda>" else stack)
    if where is None:
        return ()
    told: dict[RawSite, list[str]] = {}
    for name, found in _origins(history, where):
        if history.places.line(found) != where.line or found[0] is not site[0]:
            told.setdefault(found, []).append(f"`{name}`")
    rows = list(told.items())[:_MOST]
    return tuple(Related(f"{', '.join(names)} from here", at) for at, names in rows)


def _origins(history: History, where: Spot) -> Iterator[tuple[str, RawSite]]:
    names = [each for each in ast.walk(where.node) if isinstance(each, ast.Name)]
    for name in dict.fromkeys(each.id for each in names):
        node = next(each for each in names if each.id == name)
        way = path(where.at(node))
        found = site_of(history, way[-1]) if len(way) > 1 else None
        if found is not None:
            yield name, found
