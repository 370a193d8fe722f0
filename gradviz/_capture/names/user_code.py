"""Whose files these are: frames of gradviz or of the notebook are not the user's."""

from __future__ import annotations

import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType

from gradviz.program.log import is_own_file


class _Probing(threading.local):
    """Whether this thread computes something of ours with the user's engine."""

    on = False


_probing = _Probing()


@contextmanager
def probing() -> Generator[None, None, None]:
    """Keep what is computed inside out of recordings: the user did not ask for it."""
    before, _probing.on = _probing.on, True
    try:
        yield
    finally:
        _probing.on = before


def is_probing() -> bool:
    """Tell whether this thread is inside :func:`probing`."""
    return _probing.on


def users_frame() -> FrameType | None:
    """Return the innermost frame that is not gradviz's own."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and is_own_file(frame.f_code.co_filename):
        frame = frame.f_back
    return frame
