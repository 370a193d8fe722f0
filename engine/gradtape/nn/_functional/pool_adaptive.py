"""Adaptive pooling as functions."""

from __future__ import annotations

from typing import Any

from ..._tensor import Tensor
from ...ops import pool as ops
from ...ops import pool_average as averages

# ---- adaptive ----


def _targets(dims: int, input: Tensor, output_size: Any, name: str) -> tuple[int, ...]:
    """Read an output size, where None stands for the input's own."""
    if input.dim() not in (dims + 1, dims + 2):
        raise RuntimeError(
            f"{name}(): Expected {dims + 1}D or {dims + 2}D tensor, but got "
            f"{list(input.shape)}"
        )
    given = (
        [output_size] * dims
        if output_size is None or isinstance(output_size, int)
        else list(output_size)
    )
    spatial = input.shape[-dims:]
    return tuple(
        n if g is None else int(g) for g, n in zip(given, spatial, strict=True)
    )


def adaptive_avg_pool1d(input: Tensor, output_size: Any) -> Tensor:
    """Return means of as many cells as asked for, whatever the input's length."""
    (size,) = _targets(1, input, output_size, "adaptive_avg_pool1d")
    return adaptive_avg_pool2d(input.unsqueeze(-2), (1, size)).squeeze(-2)


def adaptive_avg_pool2d(input: Tensor, output_size: Any) -> Tensor:
    """Return means of as many cells as asked for, whatever the input's size."""
    sizes = _targets(2, input, output_size, "adaptive_avg_pool2d")
    if sizes == (1, 1):
        return input.mean((-1, -2), keepdim=True)
    return averages.adaptive_avg_pool2d(input, sizes)


def adaptive_avg_pool3d(input: Tensor, output_size: Any) -> Tensor:
    """Return means of as many cells as asked for, whatever the input's size."""
    sizes = _targets(3, input, output_size, "adaptive_avg_pool3d")
    if sizes == (1, 1, 1):
        return input.mean((-1, -2, -3), keepdim=True)
    return averages.adaptive_avg_pool3d(input, sizes)


def adaptive_max_pool1d(
    input: Tensor, output_size: Any, return_indices: bool = False
) -> Any:
    """Return the largest values of as many cells as asked for."""
    (size,) = _targets(1, input, output_size, "adaptive_max_pool1d")
    values, indices = ops.adaptive_max_pool2d(input.unsqueeze(-2), (1, size))
    values, indices = values.squeeze(-2), indices.squeeze(-2)
    return (values, indices) if return_indices else values


def adaptive_max_pool2d(
    input: Tensor, output_size: Any, return_indices: bool = False
) -> Any:
    """Return the largest values of as many cells as asked for."""
    sizes = _targets(2, input, output_size, "adaptive_max_pool2d")
    found = ops.adaptive_max_pool2d(input, sizes)
    return found if return_indices else found[0]


def adaptive_max_pool3d(
    input: Tensor, output_size: Any, return_indices: bool = False
) -> Any:
    """Return the largest values of as many cells as asked for."""
    sizes = _targets(3, input, output_size, "adaptive_max_pool3d")
    found = ops.adaptive_max_pool3d(input, sizes)
    return found if return_indices else found[0]
