"""Blocks of code with a name, as rows of the profiler's results."""

from __future__ import annotations

from contextlib import ContextDecorator

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
