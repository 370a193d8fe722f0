"""What takes long says how far it is."""

from __future__ import annotations

import io
import threading

from gradviz.text.progress import Progress


class _Heard(io.StringIO):
    """A stream that tells when something was written, and may be a terminal."""

    def __init__(self, *, terminal: bool) -> None:
        super().__init__()
        self.heard = threading.Event()
        self._terminal = terminal

    def isatty(self) -> bool:
        return self._terminal

    def write(self, text: str) -> int:
        count = super().write(text)
        self.heard.set()
        return count


def test_what_is_quick_says_nothing() -> None:
    stream = _Heard(terminal=False)
    with Progress(stream) as progress:
        progress.says("counting")
    assert stream.getvalue() == ""


def test_what_takes_long_says_what_it_does() -> None:
    stream = _Heard(terminal=False)
    with Progress(stream, first=0) as progress:
        progress.says("counting")
        assert stream.heard.wait(60)
    assert stream.getvalue().startswith("gradviz: ")
    assert stream.getvalue().endswith(" 0 s\n")


def test_a_terminal_keeps_nothing_of_it() -> None:
    stream = _Heard(terminal=True)
    with Progress(stream, first=0) as progress:
        progress.says("counting")
        assert stream.heard.wait(60)
    first, *_, last, end = stream.getvalue().split("\r")
    assert (first, last.strip(), end) == ("", "", "")


def test_a_stream_that_is_closed_does_no_harm() -> None:
    stream = _Heard(terminal=False)
    stream.close()
    with Progress(stream, first=0) as progress:
        progress.says("counting")
