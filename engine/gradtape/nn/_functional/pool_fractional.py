"""Fractional max pooling as functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..._dispatch.declare import FUNCTIONS
from ..._tensor.tensor import Tensor
from ...ops.nn import pool as ops

__all__ = ["fractional_max_pool2d", "fractional_max_pool3d"]

_COUNTS = {2: "Ints", 3: "three Ints"}


def _pool(
    dims: int,
    function: Callable[..., Any],
    input: Tensor,
    kernel_size: Any,
    output_size: Any,
    output_ratio: Any,
    samples: Tensor | None,
) -> tuple[Tensor, Tensor]:
    name = f"fractional_max_pool{dims}d"
    if output_size is None and output_ratio is None:
        raise ValueError(
            f"{name} requires specifying either an output_size or an output_ratio"
        )
    if output_size is None:
        ratios = _each(output_ratio, dims)
        if len(ratios) > dims:
            raise ValueError(
                f"{name} requires output_ratio to either be a single Int or tuple of "
                "Ints."
            )
        sizes = input.shape[-dims:]
        output_size = [int(n * r) for n, r in zip(sizes, ratios, strict=True)]
    kernel, outputs = _each(kernel_size, dims), _each(output_size, dims)
    if samples is None:
        batch = 1 if input.dim() == dims + 1 else input.size(0)
        shape = (batch, input.size(-dims - 1), dims)
        samples = FUNCTIONS["rand"](*shape, dtype=input.dtype, device=input.device)
    assert samples is not None
    for what, given in (("kernel_size", kernel), ("output_size", outputs)):
        if len(given) != dims:
            raise RuntimeError(
                f"{name}: {what} must either be a single Int or tuple of "
                f"{_COUNTS[dims]}"
            )
    _check(dims, input, samples)
    batch = input.shape[0] if input.dim() == dims + 2 else 1
    return function(input, kernel, outputs, samples[:batch])


def _check(dims: int, input: Tensor, samples: Tensor) -> None:
    """Refuse empty planes, and random samples of another shape than the input's."""
    shape, name = list(input.shape), f"fractional_max_pool{dims}d"
    for dim in range(len(shape) - dims - 1, len(shape)):
        if not shape[dim]:
            raise RuntimeError(
                f"{name}{'_out' * (dims == 3)}(): Expected input to have non-zero size "
                f"for non-batch dimensions, but got{shape} with dimension {dim} being "
                "empty."
            )
    if samples.dim() != 3:
        raise RuntimeError(
            f"Expect _random_samples to have 3 dimensions, got {samples.dim()}"
        )
    if samples.size(0) < (shape[0] if len(shape) == dims + 2 else 1):
        raise RuntimeError(
            "Expect _random_samples.size(0) no less then input batch size."
        )
    if samples.size(1) != shape[-dims - 1]:
        raise RuntimeError(
            "Expect _random_samples.size(1) equals to input channel size."
        )


def _each(value: Any, dims: int) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, (tuple, list)) else (value,) * dims


def fractional_max_pool2d(
    input: Tensor,
    kernel_size: Any,
    output_size: Any = None,
    output_ratio: Any = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> Any:
    """Return the largest values of windows that begin at random places.

    Either ``output_size`` or ``output_ratio`` says how many windows there are; with
    ``return_indices`` also where in its plane each value was.
    """
    how = (kernel_size, output_size, output_ratio, _random_samples)
    found = _pool(2, ops.fractional_max_pool2d, input, *how)
    return found if return_indices else found[0]


def fractional_max_pool3d(
    input: Tensor,
    kernel_size: Any,
    output_size: Any = None,
    output_ratio: Any = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> Any:
    """Return the largest values of windows in volumes; see fractional_max_pool2d()."""
    how = (kernel_size, output_size, output_ratio, _random_samples)
    found = _pool(3, ops.fractional_max_pool3d, input, *how)
    return found if return_indices else found[0]
