"""Grids of places, and images sampled there, as functions."""

from __future__ import annotations

import warnings
from typing import Any

from ..._common.site import user_stacklevel
from ..._tensor.tensor import Tensor
from ...ops._support.arguments import check_tensors
from ...ops.nn.grid_sample import affine_grid_generator, grid_sampler

__all__ = ["GRID_SAMPLE_INTERPOLATION_MODES", "GRID_SAMPLE_PADDING_MODES"]
__all__ += ["affine_grid", "grid_sample"]

GRID_SAMPLE_INTERPOLATION_MODES = {"bilinear": 0, "nearest": 1, "bicubic": 2}
GRID_SAMPLE_PADDING_MODES = {"zeros": 0, "border": 1, "reflection": 2}

_CHANGED = (
    "Default grid_sample and affine_grid behavior has changed to align_corners=False "
    "since 1.3.0. Please specify align_corners=True if the old behavior is desired. "
    "See the documentation of grid_sample for details."
)
_ONE_PIXEL = (
    "Since version 1.3.0, affine_grid behavior has changed for unit-size grids when "
    "align_corners=True. This is not an intended use case of affine_grid. See the "
    "documentation of affine_grid for details."
)


def grid_sample(
    input: Tensor,
    grid: Tensor,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool | None = None,
) -> Tensor:
    """Return ``input`` at the places that ``grid`` names, from -1 to 1.

    ``input`` is (N, C, H, W) with ``grid`` (N, out H, out W, 2) of (x, y), or one
    dimension more. Raises ValueError for unknown modes.

    >>> import gradtape as torch
    >>> image = torch.tensor([[[[1.0, 3.0]]]])
    >>> middle = torch.zeros(1, 1, 1, 2)
    >>> torch.nn.functional.grid_sample(image, middle, align_corners=False)
    tensor([[[[2.]]]])
    """
    check_tensors("grid_sampler", input=input, grid=grid)
    if mode not in GRID_SAMPLE_INTERPOLATION_MODES:
        raise ValueError(
            "nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or "
            f"'bicubic', but got: '{mode}'"
        )
    if padding_mode not in GRID_SAMPLE_PADDING_MODES:
        raise ValueError(
            "nn.functional.grid_sample(): expected padding_mode to be 'zeros', "
            f"'border', or 'reflection', but got: '{padding_mode}'"
        )
    return grid_sampler(
        input,
        grid,
        GRID_SAMPLE_INTERPOLATION_MODES[mode],
        GRID_SAMPLE_PADDING_MODES[padding_mode],
        _chosen(align_corners),
    )


def affine_grid(theta: Tensor, size: Any, align_corners: bool | None = None) -> Tensor:
    """Return the grid, for :func:`grid_sample`, of a batch of affine maps.

    ``theta`` is (N, 2, 3) for a ``size`` (N, C, H, W), or (N, 3, 4) for one dimension
    more. Raises ValueError or NotImplementedError for other shapes.
    """
    align = _chosen(align_corners)
    if not theta.is_floating_point():
        raise ValueError(
            f"Expected theta to have floating point type, but got {theta.dtype}"
        )
    sizes = [int(n) for n in size]
    if len(sizes) not in (4, 5):
        raise NotImplementedError(
            "affine_grid only supports 4D and 5D sizes, for 2D and 3D affine "
            f"transforms, respectively. Got size {_shown(size)}."
        )
    dims = len(sizes) - 2
    if theta.dim() != 3 or tuple(theta.shape[-2:]) != (dims, dims + 1):
        raise ValueError(
            f"Expected a batch of {dims}D affine matrices of shape Nx{dims}x{dims + 1} "
            f"for size {_shown(size)}. Got {theta.shape}."
        )
    if align and min(sizes[2:]) == 1:
        warnings.warn(_ONE_PIXEL, UserWarning, stacklevel=user_stacklevel())
    elif min(sizes) <= 0:
        raise ValueError(f"Expected non-zero, positive output size. Got {_shown(size)}")
    if theta.shape[0] != sizes[0]:
        raise RuntimeError(
            "Expected size for first two dimensions of batch2 tensor to be: "
            f"[{sizes[0]}, {dims + 1}] but got: [{theta.shape[0]}, {dims + 1}]."
        )
    return affine_grid_generator(theta, tuple(sizes), align)


def _shown(size: Any) -> Any:
    return list(size) if isinstance(size, list) else size


def _chosen(align_corners: bool | None) -> bool:
    if align_corners is None:
        warnings.warn(_CHANGED, UserWarning, stacklevel=user_stacklevel())
        return False
    return align_corners
