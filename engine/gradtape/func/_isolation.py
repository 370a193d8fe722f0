"""What keeps derivatives of one transform apart from those of another.

A transform differentiates with respect to its own copies of the inputs: views of
inputs that somebody outside differentiates too, fresh leaves otherwise. What leaves it
keeps its history only where that leads to something outside.
"""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Generator, Iterable, Sequence
from typing import Any

from .._common import messages as _errors
from .._dispatch.declare import tensor_ops
from .._graph.node import Node, accumulator_of
from .._modes.grad_mode import enable_grad, inference_mode, is_grad_enabled, mode
from .._tensor.subclasses import dispatching
from .._tensor.tensor import Tensor, edge_of, wrap_alias
from ..autograd import grad as autograd_grad
from ..autograd.graph import disable_saved_tensors_hooks
from ..utils._pytree import tree_map
from ._arguments import transforming

_NO_HOOKS = (
    "torch.func.{grad, vjp, jacrev, hessian} don't yet support saved tensor hooks. "
    "Please open an issue with your use case."
)


class _Running:
    """Whether a transform is still under way."""

    on = True


_private: weakref.WeakKeyDictionary[Node, _Running] = weakref.WeakKeyDictionary()
"""The leaves that transforms made for themselves."""


class Reverse:
    """One transform under way: its own copies of the inputs, and what is outside."""

    def __init__(self) -> None:
        self.records = is_grad_enabled()  # whether anybody outside differentiates
        self.leaves: set[Node] = set()
        self.running = _Running()

    def own(self, leaf: Tensor) -> None:
        """Make a leaf one that nobody outside differentiates by."""
        if leaf._data.dtype.kind not in "fcV":  # PyTorch calls requires_grad_() here
            raise RuntimeError(_errors.NOT_DIFFERENTIABLE_DTYPE)
        leaf.requires_grad = True
        node = accumulator_of(leaf)
        self.leaves.add(node)
        _private[node] = self.running

    def enter(self, tree: Any) -> Any:
        """Return the tree with this transform's own copies of its tensors."""
        return tree_map(self._enter, tree)

    def _enter(self, value: Any) -> Tensor:
        if not isinstance(value, Tensor):
            raise ValueError(
                f"Thing passed to transform API must be Tensor, got {type(value)}"
            )
        if value.requires_grad:
            return tensor_ops.view(value, value._data.shape)
        copy = without_history(value)
        self.own(copy)
        return copy

    def leave(self, tree: Any) -> Any:
        """Return the tree with tensors that know only of what is outside."""
        return tree_map(self._leave, tree)

    def _leave(self, value: Any) -> Any:
        if not isinstance(value, Tensor):
            raise RuntimeError(f"Expected tensors, got unsupported type {type(value)}")
        return self.lifted(value, self.records)

    def lifted(self, value: Tensor, records: bool) -> Tensor:
        """Return a tensor without its history, unless that is of use outside."""
        if not value.requires_grad or (records and self.leads_outside([value])):
            return value
        return without_history(value)

    def leads_outside(self, tensors: Iterable[Tensor]) -> bool:
        """Tell whether someone outside differentiates what these depend on.

        That is a leaf of nobody's, or one of a transform that this one runs inside of.
        """
        stack = [node for t in tensors if (node := edge_of(t)) is not None]
        seen: set[Node] = set()
        while stack:
            node = stack.pop()
            if node.accumulates and node not in self.leaves:
                owner = _private.get(node)
                if owner is None or owner.on:
                    return True
            if node not in seen:
                seen.add(node)
                stack += [n for n in node.nodes if n is not None]
        return False


def without_history(tensor: Tensor) -> Tensor:
    """Return an alias that no gradient flows through; tangents stay."""
    own = type(tensor) in dispatching
    alias: Tensor = tensor.detach() if own else wrap_alias(tensor._data, tensor)  # type: ignore[attr-defined]
    if mode.now.duals is not None:
        mode.now.duals.shared(tensor, alias)
    if mode.now.watch is not None:
        mode.now.watch.follow(tensor, alias)
    return alias


@contextlib.contextmanager
def recording(level: Reverse) -> Generator[None]:
    """Record what a transformed function does, whatever the mode outside."""
    with contextlib.ExitStack() as stack:
        stack.enter_context(disable_saved_tensors_hooks(_NO_HOOKS))
        if mode.now.inference:
            stack.enter_context(inference_mode(False))
        stack.enter_context(enable_grad())
        stack.enter_context(transforming())
        try:
            yield
        finally:
            level.running.on = False


def gradients(
    outputs: Sequence[Tensor],
    inputs: Sequence[Tensor],
    cotangents: Sequence[Tensor] | None,
    *,
    keep: bool,
    create_graph: bool,
) -> list[Tensor]:
    """Return the gradients of all inputs, zeros for those that play no part."""
    at = [i for i, output in enumerate(outputs) if output.requires_grad]
    found: Sequence[Tensor | None] = [None] * len(inputs)
    if at and inputs:
        found = autograd_grad(
            [outputs[i] for i in at],
            inputs,
            None if cotangents is None else [cotangents[i] for i in at],
            retain_graph=keep,
            create_graph=create_graph,
            allow_unused=True,
        )
    all_found = [
        tensor_ops.zeros_like(without_history(x)) if g is None else g
        for g, x in zip(found, inputs, strict=True)
    ]
    if mode.now.watch is not None:
        for gradient, x in zip(all_found, inputs, strict=True):
            mode.now.watch.follow(x, gradient)
    return all_found
