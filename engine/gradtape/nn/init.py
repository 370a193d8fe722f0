"""Filling parameters before training, with PyTorch's numbers for the same seed.

All functions write in place, without recording, and return their tensor.
"""

from __future__ import annotations

import functools
import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from .._backend import backend_of
from .._common.site import user_stacklevel
from .._dispatch.inplace import note_write
from .._modes.grad_mode import no_grad
from .._random import continuous as fill
from .._random.generator import Generator
from .._random.sample import randperm
from .._tensor.tensor import Tensor, wrap
from ._truncated_normal import normal_cdf, redraw_normal, reject_uniform

_LINEAR = {
    "linear",
    *(f"conv{t}{n}d" for t in ("", "_transpose") for n in (1, 2, 3)),
}
_EMPTY = "Initializing zero-element tensors is a no-op"
_FAR_MEAN = (
    "mean is more than 2 std from [a, b] in nn.init.trunc_normal_. The distribution of "
    "values may be incorrect."
)


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """Return the factor that keeps the variance through a nonlinearity.

    >>> from gradtape.nn.init import calculate_gain
    >>> calculate_gain("leaky_relu", 0.2)
    1.3867504905630728
    """
    if nonlinearity in _LINEAR or nonlinearity == "sigmoid":
        return 1
    if nonlinearity == "tanh":
        return 5.0 / 3
    if nonlinearity == "relu":
        return math.sqrt(2.0)
    if nonlinearity == "selu":
        return 3.0 / 4
    if nonlinearity != "leaky_relu":
        raise ValueError(f"Unsupported nonlinearity {nonlinearity}")
    if param is None:
        param = 0.01
    if isinstance(param, bool) or not isinstance(param, (int, float)):
        raise ValueError(f"negative_slope {param} not a valid number")
    return math.sqrt(2.0 / (1 + param**2))


# ---- plain fills ----


def uniform_(
    tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Generator | None = None
) -> Tensor:
    """Fill with uniform numbers in [a, b)."""
    with no_grad():
        return tensor.uniform_(a, b, generator=generator)  # type: ignore[attr-defined]


def normal_(
    tensor: Tensor,
    mean: float = 0.0,
    std: float = 1.0,
    generator: Generator | None = None,
) -> Tensor:
    """Fill with normal numbers."""
    with no_grad():
        return tensor.normal_(mean, std, generator=generator)  # type: ignore[attr-defined]


def constant_(tensor: Tensor, val: float) -> Tensor:
    """Fill with one value."""
    with no_grad():
        return tensor.fill_(val)  # type: ignore[attr-defined]


def ones_(tensor: Tensor) -> Tensor:
    """Fill with ones."""
    return constant_(tensor, 1.0)


def zeros_(tensor: Tensor) -> Tensor:
    """Fill with zeros."""
    with no_grad():
        return tensor.zero_()  # type: ignore[attr-defined]


def eye_(tensor: Tensor) -> Tensor:
    """Fill a matrix with the identity; raise ValueError for other shapes."""
    if tensor.dim() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    return _store(tensor, np.eye(tensor.shape[0], tensor.shape[1]), "eye_")


def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """Fill a convolution's weight so that it hands its input on."""
    if tensor.dim() not in (3, 4, 5):
        raise ValueError("Only tensors with 3, 4, or 5 dimensions are supported")
    sizes = tuple(tensor.shape)
    if sizes[0] % groups != 0:
        raise ValueError("dim 0 must be divisible by groups")
    per_group = sizes[0] // groups
    centre = tuple(n // 2 for n in sizes[2:])
    values = np.zeros(sizes)
    for group in range(groups):
        for channel in range(min(per_group, sizes[1])):
            values[(group * per_group + channel, channel, *centre)] = 1
    return _store(tensor, values, "dirac_")


# ---- fills that keep the variance of signals ----


def xavier_uniform_(
    tensor: Tensor, gain: float = 1.0, generator: Generator | None = None
) -> Tensor:
    """Fill with uniform numbers of variance 2 gain² / (fan_in + fan_out)."""
    bound = math.sqrt(3.0) * _xavier_std(tensor, gain)
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(
    tensor: Tensor, gain: float = 1.0, generator: Generator | None = None
) -> Tensor:
    """Fill with normal numbers of variance 2 gain² / (fan_in + fan_out)."""
    return normal_(tensor, 0.0, _xavier_std(tensor, gain), generator)


def kaiming_uniform_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Generator | None = None,
) -> Tensor:
    """Fill with uniform numbers of variance gain² / fan."""
    if 0 in tensor.shape:
        warnings.warn(_EMPTY, UserWarning, stacklevel=user_stacklevel())
        return tensor
    bound = math.sqrt(3.0) * _kaiming_std(tensor, a, mode, nonlinearity)
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Generator | None = None,
) -> Tensor:
    """Fill with normal numbers of variance gain² / fan."""
    if 0 in tensor.shape:
        warnings.warn(_EMPTY, UserWarning, stacklevel=user_stacklevel())
        return tensor
    std = _kaiming_std(tensor, a, mode, nonlinearity)
    return normal_(tensor, 0, std, generator)


