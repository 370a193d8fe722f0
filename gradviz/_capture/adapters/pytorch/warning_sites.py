"""Lets warnings name the lines that they name without a recording.

Two things move them: PyTorch's C++ takes the innermost frame, which is ours, for the
place of a warning; and its functions in Python run in two turns where a mode is on,
which is one caller more than they count. Both are put right where a warning is shown:
a call that warns of nothing costs nothing.
"""

from __future__ import annotations

import sys
import warnings
from types import FrameType
from typing import Any

from gradviz._capture.adapters.pytorch.tracebacks import without_turns
from gradviz._capture.training_loop.patches import Anything, Patches, wrap_warnings

_REGISTRY = "__warningregistry__"  # of a module: what was shown already


def name_users(patches: Patches) -> None:
    """Put the wrapper in place that shows warnings where they belong."""
    wrap_warnings(patches, _relocating)


def _relocating(show: Anything) -> Anything:
    def showwarnmsg(message: Any) -> None:
        frame = sys._getframe(1)
        if frame.f_code is showwarnmsg.__code__:  # it is at its place
            show(message)
            return
        named, right = _places(frame, message.filename, message.lineno)
        if named is None or right is None or named is right:
            show(message)
            return
        _forget(named, message)
        warnings.warn_explicit(  # filters may know this place, or it was shown there
            message.message,
            message.category,
            right.f_code.co_filename,
            right.f_lineno,
            right.f_globals.get("__name__", "<string>"),
            right.f_globals.setdefault(_REGISTRY, {}),
            source=message.source,
        )

    return showwarnmsg


def _places(
    frame: FrameType | None, file: str, line: int
) -> tuple[FrameType | None, FrameType | None]:
    """Return the frame that a warning names, and the one it would name without us."""
    frames: list[FrameType] = []
    while frame is not None:
        frames.append(frame)
        frame = frame.f_back
    named, level = None, 0
    for each in frames:
        level += not _is_passed_over(each)
        if (each.f_code.co_filename, each.f_lineno) == (file, line):
            named = each
            break
    frames.reverse()
    as_usual = without_turns(frames, [each.f_code for each in frames])
    counted = [each for each in reversed(as_usual) if not _is_passed_over(each)]
    right = counted[max(level, 1) - 1 :][:1]
    return named, right[0] if right else None


def _is_passed_over(frame: FrameType) -> bool:
    """Tell whether Python's warnings count no such frame."""
    file = frame.f_code.co_filename
    return "importlib" in file and "_bootstrap" in file


def _forget(frame: FrameType, message: Any) -> None:
    """Let a warning be shown once more that was shown where it does not belong."""
    shown: Any = frame.f_globals.get(_REGISTRY, {})
    text = str(message.message), message.category
    for key in (text, (*text, 0), (*text, message.lineno)):
        shown.pop(key, None)
