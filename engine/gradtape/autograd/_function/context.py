"""FunctionCtx: what a user's forward may tell the engine about its call."""

from __future__ import annotations

import warnings

from ..._tensor.tensor import Tensor

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
