"""FunctionCtx: what a user's forward may tell the engine about its call."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ..._backend import backend_of
from ..._dispatch.recording import place
from ..._graph.node import Node, new_object
from ..._graph.output_layout import layout_of
from ..._modes.grad_mode import mode
from ..._tensor.tensor import Tensor, edge_of, wrap, wrap_alias

_SAVED_FOR_FORWARD = (
    "save_for_forward expects all arguments to be tensors; you should save non-tensors "
    "as attributes on ctx."
)
_SHARED_STORAGE = (
    "`mark_shared_storage` is deprecated. Tensors with shared storages are "
    "automatically tracked. Note that calls to `set_()` are not tracked"
)


class FunctionCtx:
    """What ``forward`` may tell the engine about a call, through its ``ctx``."""

    to_save: tuple[Tensor | None, ...] | None
    saved_for_forward: tuple[Tensor | None, ...] | None
    dirty_tensors: tuple[Tensor, ...] | None
    non_differentiable: tuple[Tensor, ...] | None
    materialize_grads: bool

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Keep tensors for ``backward``, which finds them in ``ctx.saved_tensors``.

        Call it once, with inputs, outputs or intermediate results; None is allowed.
        A later in-place write to one of them is noticed. An intermediate result has no
        history of its own, so a second derivative does not see through it.

        >>> import gradtape as torch
        >>> class Square(torch.autograd.Function):
        ...     @staticmethod
        ...     def forward(ctx, x):
        ...         ctx.save_for_backward(x)
        ...         return x * x
        ...     @staticmethod
        ...     def backward(ctx, grad):
        ...         (x,) = ctx.saved_tensors
        ...         return 2 * x * grad
        >>> x = torch.tensor(3.0, requires_grad=True)
        >>> torch.autograd.grad(Square.apply(x), x)
        (tensor(6.),)
        """
        self.to_save = tensors

    def save_for_forward(self, *tensors: Tensor | None) -> None:
        """Keep tensors for ``jvp``, which finds them in ``ctx.saved_tensors``.

        Raises AssertionError for what is neither a tensor nor None.
        """
        for tensor in tensors:
            if tensor is not None and not isinstance(tensor, Tensor):
                raise AssertionError(_SAVED_FOR_FORWARD)
        self.saved_for_forward = tensors

    def mark_dirty(self, *args: Tensor) -> None:
        """Say which inputs ``forward`` wrote to; each of them must be returned.

        >>> import gradtape as torch
        >>> class Double(torch.autograd.Function):
        ...     @staticmethod
        ...     def forward(ctx, x):
        ...         ctx.mark_dirty(x)
        ...         return x.mul_(2)
        ...     @staticmethod
        ...     def backward(ctx, grad):
        ...         return 2 * grad
        >>> x = torch.ones(2, requires_grad=True)
        >>> Double.apply(x.clone())
        tensor([2., 2.], grad_fn=<DoubleBackward>)
        """
        self.dirty_tensors = args

    def mark_shared_storage(self, *pairs: tuple[Tensor, Tensor]) -> None:
        """Do nothing: shared memory is noticed without being told."""
        warnings.warn(_SHARED_STORAGE, FutureWarning, stacklevel=2)

    def mark_non_differentiable(self, *args: Tensor) -> None:
        """Say which outputs carry no gradient; ``backward`` gets zeros for them."""
        self.non_differentiable = args

    def set_materialize_grads(self, value: bool) -> None:
        """Choose what ``backward`` gets where no gradient arrived: zeros, or None."""
        self.materialize_grads = value


FunctionCtx.__module__ = "gradtape.autograd.function"


# ---- nodes that stop a gradient: one with an error of its own, one without a word ----


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
