"""Calls that failed, found by a part of their error."""

from __future__ import annotations

from gradviz.program.events import Call, Event
from gradviz.program.history import History
from gradviz.program.values import RawSite


def failing(history: History, *parts: str) -> list[Call]:
    """Return the calls whose error has one of these parts of a sentence."""
    return [
        call
        for call in history.calls
        if call.error is not None and any(part in call.error for part in parts)
    ]


def own_site(event: Event) -> RawSite | None:
    """Return the innermost frame outside of installed packages, if there is one."""
    frames = [each for each in (event.site, *event.stack) if each is not None]
    for code, lasti in frames:
        if "-packages" not in code.co_filename:
            return code, lasti
    return event.site
