"""What a rule hands over: a function that makes the edit once somebody wants it."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, TypeAlias

from gradviz.diagnosis.edits.draft import Edit
from gradviz.diagnosis.edits.syntax import Place, place
from gradviz.program import History, RawSite

P = ParamSpec("P")

Remedy: TypeAlias = Callable[[History], Edit]
"""Makes the edit of a fix from the syntax around it; LookupError if none is certain."""


def remedy(make: Callable[Concatenate[History, P], Edit]) -> Callable[P, Remedy]:
    """Let a maker of edits be called without the history, which it is given later.

    Most hits are repeats that nobody sees: only of the others the edit is made.
    """

    @wraps(make)
    def with_arguments(*given: P.args, **named: P.kwargs) -> Remedy:
        return lambda history: make(history, *given, **named)

    return with_arguments


def remedy_at(
    make: Callable[Concatenate[Place, P], Edit],
) -> Callable[Concatenate[RawSite | None, P], Remedy]:
    """Let a maker of edits that asks for one place alone be called with a site."""

    @wraps(make)
    def at(site: RawSite | None, *given: P.args, **named: P.kwargs) -> Remedy:
        return lambda history: make(place(history, site), *given, **named)

    return at


def first_of(*remedies: Remedy | None) -> Remedy:
    """Return the first of several remedies that can be made here."""

    def make(history: History) -> Edit:
        for each in remedies:
            if each is not None:
                try:
                    return each(history)
                except LookupError:
                    continue
        raise LookupError("none of them can be made")

    return make
