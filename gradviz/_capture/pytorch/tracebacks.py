"""Keeps the frames of a recording out of what the user sees: errors and warnings."""

from __future__ import annotations

import os
from types import TracebackType
from typing import Any

from gradviz._capture.loop.base import UNSEEN
from gradviz._tracebacks import chain, entries, linked
from gradviz.program.log import Log

_CAPTURE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_OURS = (os.path.join(_CAPTURE, ""), UNSEEN)
_DISPATCH = "handle_torch_function"  # PyTorch's, there only because of our mode


def without_our_frames(error: BaseException) -> None:
    """Leave an exception, and those it came from, as without a recording."""
    for each in chain(error):
        each.__traceback__ = _cleaned(each.__traceback__)


def _cleaned(trace: TracebackType | None) -> TracebackType | None:
    kept: list[TracebackType] = []
    first: TracebackType | None = None  # of the two turns of one function
    for each in entries(trace):
        code = each.tb_frame.f_code
        if code.co_name == _DISPATCH and kept:
            first = kept[-1]
        elif not code.co_filename.startswith(_OURS):
            if first is not None and first.tb_frame.f_code is code:
                kept.remove(first)
            first = None
            kept.append(each)
    return linked(kept)


def naming_users(show: Any, log: Log) -> Any:
    """Return a way to show warnings that names the user's line in place of ours.

    PyTorch's C++ takes the innermost frame for the place of a warning.
    """

    def showwarning(
        message: Any,
        category: Any,
        filename: str,
        lineno: int,
        file: Any = None,
        line: str | None = None,
    ) -> None:
        frame = log.frame() if filename == UNSEEN else None
        if frame is not None:
            filename, lineno = frame.f_code.co_filename, frame.f_lineno
        show(message, category, filename, lineno, file, line)

    return showwarning
