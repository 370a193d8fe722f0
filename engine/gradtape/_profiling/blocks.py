"""Blocks of code with a name that are entered by one call and left by another."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .._modes.grad_mode import mode
from .event import USER_SCOPE, Event
from .recorder import Recorder


class Block:
    """A block that was entered by a call, until it is left by another."""

    __slots__ = ("_open",)

    def __init__(self, name: str, inputs: Iterable[Any] | None) -> None:
        recorder: Recorder | None = mode.now.profile
        self._open: tuple[Recorder, Event] | None = None
        if recorder is not None:
            self._open = (recorder, recorder.begin(name, USER_SCOPE, inputs))

    def close(self) -> None:
        """End the block; ending it twice does no harm."""
        if self._open is not None and not self._open[1].end:
            recorder, event = self._open
            recorder.finish(event)


def enter(name: str, args: str | None = None) -> Block:
    """Begin a block; hand what is returned to :func:`leave`."""
    return Block(name, None if args is None else (args,))


def enter_with_args(name: str, *args: Any) -> Block:
    """Begin a block whose values are described as an op's arguments are."""
    return Block(name, args)


def leave(block: Block) -> None:
    """End a block."""
    block.close()