def _calculate_fan_in_and_fan_out(tensor: Tensor) -> tuple[int, int]:
    if tensor.dim() < 2:
        raise ValueError(
            "Fan in and fan out can not be computed for tensor with fewer than 2 "
            "dimensions"
        )
    outputs, inputs, *kernel = tensor.shape
    return inputs * math.prod(kernel), outputs * math.prod(kernel)


def _calculate_correct_fan(tensor: Tensor, mode: str) -> int:
    modes = ["fan_in", "fan_out"]
    mode = mode.lower()
    if mode not in modes:
        raise ValueError(f"Mode {mode} not supported, please use one of {modes}")
    return _calculate_fan_in_and_fan_out(tensor)[modes.index(mode)]


def _xavier_std(tensor: Tensor, gain: float) -> float:
    return gain * math.sqrt(2.0 / float(sum(_calculate_fan_in_and_fan_out(tensor))))


def _kaiming_std(tensor: Tensor, a: float, mode: str, nonlinearity: str) -> float:
    fan = _calculate_correct_fan(tensor, mode)
    return calculate_gain(nonlinearity, a) / math.sqrt(fan)


# ---- fills with structure ----


def trunc_normal_(
    tensor: Tensor,
    mean: float = 0.0,
    std: float = 1.0,
    a: float = -2.0,
    b: float = 2.0,
    generator: Generator | None = None,
) -> Tensor:
    """Fill with normal numbers that lie in [a, b]; others are drawn again."""
    if mean < a - 2 * std or mean > b + 2 * std:
        warnings.warn(_FAR_MEAN, UserWarning, stacklevel=user_stacklevel())
    inside = normal_cdf((b - mean) / std) - normal_cdf((a - mean) / std)
    draw = redraw_normal if inside > 0.3 else reject_uniform
    return _fill(
        tensor, "trunc_normal_", lambda out: draw(out, mean, std, a, b, generator)
    )


def orthogonal_(
    tensor: Tensor, gain: float = 1, generator: Generator | None = None
) -> Tensor:
    """Fill with a (semi-)orthogonal matrix; further dimensions are flattened."""
    if tensor.dim() < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    if tensor.numel() == 0:
        return tensor
    rows = tensor.shape[0]
    columns = tensor.numel() // rows
    flat = np.empty((rows, columns), tensor._data.dtype)
    fill.normal_(flat, 0, 1, generator)
    q, r = np.linalg.qr(flat.T if rows < columns else flat)
    q = q * np.sign(np.diagonal(r))
    values = (q.T if rows < columns else q).reshape(tensor.shape) * gain
    return _store(tensor, values, "orthogonal_")


def sparse_(
    tensor: Tensor,
    sparsity: float,
    std: float = 0.01,
    generator: Generator | None = None,
) -> Tensor:
    """Fill a matrix with normal numbers and set a share of each column to zero."""
    if tensor.dim() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    rows, columns = tensor.shape
    zeros = math.ceil(sparsity * rows)

    def draw(out: Any) -> None:
        fill.normal_(out, 0, std, generator)
        for column in range(columns):
            out[randperm(rows)[:zeros], column] = 0

    return _fill(tensor, "sparse_", draw)


# ---- writing ----


def _fill(tensor: Tensor, name: str, draw: Callable[[Any], Any]) -> Tensor:
    """Let ``draw`` fill the tensor's memory; device memory goes through the host."""
    backend = backend_of(tensor._data)
    if backend.name == "shell":
        values = np.empty(tensor.shape, tensor._data.dtype)
        draw(values)
        with no_grad():
            return tensor.copy_(wrap(values))  # type: ignore[attr-defined]
    if backend.name == "numpy":
        draw(tensor._data)
    elif backend.name != "meta":  # which has nothing to fill
        host = backend.to_host(tensor._data)
        draw(host)
        tensor._data[...] = backend.xp.asarray(host)
    note_write(tensor, name)
    return tensor


def _store(tensor: Tensor, values: Any, name: str) -> Tensor:
    return _fill(tensor, name, lambda out: np.copyto(out, values, "unsafe"))


# ---- names from before the underscore ----


def _deprecated(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    new = function.__name__
    old = new[:-1]

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Tensor:
        warnings.warn(
            f"`nn.init.{old}` is now deprecated in favor of `nn.init.{new}`.",
            FutureWarning,
            stacklevel=user_stacklevel(),
        )
        return function(*args, **kwargs)

    call.__name__ = old
    return call


uniform = _deprecated(uniform_)
normal = _deprecated(normal_)
constant = _deprecated(constant_)
eye = _deprecated(eye_)
dirac = _deprecated(dirac_)
xavier_uniform = _deprecated(xavier_uniform_)
xavier_normal = _deprecated(xavier_normal_)
kaiming_uniform = _deprecated(kaiming_uniform_)
kaiming_normal = _deprecated(kaiming_normal_)
orthogonal = _deprecated(orthogonal_)
sparse = _deprecated(sparse_)

# PyTorch's names of these without history, which some libraries call.
_no_grad_uniform_ = uniform_
_no_grad_normal_ = normal_
_no_grad_trunc_normal_ = trunc_normal_
_no_grad_fill_ = constant_
_no_grad_zero_ = zeros_
