"""Where in the user's source something happened, recorded in a fraction of a µs.

Recording keeps only the code object and the index of the bytecode instruction
(``f_lasti``); file, line, columns and text are worked out when someone looks.
"""

from __future__ import annotations

import linecache
import os
import sys
from dataclasses import dataclass
from types import CodeType, FrameType

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_DEEPEST = 32  # frames kept of a stack


user_files: set[str] = set()
own_files: set[str] = set()
"""Files known to be the user's or the package's: a set is looked up faster."""


class _InternalFiles(dict[str, bool]):
    """File name -> is it part of this package? Filled on first sight."""

    def __missing__(self, file: str) -> bool:
        internal = self[file] = file.startswith((_PACKAGE, "<gradtape"))
        (own_files if internal else user_files).add(file)
        return internal


internal_files = _InternalFiles()

RawSite = tuple[CodeType, int]


@dataclass(frozen=True, slots=True)
class Site:
    """A place in the source. Lines and columns count from 1, the end is exclusive.

    Columns count UTF-8 bytes, as the interpreter does; None where it kept none.
    """

    file: str
    line: int
    end_line: int
    column: int | None
    end_column: int | None
    function: str

    @property
    def text(self) -> str:
        """The source lines from line to end_line, or "" where they are lost."""
        lines = linecache.getlines(self.file)[self.line - 1 : self.end_line]
        return "".join(lines).rstrip("\n")

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


def user_frame() -> FrameType | None:
    """Return the innermost frame outside this package, to which the caller belongs."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and internal_files[frame.f_code.co_filename]:
        frame = frame.f_back
    return frame


def users_above(frame: FrameType) -> FrameType:
    """Return the innermost user frame from ``frame`` on; the outermost of all if none.

    The hot path asks only where ``user_files`` does not have the frame's file.
    """
    while True:
        file = frame.f_code.co_filename
        if file not in own_files and not internal_files[file]:
            return frame
        above = frame.f_back
        if above is None:
            return frame
        frame = above


def caller_site() -> RawSite | None:
    """Return code and instruction of the innermost user frame."""
    frame = user_frame()
    return None if frame is None else (frame.f_code, frame.f_lasti)


def user_stacklevel() -> int:
    """Return the ``stacklevel`` at which a caller's warning names the user's line."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and internal_files[frame.f_code.co_filename]:
        frame = frame.f_back
        file = frame.f_code.co_filename
        # Python's warnings do not count frames that look like its import machinery.
        level += not ("importlib" in file and "_bootstrap" in file)
    return level


def user_stack() -> tuple[RawSite, ...]:
    """Return the user's frames, innermost first; of a deep stack not all."""
    frame = user_frame()
    sites: list[RawSite] = []
    while frame is not None and len(sites) < _DEEPEST:
        if not internal_files[frame.f_code.co_filename]:
            sites.append((frame.f_code, frame.f_lasti))
        frame = frame.f_back
    return tuple(sites)


def resolve(code: CodeType, lasti: int) -> Site:
    """Work out file, line and columns of one instruction.

    The column range covers the whole expression the instruction belongs to: the
    call ``F.relu(h)``, the product ``x * w`` (PEP 657).
    """
    line = end_line = column = end_column = None
    for index, position in enumerate(code.co_positions()):
        if index == lasti // 2:
            line, end_line, column, end_column = position
            break
    line = line or code.co_firstlineno
    return Site(
        code.co_filename,
        line,
        end_line or line,
        None if column is None else column + 1,
        None if end_column is None else end_column + 1,
        code.co_name,
    )
