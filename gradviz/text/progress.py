"""Says how far something is that takes more than two seconds."""

from __future__ import annotations

import _thread
import sys
import threading
import time
from contextlib import suppress
from types import TracebackType
from typing import TextIO

FIRST = 2.0  # seconds before the first word
_OVERWRITTEN = 0.5  # seconds between words in one line of a terminal
_LINES = 5.0  # and between lines elsewhere: a file, a notebook
_PATIENCE = 1.0  # seconds for its last word

_UNUSABLE = OSError, ValueError, AttributeError, MemoryError, RuntimeError


class Progress:
    """Writes "gradviz: making the page … 7 s" while its block runs, if that takes long.

    On a terminal it is one line, which is gone at the end; elsewhere a line now and
    then. Nothing of it is ever raised.
    """

    def __init__(self, stream: TextIO | None = None, first: float = FIRST) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._first = first
        self._doing = ""
        self._over = threading.Event()
        self._began = time.monotonic()
        self._gone = threading.Event()
        self._runs = False
        self._written = 0  # characters of a terminal's line

    def __enter__(self) -> Progress:
        # Thread.start() waits for ever for a thread that finds no memory to begin with.
        with suppress(*_UNUSABLE):
            _thread.start_new_thread(self._run, ())
            self._runs = True
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._over.set()
        with suppress(*_UNUSABLE):
            if self._runs:
                self._gone.wait(_PATIENCE)
            if self._written:
                self._write("\r" + " " * self._written + "\r")

    def says(self, doing: str) -> None:
        """Say from now on that this is being done."""
        self._doing = doing

    def _run(self) -> None:
        try:
            self._tell()
        finally:
            self._gone.set()

    def _tell(self) -> None:
        with suppress(*_UNUSABLE):
            overwrites = self._stream.isatty()
            wait = self._first
            while not self._over.wait(wait):
                wait = _OVERWRITTEN if overwrites else _LINES
                seconds = time.monotonic() - self._began
                line = f"gradviz: {self._doing} … {seconds:.0f} s"
                if overwrites:
                    self._write("\r" + line.ljust(self._written))
                    self._written = max(self._written, len(line))
                else:
                    self._write(line + "\n")

    def _write(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()
