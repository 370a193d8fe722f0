"""Tracebacks as the user should read them: their own frames, not ours."""

from __future__ import annotations

import inspect
import os
import sys
import traceback
from collections.abc import Iterator
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
    for each in chain(error):
        each.__traceback__ = _without(ours, keep, each.__traceback__)


def release_frames(error: BaseException | None) -> int:
    """Let go of the variables in the frames of an error; return how many frames.

    A traceback keeps every tensor that its functions had, and IPython keeps the last
    traceback. Frames that still run are left alone, as are those of modules and cells,
    whose variables are the user's own.
    """
    cleared = 0
    for each in chain(error):
        for frame, _ in traceback.walk_tb(each.__traceback__):
            is_function = frame.f_code.co_flags & inspect.CO_OPTIMIZED
            if is_function and frame.f_locals:
                try:
                    frame.clear()
                except RuntimeError:  # it still runs
                    continue
                # Up to Python 3.12 the frame also holds a copy, renewed when read.
                cleared += not frame.f_locals
    return cleared


def chain(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error and the errors it came from, each once."""
    waiting: list[Any] = [error]
    seen: set[int] = set()
    while waiting:
        each = waiting.pop()
        if each is None or id(each) in seen:
            continue
        seen.add(id(each))
        yield each
        waiting += [each.__cause__, each.__context__, *getattr(each, "exceptions", ())]


def linked(kept: list[TracebackType]) -> TracebackType | None:
    """Make one traceback of these entries, outermost first."""
    following = None
    for each in reversed(kept):
        each.tb_next = following
        following = each
    return following


def entries(trace: TracebackType | None) -> Iterator[TracebackType]:
    """Yield the entries of a traceback, outermost first."""
    while trace is not None:
        yield trace
        trace = trace.tb_next


def _without(
    ours: tuple[str, ...], keep: str, trace: TracebackType | None
) -> TracebackType | None:
    files = [(each, each.tb_frame.f_code.co_filename) for each in entries(trace)]
    kept = [each for each, file in files if file == keep or not file.startswith(ours)]
    return linked(kept)
