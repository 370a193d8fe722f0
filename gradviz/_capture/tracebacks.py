"""Tracebacks as the user should read them: their own frames, not ours."""

from __future__ import annotations

import inspect
import os
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any

_OURS = str(Path(__file__).parents[1])


def without_our_frames(error: BaseException, keep: str = "") -> None:
    """Remove our frames from an error and from the errors it came from.

    The engine's go too, and those of code that it makes: like PyTorch's, which are C++,
    they say nothing about the script. Frames of the file ``keep`` stay in any case.
    """
    ours = _our_files()
    for each in chain(error):
        each.__traceback__ = _without(ours, keep, each.__traceback__)


def _our_files() -> tuple[str, ...]:
    """Return how the names of our files and the engine's begin."""
    engine = getattr(sys.modules.get("gradtape"), "__path__", [])
    folders = (folder + os.sep for folder in (_OURS, *engine))
    return "<gradtape ", "<gradviz ", *folders


def release_frames(error: BaseException | None) -> int:
    """Let go of the variables in the frames of an error; return how many frames.

    A traceback keeps every tensor that its functions had, and IPython keeps the last
    traceback. Frames that still run are left alone, as are those of modules and cells,
    whose variables are the user's own.
    """
    cleared = 0
    for frame in frames_of(error):
        is_function = frame.f_code.co_flags & inspect.CO_OPTIMIZED
        if is_function and frame.f_locals:
            try:
                frame.clear()
            except RuntimeError:  # it still runs
                continue
            # Up to Python 3.12 the frame also holds a copy, renewed when read.
            cleared += not frame.f_locals
    return cleared


def frames_of(error: BaseException | None) -> list[FrameType]:
    """Return the frames that an error keeps, also those we cut out of its traceback.

    A frame holds the one that called it, whether or not the traceback lists that. Of
    the callers only ours and PyTorch's are returned: the notebook's may be needed.
    """
    torch = getattr(sys.modules.get("torch"), "__path__", [])
    ours = (*_our_files(), *(folder + os.sep for folder in torch))
    found: dict[FrameType, None] = {}
    for each in chain(error):
        for listed, _ in traceback.walk_tb(each.__traceback__):
            found[listed] = None
            caller = listed.f_back
            while caller is not None and caller.f_code.co_filename.startswith(ours):
                found[caller] = None
                caller = caller.f_back
    return list(found)


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
