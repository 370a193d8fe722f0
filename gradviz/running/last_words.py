"""What a recording needs to be told where a process is about to be gone at once."""

from __future__ import annotations

import functools
import mmap
import os
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

_RESERVED_BYTES = 64 * 2**20

_ENDS = "_exit", "execv", "execve"
"""The functions of os that end a process past Python; the other exec* call these."""


class Reserve:
    """Address space set aside, so that something can be told once all is used.

    It is never touched, and so takes no memory.
    """

    def __init__(self) -> None:
        try:
            self._kept: mmap.mmap | None = mmap.mmap(-1, _RESERVED_BYTES)
        except (OSError, ValueError, MemoryError):
            self._kept = None

    def release(self) -> None:
        """Give it back, for what follows."""
        if self._kept is not None:
            self._kept.close()
            self._kept = None


@contextmanager
def last_words(speak: Callable[[str], int | None]) -> Generator[None]:
    """Call ``speak`` with the name of the function that is to end this process.

    The status that it returns takes the place of 0 where that function gets one.
    Forked children end as they like.
    """
    process = os.getpid()
    originals = {name: getattr(os, name) for name in _ENDS}

    def speaking_before(name: str) -> Callable[..., Any]:
        original = originals[name]

        @functools.wraps(original)
        def end(*arguments: Any, **named: Any) -> Any:
            if os.getpid() == process and (name == "_exit" or _can_run(*arguments)):
                verdict = speak(f"os.{name}")
                if (
                    verdict
                    and name == "_exit"
                    and not any((*arguments, *named.values()))
                ):
                    return original(verdict)
            return original(*arguments, **named)

        return end

    for name in _ENDS:
        setattr(os, name, speaking_before(name))
    try:
        yield
    finally:
        for name, original in originals.items():
            setattr(os, name, original)


def _can_run(file: Any = None, *_: object) -> bool:
    """Tell a program from a place where exec* only looks for it."""
    return isinstance(file, int) or (file is not None and os.access(file, os.X_OK))
