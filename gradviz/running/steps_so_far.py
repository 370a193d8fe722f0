"""Says on a terminal how many passes a script that runs for long has come to."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from gradviz.text.words import counted

if TYPE_CHECKING:
    from gradviz._capture.session import Session
    from gradviz.running.voice import Voice

FIRST = 10.0  # seconds before the first word
_MOST = 1_800.0  # and at most between two; each waits twice as long as the one before


class StepsSoFar:
    """Called after each backward pass, says now and then how many there were.

    No thread does it: a script that forks would be warned of one. Each word is a line
    of its own, which nothing of the script's is erased for; where that has written half
    a line, ours begins below.
    """

    def __init__(self, voice: Voice, recorder: Session, first: float = FIRST) -> None:
        self._voice, self._recorder = voice, recorder
        self._wait = first
        self._process = os.getpid()
        self._began = time.monotonic()
        self._next = self._began + first

    def __call__(self) -> None:
        """Say how far it is, if it is time to."""
        now = time.monotonic()
        if now < self._next or os.getpid() != self._process:
            return
        self._wait = min(2 * self._wait, _MOST)
        self._next = now + self._wait
        count, in_full = self._recorder.passes_told()
        words = f"gradviz: {counted(count, 'pass')} in {now - self._began:,.0f} s"
        if in_full < count:
            words += f", {in_full:,} of them looked at in full, the others in brief"
        self._voice.say(f"{self._fresh_line()}{words}.")

    def _fresh_line(self) -> str:
        """Return what moves a terminal to the next line, unless it is at a beginning.

        So many blanks as it is wide end in the same line there, and else in the next.
        """
        with suppress(OSError, ValueError, AttributeError):
            stream = self._voice.stream
            width = 0 if stream is None else os.get_terminal_size(stream.fileno())[0]
            return " " * width + "\r"
        return ""


def is_terminal(voice: Voice) -> bool:
    """Tell whether somebody may sit and wait there."""
    with suppress(OSError, ValueError, AttributeError):
        stream = voice.stream
        return stream is not None and stream.isatty() and os.getenv("TERM") != "dumb"
    return False
