"""Nodes and gradient edges: places in the graph that a gradient passes."""

from __future__ import annotations

import abc
from collections.abc import Callable, Iterable
from typing import Any, Final, NamedTuple

from .._dispatch.inplace import note_write
from .._graph.node import Node as _Node
from .._graph.node import accumulator_of
from .._tensor.tensor import Tensor

EDGE_NO_GRAD: Final = (
    "It is not possible to get the gradient edge for a Tensor that does not require "
    "gradients"
)


class Node(abc.ABC):
    """What every ``grad_fn`` is an instance of.

    The nodes of the engine are so without inheriting from this class, which only says
    what they offer.

    >>> import gradtape as torch
    >>> x = torch.ones(2, requires_grad=True)
    >>> isinstance((x * 2).grad_fn, torch.autograd.graph.Node)
    True
    """

    @abc.abstractmethod
    def name(self) -> str:
        """Return the name of the function: "MulBackward0"."""

    @property
    @abc.abstractmethod
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        """Where the gradients go: (node, which of its outputs) per input."""

    @abc.abstractmethod
    def metadata(self) -> dict[Any, Any]:
        """A dict for the user's own notes."""

    @abc.abstractmethod
    def _sequence_nr(self) -> int: ...

    @property
    @abc.abstractmethod
    def _input_metadata(self) -> list[Any]: ...

    @abc.abstractmethod
    def _register_hook_dict(self, tensor: Tensor) -> None: ...

    @abc.abstractmethod
    def register_hook(self, fn: Callable[..., Any]) -> Any:
        """Call ``fn(grad_inputs, grad_outputs)`` after the node ran."""

    @abc.abstractmethod
    def register_prehook(self, fn: Callable[..., Any]) -> Any:
        """Call ``fn(grad_outputs)`` before the node runs."""

    @classmethod
    def __subclasshook__(cls, subclass: type) -> Any:
        return True if cls is Node and issubclass(subclass, _Node) else NotImplemented


class GradientEdge(NamedTuple):
    """One output of a node: a place that ``autograd.grad`` can differentiate by."""

    node: Any
    output_nr: int
    ownership_token: Any = None


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """Return the edge on which the gradient of ``tensor`` arrives.

    ``autograd.grad(loss, get_gradient_edge(x))`` is ``autograd.grad(loss, x)``, without
    keeping ``x``. Raises RuntimeError for a tensor that needs no gradient.

    >>> import gradtape as torch
    >>> x = torch.ones(2, requires_grad=True)
    >>> torch.autograd.graph.get_gradient_edge(x * 2).node.name()
    'MulBackward0'
    """
    if not tensor.requires_grad:
        raise RuntimeError(EDGE_NO_GRAD)
    return GradientEdge(node_of(tensor), tensor.output_nr)


def node_of(tensor: Tensor | GradientEdge) -> Any:
    """Return the node a tensor's gradient goes to."""
    if isinstance(tensor, GradientEdge):
        return tensor.node
    node = tensor.grad_fn
    if node is None and tensor.requires_grad:
        node = accumulator_of(tensor)
    if node is None:
        raise AssertionError("Expected gradient function to be set")
    return node


def increment_version(tensor: Tensor | Iterable[Tensor]) -> None:
    """Count a write to the memory of a tensor, or of several, that the engine missed.

    For whoever writes to the memory by other means. Inference tensors have no counter
    and are passed over. Raises RuntimeError for anything else.

    >>> import gradtape as torch
    >>> x = torch.zeros(2)
    >>> torch.autograd.graph.increment_version(x)
    >>> x._version
    1
    """
    tensors = [tensor] if isinstance(tensor, Tensor) else tensor
    if not isinstance(tensors, Iterable):
        raise RuntimeError("increment_version expect a Iterable[Tensor] as input")
    for each in tensors:
        if not isinstance(each, Tensor):
            raise RuntimeError(
                "increment_version expects each element of the iterable to be a tensor"
            )
        if not each._storage.inference:
            note_write(each, "increment_version")
