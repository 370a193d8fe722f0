"""Blocks of code with a name, as rows of the profiler's results."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ContextDecorator
from typing import Any

from ..._modes.grad_mode import mode
from ..._profiling.event import USER_SCOPE, Event
from ..._profiling.recorder import Recorder


class record_function(ContextDecorator):
    """Name a block of code, or a function, as a row of the profiler's results.

    >>> import gradtape as torch
    >>> with torch.autograd.profiler.profile() as prof:
    ...     with torch.autograd.profiler.record_function("twice"):
    ...         y = torch.ones(2) * 2
    >>> [child.name for child in prof.function_events[0].cpu_children]
    ['aten::ones', 'aten::mul']
    """

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name = name
        self.args = args
        self.run_callbacks_on_exit = True
        self._open: tuple[Recorder, Event] | None = None

    def __enter__(self) -> record_function:
        recorder: Recorder | None = mode.now.profile
        if recorder is not None:
            inputs = None if self.args is None else (self.args,)
            self._open = (recorder, recorder.begin(self.name, USER_SCOPE, inputs))
        return self

    def __exit__(self, *exc: object) -> None:
        if self._open is not None and self.run_callbacks_on_exit:
            recorder, event = self._open
            self._open = None
            if not event.end:
                recorder.finish(event)


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
