"""Logs a call whose inside is not seen as one, and says so where it is read."""

from __future__ import annotations

import sys
from types import FrameType
from typing import TYPE_CHECKING, Any, NamedTuple

from gradviz._capture.adapters.pytorch.limitations import unseen_inside
from gradviz._capture.adapters.pytorch.op_names import Op

if TYPE_CHECKING:
    from gradviz._capture.adapters.pytorch.call_arguments import OpenCall
    from gradviz._capture.adapters.pytorch.calls import TorchCalls
    from gradviz._capture.adapters.pytorch.context import TorchContext


class Region(NamedTuple):
    """A call that runs: how it is logged, and what is known of its beginning."""

    op: Op
    caller: FrameType
    opened: OpenCall | None


class Regions:
    """Begins and ends the one event that a region is."""

    def __init__(self, log: TorchContext, calls: TorchCalls) -> None:
        self.log = log
        self.calls = calls

    def enter(
        self,
        name: str,
        why: str,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        caller: FrameType,
    ) -> Region:
        """Begin the event of a call; nothing inside is logged until it ends."""
        log, op = self.log, Op(name, "record")
        log.pause()
        with log.unasked():
            opened = self.calls.begin(op, args, kwargs, caller)
        if opened is not None and opened[0][1] is not None:
            sentence = unseen_inside(name, why)
            log.program.unseen[opened[0][1:3]] = sentence
            log.note_once(sentence)
        return Region(op, caller, opened)

    def leave(self, region: Region, result: Any) -> None:
        """End the event of a call that returned or, where an error is on, raised."""
        op, caller, opened = region
        error = sys.exception()
        try:
            with self.log.unasked():
                if error is not None:
                    self.calls.failed(op, (), {}, caller, opened, error)
                elif opened is not None:
                    self.calls.end(op, opened, result)
        finally:
            self.log.resume()
