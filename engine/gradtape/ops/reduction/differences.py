"""Differences of neighbours, and slopes estimated from them: diff, gradient."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..._dispatch.declare import FUNCTIONS, method
from ..._tensor.tensor import Tensor
from .._support.arguments import check_tensor, is_integer, wrap_dim, wrap_dims
from .._support.out_argument import PLAIN, into
from .._support.reduction import numpy_names


@method(function=True)
@numpy_names
def diff(
    input: Tensor,
    n: int = 1,
    dim: int = -1,
    prepend: Tensor | None = None,
    append: Tensor | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Return the n-th differences between neighbours along a dimension.

    Raises RuntimeError for a 0-d tensor, or a negative ``n``.

    >>> import gradtape as torch
    >>> torch.diff(torch.tensor([1, 4, 9, 16]))
    tensor([3, 5, 7])
    """
    check_tensor(input, "diff")
    if input.dim() == 0:
        raise RuntimeError("diff expects input to be at least one-dimensional")
    if n < 0:
        raise RuntimeError(f"order must be non-negative but got {n}")
    axis = wrap_dim(dim, input.dim())
    for edge in (prepend, append):
        _check_edge(input, edge, axis)
    given = [t for t in (input, prepend, append) if t is not None]
    return into(
        "sub" if n else "diff",
        out,
        given,
        lambda: _differences(input, n, axis, prepend, append),
        PLAIN if n else "expected scalar_type {result} but found {out}",
    )


def _check_edge(input: Tensor, edge: Tensor | None, axis: int) -> None:
    """Refuse what cannot stand before or behind the input along a dimension."""
    if edge is None:
        return
    if edge.dim() != input.dim():
        raise RuntimeError(
            "diff expects prepend or append to be the same dimension as input"
        )
    for d in range(input.dim()):
        if d != axis and input.size(d) != edge.size(d):
            raise RuntimeError(
                "diff expects the shape of tensor to prepend or append to match that of"
                f" input except along the differencing dimension; input.size({d}) = "
                f"{input.size(d)}, but got tensor.size({d}) = {edge.size(d)}"
            )


def _differences(
    input: Tensor, n: int, axis: int, prepend: Tensor | None, append: Tensor | None
) -> Tensor:
    if n == 0:
        return FUNCTIONS["zeros_like"](input).copy_(input)
    parts = [t for t in (prepend, input, append) if t is not None]
    found = FUNCTIONS["cat"](parts, axis) if len(parts) > 1 else input
    for _ in range(min(n, found.shape[axis])):
        size = found.shape[axis] - 1
        upper, lower = found.narrow(axis, 1, size), found.narrow(axis, 0, size)
        if found._data.dtype.kind == "b":
            found = upper.logical_xor(lower)
        else:
            found = upper - lower
    return found


@method(function=True)
def gradient(
    input: Tensor, *, spacing: Any = None, dim: Any = None, edge_order: int = 1
) -> tuple[Tensor, ...]:
    """Estimate slopes along each dimension by central differences.

    ``spacing`` says how far samples are apart: one number, or per dimension a number
    or the coordinates of the samples. ``edge_order`` 1 or 2 says how exact the
    estimates at both ends are. Raises RuntimeError where sizes do not go together.

    >>> import gradtape as torch
    >>> torch.gradient(torch.tensor([1.0, 4.0, 9.0]))
    (tensor([3., 4., 5.]),)
    """
    check_tensor(input, "gradient")
    if str(input.dtype) == "torch.uint8":
        raise RuntimeError("torch.gradient does not support uint8 input.")
    if edge_order not in (1, 2):
        raise RuntimeError(
            "torch.gradient only supports edge_order=1 and edge_order=2."
        )
    steps = _spacing(input, spacing, dim)
    every = range(input.dim()) if dim is None else dim
    dims = wrap_dims(every, input.dim())
    for each in dims:
        if input.shape[each] < edge_order + 1:
            raise RuntimeError(
                "torch.gradient expected each dimension size to be at least "
                "edge_order+1"
            )
    each_step = steps if isinstance(steps, list) else [steps] * len(dims)
    return tuple(
        _slope(input, each, step, edge_order)
        for each, step in zip(dims, each_step, strict=True)
    )


def _spacing(input: Tensor, spacing: Any, dim: Any) -> Any:
    """Return one step for all dimensions, or a list with one, or places, for each."""
    if spacing is None:
        return 1
    if not isinstance(spacing, Sequence):
        return spacing.item() if isinstance(spacing, Tensor) else spacing
    if dim is None and len(spacing) != input.dim():
        raise RuntimeError(
            "torch.gradient expected spacing to be unspecified, a scalar, or a list of "
            f"length equal to 'self.dim() = {input.dim()}', since dim argument was not "
            f"given, but got a list of length {len(spacing)}"
        )
    count = 1 if is_integer(dim) else input.dim() if dim is None else len(dim)
    if len(spacing) != count:
        raise RuntimeError(
            "torch.gradient expected spacing to be unspecified, a scalar or it's "
            "spacing and dim arguments to have the same length, but got a spacing "
            f"argument of length {len(spacing)} and a dim argument of length {count}."
        )
    for each in spacing:
        if isinstance(each, Tensor) and each.dim() != 1:
            raise RuntimeError(
                "torch.gradient expected each element of spacing to have one "
                f"dimension, but got an element with {each.dim()} dimensions!"
            )
    return list(spacing)


def _slope(input: Tensor, dim: int, step: Any, edge_order: int) -> Tensor:
    """Return the slope along one dimension. Formulas: numpy.gradient's notes."""
    size = input.shape[dim]

    def at(start: int, length: int) -> Tensor:
        return input.narrow(dim, start, length)

    ends = [[at(i, 1) for i in range(edge_order + 1)]]
    ends.append([at(size - 1 - i, 1) for i in range(edge_order + 1)])
    if not isinstance(step, Tensor):
        inner = (at(2, size - 2) - at(0, size - 2)) / (2 * step) if size > 2 else None
        gaps: Any = [[step, step], [step, step]]
    else:
        shape = (size - 1, *(1,) * (input.dim() - 1 - dim))
        gap = (step[1:] - step[:-1]).reshape(shape)
        inner = _uneven(at, gap, size) if size > 2 else None
        gaps = [[gap[0], gap[min(1, size - 2)]], [gap[-1], gap[-min(2, size - 1)]]]
    first = _at_end(ends[0], *gaps[0])
    last = -_at_end(ends[1], *gaps[1])
    parts = [first, last] if inner is None else [first, inner, last]
    return FUNCTIONS["cat"](parts, dim)


def _uneven(at: Any, gap: Tensor, size: int) -> Tensor:
    before, after = gap[:-1], gap[1:]
    both = before + after
    return (
        at(0, size - 2) * (-after / (before * both))
        + at(1, size - 2) * ((after - before) / (before * after))
        + at(2, size - 2) * (before / (after * both))
    )


def _at_end(values: list[Tensor], near: Any, far: Any) -> Tensor:
    """Return the slope at the first of some neighbours, into their direction."""
    if len(values) == 2:
        return (values[1] - values[0]) / near
    both = near + far
    return (
        values[0] * (-(near + both) / (near * both))
        + values[1] * (both / (near * far))
        + values[2] * (-near / (far * both))
    )
