"""Where PyTorch asks who looks on, and would go another way: it is told nobody.

Layers of transformers leave their fast path, whose results differ, while any function
mode is on; ``swap_tensors`` refuses tensors that something refers to weakly.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gradviz._capture.training_loop.patches import Patches, unseen

if TYPE_CHECKING:
    from gradviz._capture.adapters.pytorch.context import TorchContext


def bypass_mode(torch: Any, log: TorchContext, patches: Patches) -> None:
    """Put the wrappers in place that answer as if nobody recorded."""
    overrides, utils = torch.overrides, torch.utils
    asked = _without_our_mode(overrides.has_torch_function, log)
    patches.set(overrides, "has_torch_function", asked)
    patches.set(utils, "swap_tensors", _without_references(utils.swap_tensors, log))


def _without_our_mode(original: Any, log: TorchContext) -> Any:
    """Wrap what layers ask; functions that hand calls on to a mode ask another one."""

    @unseen
    def has_torch_function(relevant_args: Any) -> Any:
        mode = log.step_out()
        try:
            return original(relevant_args)
        finally:
            log.step_in(mode)

    return has_torch_function


def _without_references(original: Any, log: TorchContext) -> Any:
    """Wrap what exchanges two tensors: they keep their numbers, nothing else."""

    @unseen
    def swap_tensors(t1: Any, t2: Any) -> None:
        __tracebackhide__ = True
        numbers = [(each, log.tensors.let_go(each)) for each in (t1, t2)]
        mode = log.step_out()
        try:
            original(t1, t2)
        finally:
            log.step_in(mode)
            for each, number in numbers:
                if number is not None:
                    log.tensors.give(each, number)

    return swap_tensors
