"""Errors: the call or the pass behind one, and whether the program meant to raise."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from gradviz.program import Backward, Call, Event, History, Raised, RawSite


@dataclass(frozen=True, slots=True)
class Failure:
    """An error that the tensor library raised."""

    text: str
    site: RawSite | None
    stack: tuple[RawSite, ...]
    call: Call | None  # the call that raised; None: known from the exception alone
    ended: bool  # it left the program; otherwise the program caught it


def failures(history: History, *parts: str) -> Iterator[Failure]:
    """Yield the failed calls whose error has all these parts.

    An error that no call is known for is found by the exception itself.
    """
    known: list[str] = []
    for event in history.events:
        if not isinstance(event, Call | Backward) or event.error is None:
            continue
        if all(part in event.error for part in parts):
            known.append(event.error)
            if isinstance(event, Call):
                yield Failure(
                    event.error,
                    event.site,
                    event.stack,
                    event,
                    history.ended_by(event),
                )
    for event in history.of(Raised):
        if all(part in event.text for part in parts) and not any(
            event.text.strip() in error for error in known
        ):
            yield Failure(event.text, event.site, event.stack, None, True)


def decides(history: History, call: Call) -> bool:
    """Tell whether a call is part of the condition of an if, a while or an assert."""
    statement = history.places.statement(call.site)
    return isinstance(statement, ast.If | ast.While | ast.Assert)


def raises(history: History, call: Call) -> bool:
    """Tell whether the statement around a test ended the run, on purpose."""
    raised, test = history.raised, history.places.statement(call.site)
    ended = history.places.statement(None if raised is None else raised.site)
    return (
        test is not None
        and isinstance(ended, ast.Raise | ast.Assert)
        and any(each is ended for each in ast.walk(test))
    )


def failing(history: History, *parts: str) -> list[Call]:
    """Return the calls whose error has one of these parts of a sentence."""
    return [
        call
        for call in history.calls
        if call.error is not None and any(part in call.error for part in parts)
    ]


def own_site(event: Event) -> RawSite | None:
    """Return the innermost frame outside of installed packages, if there is one."""
    for code, lasti in event.frames:
        if "-packages" not in code.co_filename:
            return code, lasti
    return event.site
