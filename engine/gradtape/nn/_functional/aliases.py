"""Functions of ``nn.functional`` that are others under another name or layout."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..._autocast.autocast import autocasts
from ..._dispatch.declare import FUNCTIONS, public
from ..._tensor.tensor import Tensor
from . import pool, pool_adaptive
from .activation import rrelu
from .conv import conv1d

__all__ = ["adaptive_max_pool1d_with_indices", "adaptive_max_pool2d_with_indices"]
__all__ += ["adaptive_max_pool3d_with_indices", "conv_tbc"]
__all__ += ["fractional_max_pool2d_with_indices", "fractional_max_pool3d_with_indices"]
__all__ += ["max_pool1d_with_indices", "max_pool2d_with_indices"]
__all__ += ["max_pool3d_with_indices", "native_channel_shuffle", "rrelu_"]


def _with_indices(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a pool that always says where its values were."""

    def indexed(*args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
        kwargs["return_indices"] = True
        return function(*args, **kwargs)

    indexed.__name__ = indexed.__qualname__ = f"{function.__name__}_with_indices"
    indexed.__doc__ = "Return the largest value of each window, and where it is."
    return indexed


max_pool1d_with_indices = _with_indices(pool.max_pool1d)
max_pool2d_with_indices = _with_indices(pool.max_pool2d)
max_pool3d_with_indices = _with_indices(pool.max_pool3d)
adaptive_max_pool1d_with_indices = _with_indices(pool_adaptive.adaptive_max_pool1d)
adaptive_max_pool2d_with_indices = _with_indices(pool_adaptive.adaptive_max_pool2d)
adaptive_max_pool3d_with_indices = _with_indices(pool_adaptive.adaptive_max_pool3d)
fractional_max_pool2d_with_indices = _with_indices(pool.fractional_max_pool2d)
fractional_max_pool3d_with_indices = _with_indices(pool.fractional_max_pool3d)

native_channel_shuffle = FUNCTIONS["native_channel_shuffle"]


def rrelu_(
    input: Tensor,
    lower: float = 1.0 / 8,
    upper: float = 1.0 / 3,
    training: bool = False,
) -> Tensor:
    """In-place version of rrelu()."""
    return rrelu(input, lower, upper, training, inplace=True)


@public
@autocasts("conv_tbc")
def conv_tbc(input: Tensor, weight: Tensor, bias: Tensor, pad: int = 0) -> Tensor:
    """Convolve (time, batch, channels) with a weight (width, in, out).

    Raises RuntimeError for other ranks and where channels differ.
    """
    for name, tensor, kind in (
        ("Input", input, "time, batch, in_channel"),
        ("Weight tensor", weight, "kernel_width, in_channels, out_channels."),
    ):
        if tensor.dim() != 3:
            raise RuntimeError(f"{name} must have 3 dims: {kind}")
    if bias.dim() != 1:
        raise RuntimeError("Bias must be 1-D")
    if input.shape[2] != weight.shape[1]:
        raise RuntimeError(
            "Input dim 2 (input channels) is not == dim 1 in the weight tensor"
        )
    found = conv1d(input.permute(1, 2, 0), weight.permute(2, 1, 0), bias, padding=pad)
    return found.permute(2, 0, 1).contiguous()
