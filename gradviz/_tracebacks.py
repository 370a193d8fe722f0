"""Tracebacks as the user should read them: their own frames, not ours."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import TracebackType
from typing import Any

_OURS = str(Path(__file__).parent)


def without_our_frames(error: BaseException, keep: str = "") -> None:
    """Remove our frames from an error and from the errors it came from.

    The engine's go too, and those of code that it makes: like PyTorch's, which are C++,
    they say nothing about the script. Frames of the file ``keep`` stay in any case.
    """
    engine = getattr(sys.modules.get("gradtape"), "__path__", [])
    folders = (folder + os.sep for folder in (_OURS, *engine))
    ours = ("<gradtape ", "<gradviz ", *folders)
    waiting: list[Any] = [error]
    seen: set[int] = set()
    while waiting:
        each = waiting.pop()
        if each is None or id(each) in seen:
            continue
        seen.add(id(each))
        each.__traceback__ = _without(ours, keep, each.__traceback__)
        waiting += [each.__cause__, each.__context__, *getattr(each, "exceptions", ())]


def _without(
    ours: tuple[str, ...], keep: str, trace: TracebackType | None
) -> TracebackType | None:
    kept: list[TracebackType] = []
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        if file == keep or not file.startswith(ours):
            kept.append(trace)
        trace = trace.tb_next
    following = None
    for each in reversed(kept):
        each.tb_next = following
        following = each
    return following
