"""The engine as an object, which programs reach as ``Variable._execution_engine``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .._common import messages as _errors
from .._engine import graph_task
from .._modes.grad_mode import mode
from ._api import run_between


class ImperativeEngine:
    """Runs backward passes, and what programs want done when one is over.

    >>> import gradtape as torch
    >>> engine = torch.autograd.Variable._execution_engine
    >>> x = torch.ones(1, requires_grad=True)
    >>> def hook(grad):
    ...     engine.queue_callback(lambda: print("over"))
    >>> handle = x.register_hook(hook)
    >>> x.sum().backward()
    over
    """

    def queue_callback(self, callback: Callable[[], Any]) -> None:
        """Call ``callback()`` at the end of the pass that runs now.

        Callbacks run in the order in which they were queued, and not after an error.
        Raises RuntimeError outside of a pass.
        """
        graph_task.queue_callback(callback)

    def is_checkpoint_valid(self) -> bool:
        """Tell whether all passes that run now go to every leaf."""
        task = mode.now.task
        return task is None or task.can_checkpoint

    def run_backward(
        self,
        tensors: Sequence[Any],
        grad_tensors: Sequence[Any],
        keep_graph: bool,
        create_graph: bool,
        inputs: Sequence[Any] = (),
        allow_unreachable: bool = True,
        accumulate_grad: bool = True,
    ) -> tuple[Any, ...]:
        """Run a pass; return one gradient per input unless they accumulate.

        Raises RuntimeError for an input that is not reached, unless that is allowed.
        """
        found = run_between(
            tensors, grad_tensors, keep_graph, create_graph, inputs, accumulate_grad
        )
        for index, gradient in enumerate(found):
            if gradient is None and not allow_unreachable:
                raise RuntimeError(_errors.UNUSED_INPUT.format(index=index))
        return tuple(found)


execution_engine = ImperativeEngine()
