"""Make a gradient fit the tensor it belongs to: undo broadcasting and promotion."""

from __future__ import annotations

from typing import Any

from .._common.compiled import compiled
from .._dtypes import DTYPE_OF
from .._graph.output_layout import Layout
from .._modes.grad_mode import mode


class MisfitError(RuntimeError):
    """A gradient has a shape that its tensor's cannot be broadcast to."""

    def __init__(self, got: tuple[int, ...], expected: tuple[int, ...]) -> None:
        super().__init__(
            f"a gradient of shape {list(got)} cannot belong to a tensor of shape "
            f"{list(expected)}"
        )
        self.got, self.expected = list(got), list(expected)


def fit(F: Any, grad: Any, layout: Layout) -> Any:
    """Sum ``grad`` over broadcast dimensions and cast it to the layout's dtype.

    This is the one place where broadcasting is undone, as in PyTorch's engine.
    Raises MisfitError where the gradient's shape cannot come from the layout's.
    """
    if not F.raw:
        return _fit(F, grad, layout)
    lead = grad.ndim - len(layout.shape)
    if lead > 0 and grad.dtype is layout.dtype and grad.shape[lead:] == layout.shape:
        return mode.run(F.sum, grad, tuple(range(lead)))  # a bias, mostly
    return mode.run(_fit, F, grad, layout)


def _fit(F: Any, grad: Any, layout: Layout) -> Any:
    shape = layout.shape
    if tuple(grad.shape) != shape:
        grad = sum_to(F, grad, shape)
    return cast_back(F, grad, DTYPE_OF[layout.dtype])


def cast_back(F: Any, grad: Any, target: Any) -> Any:
    """Return a gradient in the dtype of what was promoted; real parts are a view."""
    dtype = grad.dtype if not F.raw else DTYPE_OF[grad.dtype]
    if dtype is target:
        return grad
    if dtype.is_complex and not target.is_complex:
        grad = F.real(grad)
        if dtype is target.to_complex():
            return grad
    return F._to_copy(grad, target)


def sum_to(F: Any, grad: Any, shape: tuple[int, ...]) -> Any:
    """Sum ``grad`` over the dimensions along which ``shape`` was broadcast."""
    given = tuple(grad.shape)
    lead = len(given) - len(shape)
    fits = lead >= 0 and all(
        n in (1, m) for n, m in zip(shape, given[lead:], strict=True)
    )
    if not fits:
        raise MisfitError(given, shape)
    dims = [
        *range(lead),
        *(i + lead for i, n in enumerate(shape) if n == 1 != given[i + lead]),
    ]
    summed = F.sum(grad, dims, True) if dims else grad
    return F.view(summed, shape) if lead else summed


fit = compiled(fit)
