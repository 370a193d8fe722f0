"""Keeps the frames of a recording out of what the user sees."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from types import CodeType, TracebackType
from typing import TypeVar

from gradviz._capture.tracebacks import chain, entries, linked
from gradviz._capture.training_loop.patches import UNSEEN

T = TypeVar("T")

_CAPTURE = str(Path(__file__).parents[2])
_OURS = (os.path.join(_CAPTURE, ""), UNSEEN)
_DISPATCH = "handle_torch_function"  # PyTorch's, or ours in its place


def without_our_frames(error: BaseException) -> None:
    """Leave an exception, and those it came from, as without a recording."""
    for each in chain(error):
        each.__traceback__ = _cleaned(each.__traceback__)


def _cleaned(trace: TracebackType | None) -> TracebackType | None:
    found = list(entries(trace))
    return linked(without_turns(found, [each.tb_frame.f_code for each in found]))


def without_turns(frames: Sequence[T], codes: Sequence[CodeType]) -> list[T]:
    """Leave frames, outermost first, as without a recording.

    Of the two turns that a function of PyTorch takes under our mode the second is kept.
    """
    kept: list[tuple[T, CodeType]] = []
    first: CodeType | None = None  # of the two turns of one function
    ours = [code.co_filename.startswith(_OURS) for code in codes]
    for place, (frame, code) in enumerate(zip(frames, codes, strict=True)):
        if code.co_name == _DISPATCH and kept and any(ours[place : place + 2]):
            first = kept[-1][1]
        elif not ours[place]:
            if first is code:
                kept.pop()
            first = None
            kept.append((frame, code))
    return [frame for frame, _ in kept]
