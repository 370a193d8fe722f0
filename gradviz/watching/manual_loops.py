"""Loops that change parameters without an optimizer: every backward pass is a step."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from gradviz.watching.arrivals import drop_empty_table
from gradviz.watching.hooks import Hooks
from gradviz.watching.looks import Look


class ManualLoop:
    """Marks the end of each pass, until an optimizer is seen to step.

    The first pass shows which gradient comes last; from then on one hook on that
    parameter is all. What a loop changed of the weights shows at the end of the next
    pass.
    """

    def __init__(self, hooks: Hooks) -> None:
        self.passes = 0
        self._hooks = hooks
        self._seen: set[int] = set()
        self._last: int | None = None
        self._learning = True
        self._ended_ns: int | None = None  # the last pass
        self._cost_ns = 0  # of the look that waits for the next one
        self._look: Look | None = None
        self._handles: dict[int, Any] = {}
        for row, parameter in hooks.parameters.learning():
            hook = hooks.guard(_arrived(self, row))
            self._handles[row] = parameter.register_post_accumulate_grad_hook(hook)

    def close(self) -> None:
        """Take the hooks off and let go of what was copied."""
        for row in [*self._handles]:
            self._remove(row)
        self._look = None

    def _remove(self, row: int) -> None:
        self._handles.pop(row).remove()
        parameter = self._hooks.parameters.get(row)
        drop_empty_table(parameter, "_post_accumulate_grad_hooks")

    def finish(self) -> None:
        """Deliver what waits for a pass that will not come."""
        if self._learning and self._seen and self._handles:
            self._begin_look()
            self.passes = 1
        look, self._look = self._look, None
        if look is not None:
            self._hooks.hand_over(look, self._hooks.record(look.number, None))

    def arrived(self, row: int) -> None:
        """Learn that a parameter has taken in its gradient."""
        if not self._learning:
            self._ended()
        elif row not in self._seen:
            self._seen.add(row)
            self._last = row
        else:  # a second pass began
            self._learning = False
            self.passes = 1
            for other in [each for each in self._handles if each != self._last]:
                self._remove(other)
            if row == self._last:
                self._ended()

    def _ended(self) -> None:
        hooks, began = self._hooks, time.perf_counter_ns()
        if self._look is not None:
            self._look.read_changes()
            look, self._look = self._look, None
            hooks.hand_over(look, hooks.record(look.number, None))
            hooks.drop_arrivals()
            self._cost_ns += time.perf_counter_ns() - began
            hooks.schedule.looked(self._cost_ns)
        if hooks.schedule.due(self.passes):
            if self._ended_ns is not None:
                hooks.schedule.stepped(max(began - self._ended_ns, 1))
            self._begin_look()
        self.passes += 1
        hooks.steps = max(hooks.steps, self.passes)
        self._ended_ns = time.perf_counter_ns()
        if self._look is not None:
            self._cost_ns = self._ended_ns - began

    def _begin_look(self) -> None:
        hooks = self._hooks
        hooks.parameters.scan()
        rows = [row for row, _ in hooks.parameters.learning()]
        self._look = hooks.new_look(rows, self.passes)
        self._look.read_gradients(pictures=hooks.wants_pictures())
        self._look.copy_weights()


def _arrived(loop: ManualLoop, row: int) -> Callable[..., None]:
    def arrived(_parameter: Any) -> None:
        loop.arrived(row)

    return arrived
