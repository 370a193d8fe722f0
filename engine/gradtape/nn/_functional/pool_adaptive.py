"""Adaptive pooling as functions."""

from __future__ import annotations

from math import prod
from typing import Any

from ..._tensor.tensor import Tensor
from ...ops._support.arguments import check_tensor, is_integer
from ...ops._support.memory_formats import contiguous_format, suggested
from ...ops._support.signed import numbered
from ...ops.nn import pool as ops
from ._pool_checks import check_kind

__all__ = ["adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d"]
__all__ += ["adaptive_max_pool1d", "adaptive_max_pool2d", "adaptive_max_pool3d"]

# ---- adaptive ----


def _targets(dims: int, input: Tensor, output_size: Any, name: str) -> tuple[int, ...]:
    """Read an output size, where None stands for the input's own."""
    if dims == 1:
        check_tensor(input, name)
    one = is_integer(output_size)
    given = [output_size] * dims if output_size is None or one else list(output_size)
    if dims > 1 and input.dim() <= len(given) and not one:
        raise ValueError(f"Input dimension should be at least {len(given) + 1}")
    if len(given) != dims:
        raise _count_error(dims, name, len(given))
    if any(n is not None and n < 0 for n in given):
        raise _negative(dims, name, input, given)
    if dims > 1 and "avg" in name and all(n == 1 for n in given):
        return (1,) * dims  # the mean, of any rank
    _check_input(dims, name, input)
    spatial = input.shape[-dims:]
    found = tuple(
        n if g is None else int(g) for g, n in zip(given, spatial, strict=True)
    )
    _check_memory(dims, name, (*input.shape[:-dims], *found))
    if "max" in name or any(n != 1 for n in found):
        check_kind(input, name.replace("1d", "2d") + "_cpu" * (dims == 3), "iubc")
    return found


def _check_memory(dims: int, name: str, sizes: tuple[int, ...]) -> None:
    if prod(sizes) < 1 << 63:
        return
    if "max" not in name:
        raise RuntimeError("numel: integer multiplication overflow")
    shown = [*sizes[:-1], 1, sizes[-1]] if dims == 1 else list(sizes)
    raise RuntimeError(f"Storage size calculation overflowed with sizes={shown}")


def _check_input(dims: int, name: str, input: Tensor) -> None:
    shape = list(input.shape)
    if input.dim() not in (dims + 1, dims + 2):
        if dims == 1:
            raise RuntimeError(
                f"Expected 2 to 3 dimensions, but got {input.dim()}-dimensional tensor "
                f"for argument #1 'self' (while checking arguments for {name})"
            )
        colon = ":" if "max" in name else ""
        raise RuntimeError(
            f"{name}(): Expected {dims + 1}D or {dims + 2}D tensor, but got{colon} "
            f"{shape}"
        )
    if name == "adaptive_avg_pool1d":  # computed as if it had a height of 1
        dims, name, shape = 2, "adaptive_avg_pool2d", [*shape[:-1], 1, shape[-1]]
    first = len(shape) - dims - ("max" in name)
    for dim in range(max(first, 1) if "max" in name else first, len(shape)):
        if not shape[dim]:
            raise RuntimeError(
                f"{name}(): Expected input to have non-zero size for non-batch "
                f"dimensions, but input has sizes {shape} with dimension {dim} being "
                "empty"
            )


def _count_error(dims: int, name: str, count: int) -> RuntimeError:
    if dims == 1:
        return RuntimeError(
            f"{name}() argument 'output_size' should contain one int (got {count})"
        )
    if "max" in name:
        return RuntimeError(
            f"{name}(): internal error: output_size.size() must be {dims}"
        )
    return RuntimeError(f"{name}: output_size must be {dims}")


def _negative(dims: int, name: str, input: Tensor, given: list[Any]) -> RuntimeError:
    wanted = [1, *given] if dims == 1 else given
    if "max" in name:
        shape = [*input.shape[:-dims], *wanted]
        low = min(n for n in wanted)
        return RuntimeError(
            f"Trying to create tensor with negative dimension {low}: {shape}"
        )
    shown = ", ".join(map(str, wanted[:2]))
    if dims == 3:  # PyTorch forgets a space
        shown += f",{wanted[2]}"
    return RuntimeError(
        f"{name.replace('1d', '2d')}: elements of output_size must be greater than or "
        f"equal to 0 but received {{{shown}}}"
    )


def adaptive_avg_pool1d(input: Tensor, output_size: Any) -> Tensor:
    """Return means of as many cells as asked for, whatever the input's length."""
    (size,) = _targets(1, input, output_size, "adaptive_avg_pool1d")
    return adaptive_avg_pool2d(input.unsqueeze(-2), (1, size)).squeeze(-2)


def _means(input: Tensor, dims: tuple[int, ...]) -> Tensor:
    """Return each channel's mean, which keeps channels innermost."""
    found = input.mean(dims, keepdim=True)
    if input.dim() != len(dims) + 2:
        return found
    if suggested(input.shape, input.stride()) is contiguous_format:
        return found
    count = found.shape[1]
    strides = (count, 1, *(count,) * len(dims))
    return found.as_strided_(found.shape, strides)


def _adaptive_avg_pool(dims: int):
    def adaptive_avg_pool(input: Tensor, output_size: Any) -> Tensor:
        """Return means of as many cells as asked for, whatever the input's size."""
        sizes = _targets(dims, input, output_size, f"adaptive_avg_pool{dims}d")
        if sizes == (1,) * dims:
            return _means(input, tuple(range(-1, -dims - 1, -1)))
        op = ops.adaptive_avg_pool2d if dims == 2 else ops.adaptive_avg_pool3d
        return op(input, sizes)

    return numbered(adaptive_avg_pool, dims)


adaptive_avg_pool2d, adaptive_avg_pool3d = map(_adaptive_avg_pool, (2, 3))


def _adaptive_max_pool(dims: int):
    def adaptive_max_pool(
        input: Tensor, output_size: Any, return_indices: bool = False
    ) -> Any:
        """Return the largest values of as many cells as asked for."""
        sizes = _targets(dims, input, output_size, f"adaptive_max_pool{dims}d")
        if dims == 1:
            found = ops.adaptive_max_pool2d(input.unsqueeze(-2), (1, *sizes))
            found = tuple(each.squeeze(-2) for each in found)
        else:
            op = ops.adaptive_max_pool2d if dims == 2 else ops.adaptive_max_pool3d
            found = op(input, sizes)
        return found if return_indices else found[0]

    return numbered(adaptive_max_pool, dims)


adaptive_max_pool1d, adaptive_max_pool2d, adaptive_max_pool3d = map(
    _adaptive_max_pool, (1, 2, 3)
)
