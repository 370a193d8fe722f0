"""Dropout as functions, with PyTorch's masks for the same seed."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from ..._backend import backend_of, host_like
from ..._common.messages import CAST_REFUSED
from ..._common.site import user_stacklevel
from ..._dispatch.declare import FUNCTIONS
from ..._random.continuous import bernoulli_
from ..._random.sample import dropout_mask
from ..._random.vmap import vmaps
from ..._tensor.tensor import Tensor, wrap
from ...ops._support.arguments import check_tensor, float_argument
from ...ops._support.new_tensor import array_like

__all__ = ["alpha_dropout", "dropout", "dropout1d", "dropout2d", "dropout3d"]
__all__ += ["feature_alpha_dropout"]

_SELU_LIMIT = 1.7580993408473766


def _check(p: float) -> None:
    if p < 0.0 or p > 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")


def _on_device(mask: Any, like: Tensor) -> Tensor:
    return wrap(backend_of(like._data).xp.asarray(mask))


def _host_like(input: Tensor) -> Any:
    """Return a host array of the input's type and memory order, to make masks in."""
    like = host_like(input._data)
    if vmaps.batches or vmaps.starts:
        return np.empty(like.shape, like.dtype)  # as PyTorch's vmap draws
    return like if like.flags.c_contiguous else array_like(np, like)


def _multiplied(input: Tensor, mask: Any, inplace: bool) -> Tensor:
    noise = _on_device(mask, input)
    return input.mul_(noise) if inplace else input * noise


def dropout(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """Set elements to zero with probability ``p`` and scale the others up."""
    _check(p)
    check_tensor(input, "dropout")
    p = float_argument(p, "dropout_" if inplace else "dropout", "p", 2)
    if p == 0 or not training or not input.numel():
        return input
    mask = dropout_mask(_host_like(input), p)
    return _multiplied(input, mask, inplace)


def alpha_dropout(
    input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False
) -> Tensor:
    """Drop elements to the lower limit of selu, keeping mean and variance."""
    _check(p)
    check_tensor(input, "alpha_dropout")
    p = float_argument(p, "alpha_dropout_" if inplace else "alpha_dropout", "p", 2)
    return _alpha(input, p, training, inplace)


def feature_alpha_dropout(
    input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False
) -> Tensor:
    """Drop whole channels as alpha_dropout drops elements."""
    _check(p)
    check_tensor(input, "feature_alpha_dropout")
    p = float_argument(p, "feature_alpha_dropout", "p", 2)
    if p == 0 or not training or not input.numel():
        return input
    return _alpha(input, p, training, inplace, per_channel=True)


def _alpha(
    input: Tensor, p: float, training: bool, inplace: bool, per_channel: bool = False
) -> Tensor:
    if p == 0 or not training or not input.numel():
        return input
    if p == 1:
        return _multiplied(input, dropout_mask(_host_like(input), 1.0), inplace)
    if not (input.is_floating_point() or input.is_complex()):
        kind = input.dtype.cpp_name
        raise RuntimeError(CAST_REFUSED.format(result="Float", output=kind))
    like = _host_like(input)
    if per_channel:
        like = np.empty(_per_channel(input), like.dtype)
    keep = bernoulli_(np.empty_like(like), 1 - p)
    scale = 1.0 / math.sqrt((_SELU_LIMIT**2 * p + 1) * (1 - p))
    shift = (keep - 1) * (_SELU_LIMIT * scale) + _SELU_LIMIT * scale * p
    found = _multiplied(input, keep * keep.dtype.type(scale), inplace)
    offset = _on_device(shift.astype(keep.dtype), input)
    return found.add_(offset) if inplace else found + offset


# ---- whole channels ----


def _per_channel(input: Tensor) -> tuple[int, ...]:
    if input.dim() < 2:
        raise RuntimeError(
            "Feature dropout requires at least 2 dimensions in the input"
        )
    return (*input.shape[:2], *(1,) * (input.dim() - 2))


def _feature(input: Tensor, p: float, training: bool, inplace: bool) -> Tensor:
    p = float_argument(p, "feature_dropout_" if inplace else "feature_dropout", "p", 2)
    if p == 0 or not training or not input.numel():
        return input
    if p == 1:
        return _multiplied(input, dropout_mask(_host_like(input), 1.0), inplace)
    like = np.empty(_per_channel(input), _host_like(input).dtype)
    return _multiplied(input, dropout_mask(like, p), inplace)


def dropout1d(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """Set whole channels of (N, C, length) to zero with probability ``p``."""
    _check(p)
    if input.dim() not in (2, 3):
        raise RuntimeError(
            "dropout1d: Expected 2D or 3D input, but received a "
            f"{input.dim()}D input. Note that dropout1d exists to provide channel-wise "
            "dropout on inputs with 1 spatial dimension, a channel dimension, and an "
            "optional batch dimension (i.e. 2D or 3D inputs)."
        )
    if input.dim() == 3:
        return _feature(input, p, training, inplace)
    batch = input.unsqueeze_(0) if inplace else input.unsqueeze(0)
    found = _feature(batch, p, training, inplace)
    return found.squeeze_(0) if inplace else found.squeeze(0)


def dropout2d(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """Set whole channels of (N, C, height, width) to zero with probability ``p``."""
    _check(p)
    if input.dim() not in (3, 4):
        warnings.warn(
            f"dropout2d: Received a {input.dim()}-D input to dropout2d, which is "
            "deprecated and will result in an error in a future release. To retain the "
            "behavior and silence this warning, please use dropout instead. Note that "
            "dropout2d exists to provide channel-wise dropout on inputs with 2 spatial "
            "dimensions, a channel dimension, and an optional batch dimension (i.e. 3D "
            "or 4D inputs).",
            UserWarning,
            stacklevel=user_stacklevel(),
        )
    if input.dim() == 3:
        warnings.warn(
            "dropout2d: Received a 3D input to dropout2d and assuming that "
            "channel-wise 1D dropout behavior is desired - input is interpreted as "
            "shape (N, C, L), where C is the channel dim. This behavior will change in "
            "a future release "
            "to interpret the input as one without a batch dimension, i.e. shape "
            "(C, H, W). To maintain the 1D channel-wise dropout behavior, please "
            "switch to using dropout1d instead.",
            UserWarning,
            stacklevel=user_stacklevel(),
        )
    return _feature(input, p, training, inplace)


def dropout3d(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """Set whole channels of (N, C, depth, height, width) to zero."""
    _check(p)
    if input.dim() not in (4, 5):
        warnings.warn(
            f"dropout3d: Received a {input.dim()}-D input to dropout3d, which is "
            "deprecated and will result in an error in a future release. To retain the "
            "behavior and silence this warning, please use dropout instead. Note that "
            "dropout3d exists to provide channel-wise dropout on inputs with 3 spatial "
            "dimensions, a channel dimension, and an optional batch dimension (i.e. 4D "
            "or 5D inputs).",
            UserWarning,
            stacklevel=user_stacklevel(),
        )
    if input.dim() == 5:
        return _feature(input, p, training, inplace)
    batch = input.unsqueeze_(0) if inplace else input.unsqueeze(0)
    found = _feature(batch, p, training, inplace)
    return found.squeeze_(0) if inplace else found.squeeze(0)


def _public_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """Drop elements in training: ``torch.dropout``."""
    p = float_argument(p, "dropout", "p", 2)
    if not 0 <= p <= 1:
        raise RuntimeError(
            f"dropout probability has to be between 0 and 1, but got {p:g}"
        )
    return dropout(input, p, train)


FUNCTIONS["dropout"] = _public_dropout
