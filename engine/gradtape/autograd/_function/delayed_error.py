"""Nodes that stop a gradient: one with an error of its own, one without a word."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._backend import backend_of
from ..._dispatch.recording import place
from ..._graph.node import Node, new_object
from ..._graph.output_layout import layout_of
from ..._modes.grad_mode import mode
from ..._tensor.tensor import Tensor, edge_of, wrap, wrap_alias


class Error(Node):
    """Raises its message when backward reaches it."""

    __slots__ = ("message",)
    op_name = "error"
    message: str

    def name(self) -> str:
        """Return PyTorch's name for it."""
        return "torch::autograd::Error"

    def run(self, F: Any, grad: Any) -> tuple[Any, ...]:
        raise RuntimeError(self.message)


class UndefinedGradBackward(Node):
    """Hands no gradient on, whatever arrives."""

    __slots__ = ()
    op_name = "undefined_grad"

    def name(self) -> str:
        """Return PyTorch's name for it."""
        return "torch::autograd::UndefinedGradBackward"

    def run(self, F: Any, grad: Any) -> tuple[Any, ...]:
        return (None,) * len(self.nodes)


class DelayedError:
    """A function of ``num_inputs`` tensors that returns them, but has no derivative.

    Going backward through what it returns raises a RuntimeError with ``msg``.
    """

    def __init__(self, msg: str | bytes, num_inputs: int) -> None:
        self.message = msg.decode() if isinstance(msg, bytes) else msg
        self.num_inputs = num_inputs

    def __call__(self, *tensors: Tensor | None) -> Any:
        """Return aliases of the tensors."""
        aliases = [None if t is None else wrap_alias(t._data, t) for t in tensors]
        if any(t is not None and t.requires_grad for t in tensors):
            node = new_object(Error)
            node.message = self.message
            _record(node, tensors, aliases)
        return aliases[0] if len(aliases) == 1 else tuple(aliases)


class UndefinedGrad:
    """A function that returns copies of its tensors, which no gradient passes."""

    def __call__(self, *tensors: Tensor) -> Any:
        """Return the copies."""
        copies = [wrap(backend_of(t._data).xp.copy(t._data)) for t in tensors]
        if any(t.requires_grad for t in tensors):
            _record(new_object(UndefinedGradBackward), tensors, copies)
        return copies[0] if len(copies) == 1 else tuple(copies)


def _record(node: Node, inputs: Any, outputs: Any) -> None:
    """Make ``node`` the history of the outputs; None stands for an absent tensor."""
    node.nodes = tuple([None if t is None else edge_of(t) for t in inputs])
    node.numbers = tuple([0 if t is None else t._nr for t in inputs])
    node.saved, node.params = (), ()
    first = next(output for output in outputs if output is not None)
    place(node, first, mode.now)
    if len(outputs) > 1:
        layouts = [layout_of(_NOTHING if t is None else t._data) for t in outputs]
        node.layout, node.several = None, tuple(layouts)
        node.storage_ids = tuple([0 if t is None else t._storage.id for t in outputs])
    for number, output in enumerate(outputs):
        if output is not None:
            output._grad_fn, output._nr, output._needs = node, number, True


_NOTHING = np.empty(0, np.float32)
