"""Sampling at the places that a grid names, and grids of affine maps."""

from __future__ import annotations

from typing import Any

from ..._dispatch.declare import FUNCTIONS, Array, op, public
from ..._dtypes import DTYPE_OF
from ..._tensor.tensor import Tensor
from .._kernels.bitwise_select import check_floating
from .._kernels.grid_sample import BICUBIC, sampled, sampled_back, sampled_twice
from .._support.matrix_product import scalar_name
from .._support.operands import UNDERIVED, hidden_op, underived
from ..creation.ranges import between

Sizes = tuple[int, ...]


def _derivative(
    F: Any,
    grad: Any,
    input: Any,
    grid: Any,
    interpolation_mode: int,
    padding_mode: int,
    align_corners: bool,
    needs: Any,
) -> Any:
    how = (interpolation_mode, padding_mode, align_corners, tuple(needs))
    found = F._grid_sampler_backward(grad, input, grid, *how)
    return tuple(g if need else None for g, need in zip(found, needs, strict=True))


def _second_derivative(
    F: Any,
    grad: Any,
    grad_output: Any,
    input: Any,
    grid: Any,
    interpolation_mode: int,
    padding_mode: int,
    align_corners: bool,
) -> Any:
    into = [
        F.zeros_like(each) if g is None else g
        for g, each in zip(grad, (input, grid), strict=True)
    ]
    how = (interpolation_mode, padding_mode, align_corners)
    return F._grid_sampler_backward_backward(*into, grad_output, input, grid, *how)


@hidden_op(
    underived(
        "grid_sampler_backward_backward",
        *("into_input", "into_grid", "grad_output", "input", "grid"),
    ),
    node=UNDERIVED,
    outputs=3,
    differentiable=(0, 1, 2),
)
def _grid_sampler_backward_backward(
    xp: Any,
    into_input: Array,
    into_grid: Array,
    grad_output: Array,
    input: Array,
    grid: Array,
    interpolation_mode: int,
    padding_mode: int,
    align_corners: bool,
) -> Any:
    how = (interpolation_mode, padding_mode, align_corners)
    return sampled_twice(xp, into_input, into_grid, grad_output, input, grid, *how)


@hidden_op(
    {("grad_output", "input", "grid"): _second_derivative},
    node="GridSampler2DBackwardBackward0",
    outputs=2,
    differentiable=(0, 1),
)
def _grid_sampler_backward(
    xp: Any,
    grad_output: Array,
    input: Array,
    grid: Array,
    interpolation_mode: int,
    padding_mode: int,
    align_corners: bool,
    needs: tuple[bool, bool],
) -> Any:
    """Return the gradients of input and grid, zeros for what is not needed."""
    how = (interpolation_mode, padding_mode, align_corners, needs)
    into_input, into_grid = sampled_back(xp, grad_output, input, grid, *how)
    return (
        xp.zeros(input.shape, input.dtype) if into_input is None else into_input,
        xp.zeros(grid.shape, grid.dtype) if into_grid is None else into_grid,
    )


@op(
    {("input", "grid"): _derivative},
    node="GridSampler2DBackward0",
    method=False,
)
def grid_sampler_2d(
    xp: Any,
    input: Array,
    grid: Array,
    interpolation_mode: int,
    padding_mode: int,
    align_corners: bool,
) -> Any:
    """Sample images, (N, C, H, W), at a grid, (N, out H, out W, 2)."""
    check_floating(input, "grid_sampler_2d_cpu_kernel_impl")
    _check(input, grid)
    _same_type(input, grid)
    return sampled(xp, input, grid, interpolation_mode, padding_mode, align_corners)


FUNCTIONS["_grid_sampler_2d_cpu_fallback"] = grid_sampler_2d


@op(
    {("input", "grid"): _derivative},
    node="GridSampler3DBackward0",
    method=False,
)
def grid_sampler_3d(
    xp: Any,
    input: Array,
    grid: Array,
    interpolation_mode: int,
    padding_mode: int,
    align_corners: bool,
) -> Any:
    """Sample volumes, (N, C, D, H, W), at a grid, (N, out D, out H, out W, 3)."""
    check_floating(input, "grid_sampler3d_cpu")
    _check(input, grid)
    _same_type(input, grid)
    return sampled(xp, input, grid, interpolation_mode, padding_mode, align_corners)


