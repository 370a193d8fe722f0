"""What we say to the user of a script that may have closed or replaced its streams."""

from __future__ import annotations

import os
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from typing import TextIO

from gradviz.errors import GradvizError

_UNUSABLE = OSError, ValueError, AttributeError, MemoryError
"""What a stream raises that was closed, detached, replaced, or has no reader left."""


class Voice:
    """Speaks on the stderr that was there before the script, and never raises.

    What the script puts in its place afterwards is the script's: a log, perhaps.
    """

    def __init__(self) -> None:
        self.stream: TextIO | None = sys.stderr

    def say(self, *lines: str) -> None:
        """Write the lines, or nothing where nobody can hear."""
        stream = self.stream
        if stream is None:
            return
        with suppress(*_UNUSABLE):
            stream.flush()  # what fails here is the script's, and Python's to tell
            try:
                stream.write("".join(f"{line}\n" for line in lines))
                stream.flush()
            except OSError:
                _drop(stream)

    @contextmanager
    def failures(self, of: str) -> Generator[None]:
        """Make one sentence of an error of ours: the script's own result stands."""
        try:
            yield
        except GradvizError as error:
            self.say(f"gradviz run: {error}")
        except MemoryError:
            self.say(f"gradviz: there is not enough memory left for {of}.")
        except Exception as error:
            self.say(f"gradviz: {of} is missing: {type(error).__name__}: {error}")


def _drop(stream: TextIO) -> None:
    """Throw away what was not written: Python would end with status 120 for it."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def flush() -> None:
    """Let what the script printed come before what we print."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(*_UNUSABLE):  # Python complains when the process ends
            stream.flush()


@contextmanager
def descriptors_taken() -> Generator[None]:
    """Keep our files from becoming the stdout of a script that closed its own."""
    taken: list[int] = []
    try:
        with suppress(OSError):
            while (number := os.open(os.devnull, os.O_RDWR)) <= 2:
                taken.append(number)
            os.close(number)
        yield
    finally:
        for number in taken:
            with suppress(OSError):
                os.close(number)
