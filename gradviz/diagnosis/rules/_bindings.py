"""Which assignment gave a name its value, or put one into an attribute."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradviz.program.history import History
from gradviz.program.values import RawSite


def bound_at(history: History, site: RawSite, name: str) -> RawSite | None:
    """Return the last assignment to a name alone that stands before a line."""
    line = history.places.line(site)
    lines = [
        each.lineno
        for each in _assignments(history, site)
        if each.lineno < line
        and any(isinstance(to, ast.Name) and to.id == name for to in each.targets)
    ]
    return history.places.at_line(site[0], max(lines)) if lines else None


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


def _assignments(history: History, site: RawSite) -> Iterator[ast.Assign]:
    """Yield the assignments of the function around a site, or of its file."""
    places = history.places
    around = places.function(site[0]) or places.tree(site[0].co_filename)
    for each in ast.walk(around) if around is not None else ():
        if isinstance(each, ast.Assign):
            yield each