def _same_type(input: Any, grid: Any) -> None:
    if input.dtype != grid.dtype:
        raise RuntimeError(
            f"expected scalar type {scalar_name(input)} but found {scalar_name(grid)}"
        )


@public
def grid_sampler(
    input: Tensor,
    grid: Tensor,
    interpolation_mode: int,
    padding_mode: int,
    align_corners: bool,
) -> Tensor:
    """Sample images or volumes; the modes are numbers, in PyTorch's order.

    Raises RuntimeError where shapes do not meet.
    """
    _check(input, grid)
    if input.dim() == 5 and interpolation_mode == BICUBIC:
        raise RuntimeError(
            "grid_sampler(): bicubic interpolation only supports 4D input"
        )
    sampler = grid_sampler_2d if input.dim() == 4 else grid_sampler_3d
    return sampler(input, grid, interpolation_mode, padding_mode, align_corners)


def _check(input: Any, grid: Any) -> None:
    sizes, places = list(input.shape), list(grid.shape)
    if sizes[:1] != places[:1]:
        raise RuntimeError(
            "grid_sampler(): expected grid and input to have same batch size, but got "
            f"input with sizes {sizes} and grid with sizes {places}"
        )
    if places[-1:] != [len(sizes) - 2]:
        raise RuntimeError(
            f"grid_sampler(): expected grid to have size {len(sizes) - 2} in last "
            f"dimension, but got grid with sizes {places}"
        )
    for dim, size in enumerate(sizes[2:], 2):
        if size == 0:
            raise RuntimeError(
                "grid_sampler(): expected input to have non-empty spatial dimensions, "
                f"but input has sizes {sizes} with dimension {dim} being empty"
            )
    if len(sizes) not in (4, 5) or len(sizes) != len(places):
        wanted = "4D" if len(sizes) == 4 else "4D or 5D"
        raise RuntimeError(
            f"grid_sampler(): expected {wanted} input and grid with same number of "
            f"dimensions, but got input with sizes {sizes} and grid with sizes {places}"
        )


# ---- affine grids ----


def _base(xp: Any, like: Any, size: Sizes, align: bool) -> Any:
    """Return the places of pixels before the map: (pixels, dims + 1)."""
    axes: list[Any] = []
    for n in size[2:]:
        kind = DTYPE_OF[like.dtype]
        line = between(xp, -1, 1, n, kind) if n > 1 else xp.zeros(1, like.dtype)
        # In PyTorch's order: a pixel that lies on another keeps the side it rounds to.
        axes.append(line if align else line * (n - 1) / n)
    mesh = xp.meshgrid(*axes, indexing="ij")
    columns = [each.reshape(-1) for each in mesh[::-1]]
    columns.append(xp.ones(columns[0].shape))
    return xp.stack(columns, 1).astype(like.dtype)


@op(
    {
        "theta": lambda F, grad, theta_shape, size, align_corners: (
            F._affine_grid_backward(grad, tuple(theta_shape), size, align_corners)
        )
    },
    method=False,
)
def affine_grid_generator(
    xp: Any, theta: Array, size: Sizes, align_corners: bool
) -> Any:
    """Return where each pixel lies under affine maps, ``theta`` (N, dims, dims + 1)."""
    base = _base(xp, theta, size, align_corners)
    found = xp.matmul(base, theta.swapaxes(1, 2))
    return found.reshape(size[0], *size[2:], theta.shape[1])


@hidden_op(
    {
        "grad_output": lambda F, grad, size, align_corners: F.affine_grid_generator(
            grad, size, align_corners
        )
    }
)
def _affine_grid_backward(
    xp: Any, grad_output: Array, shape: Sizes, size: Sizes, align_corners: bool
) -> Any:
    """Return the gradient of the maps."""
    base = _base(xp, grad_output, size, align_corners)
    rows = grad_output.reshape(shape[0], -1, shape[1])
    return xp.matmul(base.T, rows).swapaxes(1, 2)
