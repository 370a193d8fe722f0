"""Keeps the frames of a recording out of what the user sees: errors and warnings."""

from __future__ import annotations

import os
from types import TracebackType
from typing import Any

from gradviz._capture._loop_base import UNSEEN
from gradviz.program.log import Log

_OURS = (os.path.join(os.path.dirname(os.path.abspath(__file__)), ""), UNSEEN)
_DISPATCH = "handle_torch_function"  # PyTorch's, there only because of our mode


def without_our_frames(error: BaseException) -> None:
    """Leave an exception, and those it came from, as without a recording."""
    waiting: list[Any] = [error]
    seen: set[int] = set()
    while waiting:
        each = waiting.pop()
        if each is None or id(each) in seen:
            continue
        seen.add(id(each))
        each.__traceback__ = _cleaned(each.__traceback__)
        waiting += [each.__cause__, each.__context__, *getattr(each, "exceptions", ())]


def _cleaned(trace: TracebackType | None) -> TracebackType | None:
    kept: list[TracebackType] = []
    first: TracebackType | None = None  # of the two turns of one function
    while trace is not None:
        code = trace.tb_frame.f_code
        if code.co_name == _DISPATCH and kept:
            first = kept[-1]
        elif not code.co_filename.startswith(_OURS):
            if first is not None and first.tb_frame.f_code is code:
                kept.remove(first)
            first = None
            kept.append(trace)
        trace = trace.tb_next
    following = None
    for each in reversed(kept):
        each.tb_next = following
        following = each
    return following


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
