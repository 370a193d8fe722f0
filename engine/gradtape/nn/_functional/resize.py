"""Resizing as functions: ``interpolate`` and its older names."""

from __future__ import annotations

import warnings
from typing import Any, cast

from ..._common.site import user_stacklevel
from ..._tensor.tensor import Tensor
from ...ops._support.arguments import is_integer
from ...ops.nn.interpolate import MODES
from .pool_adaptive import adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d

__all__ = ["interpolate", "upsample", "upsample_bilinear", "upsample_nearest"]

_AREA = {3: adaptive_avg_pool1d, 4: adaptive_avg_pool2d, 5: adaptive_avg_pool3d}
_RANKS = {"linear": 3, "bilinear": 4, "trilinear": 5}
_WITHOUT_CORNERS = ("nearest", "area", "nearest-exact")
_SAME_DIMS = (
    "Input and {what} must have the same number of spatial dimensions, but got input "
    "with spatial dimensions of {spatial} and {which} {given}. Please provide input "
    "tensor in (N, C, d1, d2, ...,dK) format and {shape} format."
)


def interpolate(
    input: Tensor,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Tensor:
    """Resize (N, C, …) to a ``size`` or by a ``scale_factor``.

    ``mode`` is nearest, nearest-exact, area, linear (3-D input), bilinear, bicubic
    (4-D) or trilinear (5-D). With ``align_corners`` corner values stay in the corners.
    ``antialias`` smooths what becomes smaller. Raises ValueError for both or neither of
    size and factor, NotImplementedError for a mode that the rank does not have.

    >>> import gradtape as torch
    >>> torch.nn.functional.interpolate(torch.tensor([[[1.0, 2.0]]]), size=4)
    tensor([[[1., 1., 2., 2.]]])
    """
    if mode in _WITHOUT_CORNERS and align_corners is not None:
        raise ValueError(
            "align_corners option can only be set with the interpolating modes: "
            "linear | bilinear | bicubic | trilinear"
        )
    sizes, factors = _sizes(input, size, scale_factor)
    if recompute_scale_factor and size is not None:
        raise ValueError(
            "recompute_scale_factor is not meaningful with an explicit size."
        )
    spatial = tuple(input.shape[2:])
    if sizes is None:
        assert factors is not None
        sizes = tuple(int(n * f) for n, f in zip(spatial, factors, strict=True))
        if mode == "area" or recompute_scale_factor:
            factors = None
    if antialias and not (
        mode in ("bilinear", "bicubic", "lanczos") and input.dim() == 4
    ):
        raise ValueError(
            "Anti-alias option is restricted to bilinear, bicubic, and lanczos modes "
            "and requires a 4-D tensor as input"
        )
    if mode == "area" and input.dim() in _AREA:
        return _AREA[input.dim()](input, sizes)
    found = MODES.get((f"{mode}_aa" if antialias else mode, input.dim()))
    if found is None:
        raise _unknown(mode, input.dim(), bool(align_corners))
    scales = (None,) * len(sizes) if factors is None else tuple(map(float, factors))
    if mode in _WITHOUT_CORNERS:
        return found(input, sizes, *scales)
    if mode == "lanczos" and align_corners:
        raise ValueError("Lanczos mode does not support align_corners=True")
    return found(input, sizes, bool(align_corners), *scales)


def _sizes(
    input: Tensor, size: Any, factor: Any
) -> tuple[tuple[int, ...] | None, tuple[float, ...] | None]:
    """Return sizes or factors, one per spatial dimension, whichever was given."""
    dims, spatial = input.dim() - 2, list(input.shape[2:])
    if size is not None and factor is not None:
        raise ValueError("only one of size or scale_factor should be defined")
    if size is None and factor is None:
        raise ValueError("either size or scale_factor should be defined")
    if factor is not None:
        if not isinstance(factor, (list, tuple)):
            return None, (factor,) * dims
        if len(factor) != dims:
            raise ValueError(
                _SAME_DIMS.format(
                    what="scale_factor",
                    spatial=spatial,
                    which="scale_factor of shape",
                    given=factor,
                    shape="scale_factor in (s1, s2, ...,sK)",
                )
            )
        return None, tuple(factor)
    if not isinstance(size, (list, tuple)):
        return (int(cast("int", size)),) * dims, None
    if len(size) != dims:
        raise ValueError(
            _SAME_DIMS.format(
                what="output",
                spatial=spatial,
                which="output size of",
                given=size,
                shape="output size in (o1, o2, ...,oK)",
            )
        )
    if not all(is_integer(n) for n in size):
        raise TypeError(
            "expected size to be one of int or Tuple[int] or Tuple[int, int] or "
            f"Tuple[int, int, int], but got size with types {[type(n) for n in size]}"
        )
    return tuple(int(n) for n in size), None


def _unknown(mode: str, rank: int, align: bool) -> Exception:
    needed = _RANKS.get(mode)
    if needed is not None and 3 <= rank <= 5:
        return NotImplementedError(
            f"Got {rank}D input, but {mode} mode needs {needed}D input"
        )
    if mode == "lanczos" and rank == 4:
        if align:
            return ValueError("Lanczos mode does not support align_corners=True")
        return ValueError("Lanczos mode requires antialias=True")
    return NotImplementedError(
        f"Input Error: Only 3D, 4D and 5D input Tensors supported (got {rank}D) for "
        "the modes: nearest | linear | bilinear | bicubic | trilinear | lanczos | area "
        f"| nearest-exact (got {mode})"
    )


def upsample(
    input: Tensor,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
) -> Tensor:
    """Resize: the older name of :func:`interpolate`."""
    _deprecated("upsample")
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(
    input: Tensor, size: Any = None, scale_factor: Any = None
) -> Tensor:
    """Resize by repeating the nearest value."""
    _deprecated("upsample_nearest")
    return interpolate(input, size, scale_factor, mode="nearest")


def upsample_bilinear(
    input: Tensor, size: Any = None, scale_factor: Any = None
) -> Tensor:
    """Resize images smoothly, corners in the corners."""
    _deprecated("upsample_bilinear")
    return interpolate(input, size, scale_factor, mode="bilinear", align_corners=True)


def _deprecated(name: str) -> None:
    warnings.warn(
        f"`nn.functional.{name}` is deprecated. Use `nn.functional.interpolate` "
        "instead.",
        UserWarning,
        stacklevel=user_stacklevel(),
    )
