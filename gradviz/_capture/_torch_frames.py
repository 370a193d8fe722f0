"""Whose line it is: the user's frames, as the log of PyTorch looks for them."""

from __future__ import annotations

import sys
from types import CodeType, FrameType
from typing import TYPE_CHECKING

from gradviz._capture._loop_base import Place
from gradviz.program.log import Log
from gradviz.program.values import RawSite

if TYPE_CHECKING:
    from gradviz._capture._loop import LoopLog

_DEEPEST = 32  # user frames kept of one stack


class TorchFrames(Log):
    """The part of the log that walks the stack: at every call, so it stops early."""

    loop: LoopLog
    scan: bool
    detailed: bool

    def place(self) -> tuple[RawSite | None, tuple[RawSite, ...]]:
        """Return the user's innermost frame, and the user's frames around it."""
        frame, user = sys._getframe(2), self.user_files
        while not user[frame.f_code.co_filename]:
            if frame.f_back is None:
                return None, ()
            frame = frame.f_back
        site = frame.f_code, frame.f_lasti
        return site, self.around(frame)

    def found_from(
        self, frame: FrameType, place: Place
    ) -> tuple[CodeType | None, int, tuple[RawSite, ...]]:
        """Return code and instruction of the user's innermost frame from here out.

        Third come the frames around it. Where they are not wanted, the innermost call
        of a module knows the line: between it and here nobody looks again.
        """
        user, known = self.user_files, None
        if not (self.scan or self.detailed):
            known = place.site
        while not user[(code := frame.f_code).co_filename]:
            if known is not None and (
                code is place.forward or code is self.loop.modules.call_code
            ):
                return *known, ()
            if frame.f_back is None:
                return None, 0, ()
            frame = frame.f_back
        return code, frame.f_lasti, self.around(frame)

    def around(self, frame: FrameType | None) -> tuple[RawSite, ...]:
        """Return the user's frames further out; () where nobody looks at values."""
        if frame is None or not (self.scan or self.detailed):
            return ()
        user, sites = self.user_files, list[RawSite]()
        outer = frame.f_back
        while outer is not None and len(sites) < _DEEPEST:
            code = outer.f_code
            if user[code.co_filename]:
                sites.append((code, outer.f_lasti))
            outer = outer.f_back
        return tuple(sites)
