"""Steps that reach an optimizer past the log's wrapper of them."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from gradviz._capture.training_loop.patches import Patches, unseen

if TYPE_CHECKING:
    from gradviz._capture.training_loop.optimizers import OptimizerPart


class UnwrappedSteps:
    """Follows, by hooks, optimizers that hold a ``step`` of their own.

    A scheduler puts the step of the class, as it is then, on the optimizer itself. One
    made before the log began has the step without the log's wrapper.
    """

    def __init__(self, part: OptimizerPart) -> None:
        self._part = part
        # What the end of the step that runs needs, and whether the log is paused.
        self._running: list[tuple[Any, bool]] = []

    def install(self, patches: Patches) -> None:
        """Put the hooks on."""
        part = self._part
        optim = importlib.import_module(f"{part.lib.__package__}.optim.optimizer")
        here, running = part.here, self._running

        # Each step of each optimizer comes by: those that are logged already go first.
        @unseen
        def before(optimizer: Any, args: Any, kwargs: Any) -> None:
            if running:
                self._unwind()
            if here.now.stepping is None and part.on:
                self._before(optimizer, _is_given(args, kwargs))

        @unseen
        def after(optimizer: Any, args: Any, kwargs: Any) -> None:
            if running:
                self._after()

        patches.hook(optim.register_optimizer_step_pre_hook, before)
        patches.hook(optim.register_optimizer_step_post_hook, after)

    def end(self) -> None:
        """End a step that still runs as the hooks are taken off."""
        if self._running:
            self._unwind()

    def _before(self, optimizer: Any, closure: bool) -> None:
        part = self._part
        part.log.pause()
        self._running.append((part.try_(part.begin_step, optimizer, True), not closure))
        if closure:  # which runs in between
            part.log.resume()

    def _after(self) -> None:
        part, (begun, paused) = self._part, self._running.pop()
        part.here.now.stepping = None
        if not paused:
            part.log.pause()
        if begun is not None:
            part.try_(part.end_step, *begun)
        part.log.resume()

    def _unwind(self) -> None:
        """End a step that raised: nobody said so."""
        _, paused = self._running.pop()
        self._part.here.now.stepping = None
        if paused:
            self._part.log.resume()


def _is_given(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Tell whether a step was given a closure; the first argument is the optimizer."""
    return any(each is not None for each in (*args[1:], *kwargs.values()))
