"""Let go of what an error's traceback keeps alive, and say how much that was."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from gradviz._capture.names.retained_memory import Held
from gradviz._capture.names.tensors import locals_of
from gradviz._capture.tracebacks import frames_of, release_frames
from gradviz.services import Request, State
from gradviz.text.words import counted, size

_MARK = "_gradviz_card"
_GONE = "Python has moved on to another error; this one keeps nothing alive."


class ReleaseService:
    """The button of an error card. It does not hold the error itself."""

    def __init__(self, error: BaseException) -> None:
        self._key = object()
        self._said = ""
        with suppress(AttributeError):  # of an error with slots
            setattr(error, _MARK, self._key)

    def state(self) -> State:
        """Return what was released, in a sentence; "" before the button is pressed."""
        return {"said": self._said}

    def answer(self, request: Request) -> None:
        """Release, once; the last error of the kernel may be another one by now."""
        error = getattr(sys, "last_value", None)
        ours = getattr(error, _MARK, None) is self._key
        self._said = release(error) if ours else _GONE


def release(error: BaseException | None) -> str:
    """Empty the frames of an error; return a sentence that says what that freed."""
    held = Held(_variables(error))
    frames = release_frames(error)
    count, nbytes = held.freed()
    where = f"the variables of {counted(frames, 'frame')}"
    if not count:
        return f"Released {where}; no tensor was kept alive by them alone."
    return f"Released {where}: {counted(count, 'tensor')}, {size(nbytes)} freed."


def _variables(error: BaseException | None) -> Iterator[Any]:
    for frame in frames_of(error):
        if frame.f_code.co_flags & inspect.CO_OPTIMIZED:
            yield from locals_of(frame).values()
