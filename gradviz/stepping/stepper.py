"""What :func:`gradviz.step` gives: a pass, and the ways to command it."""

from __future__ import annotations

import sys
from typing import Any

from gradviz.services import Service
from gradviz.stepping.check import CheckService
from gradviz.stepping.control import PassControl
from gradviz.stepping.service import SteppingService
from gradviz.stepping.shell import interact


class Stepper(PassControl):
    """A backward pass that waits for commands; :func:`step` makes it."""

    def services(self) -> dict[str, Service]:
        """Return what a view of this pass can ask for."""
        check = CheckService(self._picture.finder(self._graph.nodes))
        return {"stepping": SteppingService(self), "check": check}

    def show(self) -> None:
        """Show the graph and, in a notebook, the bar with the commands below it.

        The view follows every command, from the bar or from a cell.
        """
        from gradviz.showing.show import show_live

        self._update = show_live(self)

    def interact(self) -> None:
        """Take commands from the terminal until the pass is over; ``help`` lists them.

        Quitting, Ctrl-C and the end of the input give the pass up, as ``abort()`` does.
        """
        interact(self)


def step(loss: Any, gradient: Any = None, *, retain_graph: bool = False) -> Stepper:
    """Begin ``loss.backward()`` and wait before its first node.

    Works on tensors of gradtape and of PyTorch. ``retain_graph`` keeps the graph for
    another pass, as in ``backward()``. Raises CaptureError where there is no graph.

    >>> import torch, gradviz
    >>> x = torch.tensor([3.0], requires_grad=True)
    >>> pass_ = gradviz.step((x * x).sum())
    >>> pass_.step().name
    'MulBackward0'
    >>> pass_.resume(), x.grad
    (None, tensor([6.]))
    """
    return Stepper(loss, gradient, retain_graph=retain_graph, frame=sys._getframe(1))
