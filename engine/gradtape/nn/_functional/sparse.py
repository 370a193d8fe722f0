"""Embeddings as functions, and rearranging channels and pixels."""

from __future__ import annotations

import warnings
from typing import Final

from ..._common.messages import legacy_type_name
from ..._common.site import user_stacklevel
from ..._dispatch.declare import FUNCTIONS
from ..._dtypes import int64
from ..._tensor.tensor import Tensor
from ...ops.nn import embedding as ops
from ...ops.nn.embedding import embedding_bag as bags_of_rows
from ...ops.rearrange import pixel_shuffle as pixels
from ._window_checks import check_channels, check_pixels

__all__ = ["channel_shuffle", "embedding", "embedding_bag", "one_hot", "pixel_shuffle"]
__all__ += ["pixel_unshuffle"]

_MODES: Final = ("sum", "mean", "max")
_OLD_ORDER: Final = (
    "Argument order of nn.functional.embedding_bag was changed. Usage "
    "`embedding_bag(weight, input, ...)` is deprecated, and should now be "
    "`embedding_bag(input, weight, ...)`."
)


def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """Return a row of ``weight`` for each index.

    ``padding_idx`` names a row that gets no gradient. ``max_norm`` scales longer rows
    down, in place.
    """
    if padding_idx is not None:
        rows = weight.shape[0]
        if not -rows <= padding_idx < rows:
            raise AssertionError("Padding_idx must be within num_embeddings")
        padding_idx %= rows
    else:
        padding_idx = -1
    if max_norm is not None:
        ops.embedding_renorm_(weight, input, max_norm, norm_type)
    return ops.embedding(weight, input, padding_idx, scale_grad_by_freq, sparse)


def embedding_bag(
    input: Tensor,
    weight: Tensor,
    offsets: Tensor | None = None,
    max_norm: float | None = None,
    norm_type: float = 2,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Tensor:
    """Return sums, means or maxima of rows, bag by bag.

    Bags are the rows of a 2-D ``input``, or begin at ``offsets`` of a 1-D one. Raises
    ValueError for a mode, weights or offsets that do not fit.

    >>> import gradtape as torch
    >>> table = torch.tensor([[1.0], [2.0], [4.0]])
    >>> torch.nn.functional.embedding_bag(torch.tensor([[0, 1], [2, 2]]), table)
    tensor([[1.5000],
            [4.0000]])
    """
    if weight.dtype is int64 and input.is_floating_point():
        warnings.warn(_OLD_ORDER, UserWarning, stacklevel=user_stacklevel())
        weight, input = input, weight
    _check_factors(input, per_sample_weights, mode)
    if weight.dim() != 2:
        raise ValueError(
            f"weight has to be a 2D Tensor, but got Tensor of dimension {weight.dim()}"
        )
    if mode not in _MODES:
        raise ValueError("mode has to be one of sum, mean or max")
    offsets = _offsets(input, offsets)
    if mode == "max" and scale_grad_by_freq:
        raise ValueError(
            "max mode does not support scaling the gradient by the frequency"
        )
    if mode == "max" and sparse:
        raise ValueError("max mode does not support sparse weights")
    _check_types(weight, per_sample_weights)
    flat = input.reshape(-1)
    if max_norm is not None:
        ops.embedding_renorm_(weight, flat, max_norm, norm_type)
    factors = None if per_sample_weights is None else per_sample_weights.reshape(-1)
    return bags_of_rows(
        weight,
        flat,
        offsets,
        scale_grad_by_freq,
        _MODES.index(mode),
        sparse,
        factors,
        include_last_offset,
        padding_idx,
    )[0]


def _check_types(weight: Tensor, factors: Tensor | None) -> None:
    """Refuse tables of whole numbers, and factors of another dtype than the table."""
    checking = "(while checking arguments for embedding_bag)"
    if not weight.is_floating_point():
        raise RuntimeError(
            "Expected tensor for argument #1 'weight' to have one of the following "
            "scalar types: Half, BFloat16, Float, Double; but got "
            f"{legacy_type_name(weight.dtype)} instead {checking}"
        )
    if factors is not None and factors.dtype is not weight.dtype:
        raise RuntimeError(
            "Expected tensor for argument #1 'weight' to have the same type as tensor "
            "for argument #1 'per_sample_weights'; but type "
            f"{legacy_type_name(weight.dtype)} does not equal "
            f"{legacy_type_name(factors.dtype)} {checking}"
        )


def _check_factors(input: Tensor, factors: Tensor | None, mode: str) -> None:
    if factors is None:
        return
    if input.shape != factors.shape:
        raise ValueError(
            f"embedding_bag: If per_sample_weights ({factors.shape}) is not None, then "
            f"it must have the same shape as the input ({input.shape})"
        )
    if mode != "sum":
        raise NotImplementedError(
            "embedding_bag: per_sample_weights was not None. per_sample_weights is "
            f"only supported for mode='sum' (got mode='{mode}'). Please open a feature "
            "request on GitHub."
        )


def _offsets(input: Tensor, offsets: Tensor | None) -> Tensor:
    """Return where the bags begin; those of a 2-D input are its rows."""
    if input.dim() == 2:
        if offsets is not None:
            raise ValueError(
                "if input is 2D, then offsets has to be None, as input is treated is a "
                "mini-batch of fixed length sequences. However, found offsets of type "
                f"{type(offsets)}"
            )
        count, size = input.shape
        begins = [number * size for number in range(count)]
        return FUNCTIONS["tensor"](begins, dtype=input.dtype, device=input.device)
    if input.dim() != 1:
        raise ValueError(
            "input has to be 1D or 2D Tensor, but got Tensor of dimension "
            f"{input.dim()}"
        )
    if not isinstance(offsets, Tensor):
        raise ValueError(f"offsets has to be a 1D Tensor but got {offsets}")
    if offsets.dim() != 1:
        raise ValueError("offsets has to be a 1D Tensor")
    return offsets


def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """Return rows with a 1 at each index and 0 elsewhere.

    >>> import gradtape as torch
    >>> torch.nn.functional.one_hot(torch.tensor([1, 0]))
    tensor([[0, 1],
            [1, 0]])
    """
    return ops.one_hot(tensor, num_classes)


# ---- rearranging ----


def pixel_shuffle(input: Tensor, upscale_factor: int) -> Tensor:
    """Turn (…, C r², H, W) into (…, C, H r, W r)."""
    r = upscale_factor
    check_pixels("pixel_shuffle", input, "upscale_factor", r)
    channels = input.shape[-3]
    if channels % (r * r):
        raise RuntimeError(
            "pixel_shuffle expects its input's 'channel' dimension to be divisible by "
            f"the square of upscale_factor, but input.size(-3)={channels} is not "
            f"divisible by {r * r}"
        )
    return pixels.pixel_shuffle(input, r)


def pixel_unshuffle(input: Tensor, downscale_factor: int) -> Tensor:
    """Turn (…, C, H r, W r) into (…, C r², H, W)."""
    r = downscale_factor
    check_pixels("pixel_unshuffle", input, "downscale_factor", r)
    return pixels.pixel_unshuffle(input, r)


def channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """Take channels from each group in turn."""
    check_channels(input, groups)
    return pixels.channel_shuffle(input, groups)
