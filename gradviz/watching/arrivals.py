"""When gradients arrive in a pass, and how large they are before they are averaged."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

from gradviz.watching.looks import Reader
from gradviz.watching.parameters import Parameters


class Arrivals:
    """Hooks on the parameters for one step, gone as soon as it was looked at.

    In training by several processes they see each gradient as this process computed
    it: the average is formed later, when the pass ends.
    """

    def __init__(
        self,
        reader: Reader,
        parameters: Parameters,
        guard: Callable[[Callable[..., None]], Callable[..., None]],
        local: bool,
    ) -> None:
        self.first_ns: int | None = None
        self.last_ns: int | None = None
        self.norms: dict[int, float] = {}
        self.cost_ns = 0  # of reading them
        self._reader = reader
        self._local = local
        self._parameters = parameters
        self._handles: list[tuple[Any, int]] = []
        for row, parameter in parameters.learning():
            handle = parameter.register_hook(guard(_arrived(self, row)))
            self._handles.append((handle, row))

    def seen(self, row: int, gradient: Any) -> None:
        """Note that a gradient arrived, and its norm where that will change."""
        began = time.perf_counter_ns()
        if self.first_ns is None:
            self.first_ns = began
        self.last_ns = began
        if self._local:
            with self._reader.quiet():
                norm, _, _, nans, infs = self._reader.gradients([gradient])[0]
            self.norms[row] = math.inf if nans + infs > 0 else norm
            self.cost_ns += time.perf_counter_ns() - began

    def close(self) -> None:
        """Take the hooks off again."""
        for handle, row in self._handles:
            handle.remove()
            drop_empty_table(self._parameters.get(row), "_backward_hooks")
        self._handles = []


def drop_empty_table(parameter: Any, table: str) -> None:
    """Take an empty table of hooks off: PyTorch would still look into it each time."""
    if parameter is not None and not getattr(parameter, table, True):
        setattr(parameter, table, None)


def _arrived(arrivals: Arrivals, row: int) -> Callable[..., None]:
    def arrived(gradient: Any) -> None:
        arrivals.seen(row, gradient)

    return arrived
