"""Whether an error ended the run, or the program caught it and went on."""

from __future__ import annotations

from gradviz.program.events import Backward, Call, Event, Raised
from gradviz.program.history import History
from gradviz.program.values import RawSite


def ended_by(history: History, event: Call | Backward) -> bool:
    """Return whether the error of this event is what left the program."""
    if event.error is None:
        return False
    return any(
        raised.index > event.index and raised.text and raised.text in event.error
        for raised in history.of(Raised)
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
    frames = [each for each in (event.site, *event.stack) if each is not None]
    for code, lasti in frames:
        if "-packages" not in code.co_filename:
            return code, lasti
    return event.site
