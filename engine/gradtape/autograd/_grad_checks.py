"""The gradients that ``backward`` and ``grad`` begin with: checked, or made of ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._backend import backend_of
from .._common import messages as _errors
from .._dispatch.declare import FUNCTIONS
from .._dtypes import DTYPE_OF
from .._modes.grad_mode import mode
from .._overrides.torch_dispatch import dispatching
from .._tensor.size import Size
from .._tensor.tensor import Tensor, wrap
from ._graph_edges import GradientEdge


def incoming(
    outputs: Sequence[Any], given: Sequence[Any], batched: bool = False
) -> tuple[Tensor | None, ...]:
    """Return one gradient per output; None only where the output needs none.

    Raises RuntimeError for a gradient of another shape, or complex where the output is
    real, and for a missing one where the output is no single real number.
    """
    found: list[Tensor | None] = []
    for index, (output, gradient) in enumerate(zip(outputs, given, strict=False)):
        if not isinstance(output, (Tensor, GradientEdge)):
            raise AssertionError("Expected output to be a torch.Tensor")
        shape, dtype = _meta_of(output)
        if gradient is None:
            needs = isinstance(output, GradientEdge) or output.requires_grad
            found.append(_ones(output, shape, dtype) if needs else None)
        elif isinstance(gradient, Tensor):
            _check_shape(index, output, shape, gradient, batched)
            _check_complex(index, dtype, gradient)
            found.append(gradient)
        else:
            raise TypeError(
                "gradients can be either Tensors or None, but got "
                + type(gradient).__name__
            )
    return tuple(found)


def shapes_of(output: Any, grad: Tensor, is_grads_batched: bool) -> tuple[Size, Size]:
    """Return the shapes that an output and its gradient, or one of a batch, have."""
    return _meta_of(output)[0], Size(grad.shape[int(is_grads_batched) :])


def _meta_of(output: Any) -> tuple[Size, Any]:
    """Return shape and dtype of a tensor, or of the tensor an edge stands for."""
    if isinstance(output, Tensor):
        return output.shape, output.dtype
    layout = output.node.layouts[output.output_nr]
    return Size(layout.shape), DTYPE_OF[layout.dtype]


def _ones(output: Any, shape: Size, dtype: Any) -> Tensor:
    if shape.numel() != 1:
        raise RuntimeError(_errors.NOT_SCALAR)
    if not dtype.is_floating_point:
        raise RuntimeError(_errors.NOT_REAL_SCALAR.format(dtype=dtype))
    if type(output) in dispatching or mode.now.dispatch:
        return FUNCTIONS["ones_like"](output)
    if isinstance(output, Tensor):
        one = backend_of(output._data).xp.empty_like(output._data)
        one.fill(1)  # in a third of the time that ones_like takes
        return wrap(one)
    return FUNCTIONS["ones"](shape, dtype=dtype)


def _check_shape(
    index: int, output: Any, shape: Size, gradient: Tensor, batched: bool
) -> None:
    first = gradient
    if batched:
        first = gradient[0]  # type: ignore[index] - refuses a single number
    if first.shape == shape:
        return
    if not batched:
        raise RuntimeError(
            _errors.GRAD_SHAPE.format(index=index, grad=first.shape, output=shape)
        )
    if isinstance(output, GradientEdge):
        raise RuntimeError("Batched grads are not supported with GradientEdge")
    raise RuntimeError(
        _errors.BATCHED_SHAPE.format(
            index=index, grad=Size(first.shape[1:]), output=shape
        )
    )


def _check_complex(index: int, dtype: Any, gradient: Tensor) -> None:
    if dtype.is_complex != gradient.dtype.is_complex:
        raise RuntimeError(
            _errors.GRAD_COMPLEX.format(index=index, grad=gradient.dtype, output=dtype)
        )
