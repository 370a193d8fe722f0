"""Logs a call of TorchScript as one, and notes that a CUDA graph was replayed.

Neither comes past PyTorch's function modes: what they do is run by C++ or by the GPU.
"""

from __future__ import annotations

import functools
import sys
from typing import TYPE_CHECKING, Any

from gradviz._capture.adapters.pytorch.limitations import CUDA_GRAPH, SCRIPTED
from gradviz._capture.training_loop.patches import Patches, unseen

if TYPE_CHECKING:
    from gradviz._capture.adapters.pytorch.context import TorchContext
    from gradviz._capture.adapters.pytorch.regions import Regions


class TorchScripted:
    """Watches functions and methods of TorchScript, and CUDA graphs."""

    def __init__(self, torch: Any, log: TorchContext, regions: Regions) -> None:
        self.torch = torch
        self.log = log
        self.regions = regions
        self._patches = Patches()

    def install(self) -> None:
        """Wrap what runs them."""
        for kind in (self.torch._C.ScriptFunction, self.torch._C.ScriptMethod):
            self._patches.set(kind, "__call__", self._called(kind.__call__))
        graph = self.torch.cuda.CUDAGraph
        self._patches.set(graph, "replay", self._replayed(graph.replay))

    def remove(self) -> None:
        """Put everything back."""
        self._patches.restore()

    def _called(self, original: Any) -> Any:
        log = self.log

        @unseen
        def call(scripted: Any, *args: Any, **kwargs: Any) -> Any:
            __tracebackhide__ = True
            if log.muted or not log.is_home():
                return original(scripted, *args, **kwargs)
            region = self.regions.enter(
                _name_of(scripted), SCRIPTED, args, kwargs, sys._getframe(1)
            )
            result = None
            try:
                result = original(scripted, *args, **kwargs)
                return result
            finally:
                self.regions.leave(region, result)

        return call

    def _replayed(self, original: Any) -> Any:
        @unseen
        @functools.wraps(original)
        def replay(graph: Any) -> Any:
            __tracebackhide__ = True
            if self.log.on:
                self.log.note_once(CUDA_GRAPH)
            return original(graph)

        return replay


def _name_of(scripted: Any) -> str:
    """Return the name of a function, or the class of the module of a ``forward``."""
    owner = getattr(scripted, "owner", None)
    if owner is None or scripted.name != "forward":
        return str(scripted.name)
    return str(owner._type().name())
