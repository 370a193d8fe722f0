"""Whose line it is: the user's frames, as the log of PyTorch looks for them."""

from __future__ import annotations

from types import CodeType, FrameType
from typing import TYPE_CHECKING

from gradviz._capture.training_loop.patches import Place
from gradviz.program.log import Log
from gradviz.program.values import RawSite

if TYPE_CHECKING:
    from gradviz._capture.training_loop.log import LoopLog


class TorchFrames(Log):
    """The part of the log that walks the stack: at every call, so it stops early."""

    loop: LoopLog
    brief: bool  # neither values nor the frames further out are looked at

    def place(self) -> tuple[RawSite | None, tuple[RawSite, ...]]:
        """Return the user's innermost frame, and the user's frames around it."""
        if self.brief:
            return self.site(), ()
        frame = self.frame()
        if frame is None:
            return None, ()
        return (frame.f_code, frame.f_lasti), self.around(frame)

    def found_from(
        self, frame: FrameType, place: Place
    ) -> tuple[CodeType | None, int, tuple[RawSite, ...]]:
        """Return code and instruction of the user's innermost frame from here out.

        Third come the frames around it. Where they are not wanted, the innermost call
        of a module knows the line: between it and here nobody looks again.
        """
        user, known = self.user_files, None
        if self.brief:
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
        if frame is None or self.brief:
            return ()
        return self.outside(frame)
