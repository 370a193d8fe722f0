"""Nodes that refuse to be differentiated, with a sentence of their own."""

from __future__ import annotations

from typing import Any

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
        present = [t for t in tensors if t is not None]
        if mode.grad and any(t.requires_grad for t in present):
            self._attach(aliases, present)
        return aliases[0] if len(aliases) == 1 else tuple(aliases)

    def _attach(self, aliases: list[Tensor | None], inputs: list[Tensor]) -> None:
        node = new_object(Error)
        node.message = self.message
        node.nodes = tuple(edge_of(t) for t in inputs)
        node.numbers = tuple(t._nr for t in inputs)
        node.saved, node.params = (), ()
        outputs = [t for t in aliases if t is not None]
        finish(node, outputs[0], 3)
        if len(outputs) > 1:
            node.layout, node.several = None, tuple(layout_of(t._data) for t in outputs)
            node.storage_ids = tuple(t._storage.id for t in outputs)
        for number, output in enumerate(outputs):
            output._grad_fn, output._nr, output._needs = node, number, True
