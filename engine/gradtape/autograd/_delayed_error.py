"""Nodes that refuse to be differentiated, with a sentence of their own."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._apply import finish
from .._mode import mode
from .._node import Node, layout_of, new_object
from .._tensor import Tensor, edge_of, wrap_alias


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


class DelayedError:
    """A function of ``num_inputs`` tensors that returns them, but has no derivative."""

    def __init__(self, msg: str | bytes, num_inputs: int) -> None:
        self.message = msg.decode() if isinstance(msg, bytes) else msg
        self.num_inputs = num_inputs

    def __call__(self, *tensors: Tensor | None) -> Any:
        """Return aliases of the tensors; a backward through them raises."""
        aliases = [None if t is None else wrap_alias(t._data, t) for t in tensors]
        if mode.grad and any(t is not None and t.requires_grad for t in tensors):
            self._attach(aliases, tensors)
        return aliases[0] if len(aliases) == 1 else tuple(aliases)

    def _attach(
        self, aliases: list[Tensor | None], inputs: tuple[Tensor | None, ...]
    ) -> None:
        node = new_object(Error)
        node.message = self.message
        node.nodes = tuple([None if t is None else edge_of(t) for t in inputs])
        node.numbers = tuple([0 if t is None else t._nr for t in inputs])
        node.saved, node.params = (), ()
        first = next(alias for alias in aliases if alias is not None)
        finish(node, first, 3)
        layouts = [layout_of(_NOTHING if t is None else t._data) for t in aliases]
        if len(layouts) > 1:
            node.layout, node.several = None, tuple(layouts)
            node.storage_ids = tuple(
                [0 if t is None else t._storage.id for t in aliases]
            )
        for number, alias in enumerate(aliases):
            if alias is not None:
                alias._grad_fn, alias._nr, alias._needs = node, number, True


_NOTHING = np.empty(0, np.float32)
