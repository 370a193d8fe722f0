"""Steps that reach an optimizer past the log's wrapper of them."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from gradviz._capture._loop_base import unseen

if TYPE_CHECKING:
    from gradviz._capture._loop_optim import OptimizerPart


class UnwrappedSteps:
    """Follows, by hooks, optimizers that hold a ``step`` of their own.

    A scheduler puts the step of the class, as it is then, on the optimizer itself. One
    made before the log began has the step without the log's wrapper.
    """

    def __init__(self, part: OptimizerPart) -> None:
        self._part = part
        # What the end of the step that runs needs, and whether the log is paused.
        self._running: list[tuple[Any, bool]] = []
        optim = importlib.import_module(f"{part.lib.__name__}.optim.optimizer")
        self._handles = [
            optim.register_optimizer_step_pre_hook(unseen(self._hook(self._before))),
            optim.register_optimizer_step_post_hook(unseen(self._hook(self._after))),
        ]

    def remove(self) -> None:
        """Take the hooks off."""
        for handle in self._handles:
            handle.remove()
        self._unwind()

    @staticmethod
    def _hook(do: Any) -> Any:
        def hook(optimizer: Any, args: Any, kwargs: Any) -> None:
            given = [*args[1:], *kwargs.values()]  # the first is the optimizer
            do(optimizer, any(each is not None for each in given))

        return hook

    def _before(self, optimizer: Any, closure: bool) -> None:
        part = self._part
        self._unwind()
        if not part.on or part.here.now.stepping is not None:
            return
        part.log.pause()
        self._running.append((part.try_(part.begin_step, optimizer, True), not closure))
        if closure:  # which runs in between
            part.log.resume()

    def _after(self, _optimizer: Any, _closure: bool) -> None:
        if not self._running:
            return
        part, (begun, paused) = self._part, self._running.pop()
        part.here.now.stepping = None
        if not paused:
            part.log.pause()
        if begun is not None:
            part.try_(part.end_step, *begun)
        part.log.resume()

    def _unwind(self) -> None:
        """End a step that raised: nobody said so."""
        if self._running:
            _, paused = self._running.pop()
            self._part.here.now.stepping = None
            if paused:
                self._part.log.resume()
