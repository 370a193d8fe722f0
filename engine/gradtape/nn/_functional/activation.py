"""Activations as functions, with PyTorch's ``inplace`` switch."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ..._autocast.autocast import autocasts
from ..._common.site import user_stacklevel
from ..._dispatch.declare import FUNCTIONS, OPS, compile_function
from ..._dispatch.inplace import write
from ..._dtypes import dtype as DType
from ..._random.generator import default_generator
from ..._tensor.tensor import Tensor, wrap
from ...ops._support.arguments import check_tensor, check_tensors, wrap_dim
from ...ops._support.operands import not_implemented
from ...ops.memory.memory_format import contiguous_format
from ...ops.pointwise import activation as smooth
from ...ops.pointwise import activation_gated as gated
from ...ops.pointwise import activation_piecewise as straight
from ...ops.reduction.softmax import log_softmax as _log_softmax
from ...ops.reduction.softmax import softmax as _softmax

__all__ = ["celu", "celu_", "elu", "elu_", "gelu", "glu", "gumbel_softmax"]
__all__ += ["hardshrink", "hardsigmoid", "hardswish", "hardtanh", "hardtanh_"]
__all__ += ["leaky_relu", "leaky_relu_", "log_softmax", "logsigmoid", "mish", "prelu"]
__all__ += ["relu", "relu6", "relu_", "rrelu", "selu", "selu_", "sigmoid", "silu"]
__all__ += ["softmax", "softmin", "softplus", "softshrink", "softsign", "tanh"]
__all__ += ["tanhshrink", "threshold", "threshold_"]

_NO_DIM = (
    "Implicit dimension choice for {name} has been deprecated. Change the call to "
    "include dim=X as an argument."
)
_SELU = (1.6732632423543772, 1.0507009873554805)


def _in_place(key: str) -> Any:
    found = OPS[key]
    twin = compile_function(found, f"{found.name}_", write)
    twin.__doc__ = f"In-place version of {found.name}()."
    return twin


threshold_ = _in_place("threshold")
leaky_relu_ = _in_place("leaky_relu_")
elu_ = _in_place("elu_")
celu_ = _in_place("celu_")
hardtanh_ = _in_place("hardtanh")
relu_ = _in_place("relu")
_hardsigmoid_ = _in_place("hardsigmoid")
_hardswish_ = _in_place("hardswish")
_silu_ = _in_place("silu")
_mish_ = _in_place("mish")


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """Set what is negative to zero.

    >>> import gradtape as torch
    >>> torch.nn.functional.relu(torch.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """
    return relu_(input) if inplace else FUNCTIONS["relu"](input)


def threshold(
    input: Tensor, threshold: float, value: float, inplace: bool = False
) -> Tensor:
    """Replace what is not above the threshold by a value."""
    if inplace:
        return threshold_(input, threshold, value)
    return FUNCTIONS["threshold"](input, threshold, value)


def leaky_relu(
    input: Tensor, negative_slope: float = 0.01, inplace: bool = False
) -> Tensor:
    """Multiply what is negative by a slope."""
    if inplace:
        return leaky_relu_(input, negative_slope)
    return straight.leaky_relu(input, negative_slope)


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """Bend what is negative to ``alpha * (exp(x) - 1)``."""
    return elu_(input, alpha) if inplace else straight.elu(input, alpha)


def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """Apply elu with the constants that keep mean and variance through layers."""
    return elu_(input, *_SELU) if inplace else straight.elu(input, *_SELU)


def selu_(input: Tensor) -> Tensor:
    """In-place version of selu()."""
    return elu_(input, *_SELU)


def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """Bend what is negative to ``alpha * (exp(x / alpha) - 1)``."""
    return celu_(input, alpha) if inplace else straight.celu(input, alpha)


def hardtanh(
    input: Tensor,
    min_val: float = -1.0,
    max_val: float = 1.0,
    inplace: bool = False,
) -> Tensor:
    """Cut to a range; raise ValueError where it is upside down."""
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val")
    if inplace:
        return hardtanh_(input, min_val, max_val)
    return straight.hardtanh(input, min_val, max_val)


def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """Cut to the range from 0 to 6."""
    return hardtanh(input, 0, 6, inplace)


def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """Return ``clamp(x + 3, 0, 6) / 6``."""
    return _hardsigmoid_(input) if inplace else straight.hardsigmoid(input)


def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """Return ``x * clamp(x + 3, 0, 6) / 6``."""
    return _hardswish_(input) if inplace else straight.hardswish(input)


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """Return ``x * sigmoid(x)``."""
    return _silu_(input) if inplace else smooth.silu(input)


def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """Return ``x * tanh(softplus(x))``."""
    return _mish_(input) if inplace else smooth.mish(input)


gelu = smooth.gelu
hardshrink = straight.hardshrink
softshrink = straight.softshrink
logsigmoid = smooth.log_sigmoid
softplus = smooth.softplus


def softsign(input: Tensor) -> Tensor:
    """Return ``x / (1 + |x|)``."""
    return input / (input.abs() + 1)


def tanhshrink(input: Tensor) -> Tensor:
    """Return ``x - tanh(x)``."""
    return input - input.tanh()


def tanh(input: Tensor) -> Tensor:
    """Return the hyperbolic tangent."""
    return input.tanh()


def sigmoid(input: Tensor) -> Tensor:
    """Return ``1 / (1 + exp(-x))``."""
    return input.sigmoid()


def glu(input: Tensor, dim: int = -1) -> Tensor:
    """Multiply one half along a dimension by the sigmoid of the other half."""
    if input.dim() == 0:
        raise RuntimeError(
            "glu does not support scalars because halving size must be even"
        )
    wrap_dim(dim, input.dim())  # refuses one that is not there
    return gated.glu(input, dim)


@autocasts("prelu")
def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """Multiply what is negative by a weight, one for all or one per channel."""
    check_tensors("prelu", input=input, weight=weight)
    channels = input.shape[1] if input.dim() > 1 else 1
    if weight.dim() > 1:
        raise RuntimeError(
            "prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = "
            f"{weight.dim()}"
        )
    if weight.numel() != 1 and not input.dim():
        raise RuntimeError("Not allow zero-dim input tensor.")
    if weight.dtype is not input.dtype:
        raise RuntimeError(
            "prelu: Type promoting not supported. Got "
            f"{input.dtype.cpp_name} and {weight.dtype.cpp_name}"
        )
    if weight.numel() not in (1, channels):
        raise RuntimeError(
            "Mismatch of parameter numbers and input channel size. Found parameter "
            f"numbers = {weight.numel()} and channel size = {channels}."
        )
    if input.dim() > 1 or weight.dim() != input.dim():
        shape = [1] * input.dim()
        if input.dim() > 1:
            shape[1] = weight.numel()
        weight = weight.reshape(shape)
    return gated._prelu_kernel(input, weight)


def rrelu(
    input: Tensor,
    lower: float = 1.0 / 8,
    upper: float = 1.0 / 3,
    training: bool = False,
    inplace: bool = False,
) -> Tensor:
    """Multiply what is negative by random slopes; by their mean in evaluation."""
    check_tensor(input, "rrelu")
    if lower > upper:
        raise RuntimeError(
            "Lower bound should be less than or equal to the upper bound"
        )
    array = input._data
    if training and array.dtype.char == "e":
        raise not_implemented("rrelu_with_noise_out_cpu", input)
    noise = np.ones_like(array)
    negative = array <= 0
    if training:
        drawn = default_generator.uniform64(int(negative.sum()))
        noise[negative] = drawn * (upper - lower) + lower
    else:
        noise[negative] = (lower + upper) / 2
    args = (input, wrap(noise), lower, upper, training)
    if inplace:
        return _in_place("rrelu_with_noise_")(*args)
    return gated.rrelu_with_noise(*args)


# ---- softmax ----


def _softmax_dim(name: str, input: Tensor, dim: int | None) -> int:
    if dim is not None:
        return dim
    warnings.warn(_NO_DIM.format(name=name), UserWarning, stacklevel=user_stacklevel())
    return 0 if input.dim() in (0, 1, 3) else 1


def softmax(
    input: Tensor,
    dim: int | None = None,
    _stacklevel: int = 3,
    dtype: DType | None = None,
) -> Tensor:
    """Return values in (0, 1) that sum to 1 along a dimension."""
    return _softmax(input, _softmax_dim("softmax", input, dim), dtype)


def softmin(
    input: Tensor,
    dim: int | None = None,
    _stacklevel: int = 3,
    dtype: DType | None = None,
) -> Tensor:
    """Return ``softmax(-input)``."""
    where = _softmax_dim("softmin", input, dim)
    return _softmax(-input, where, dtype)


def log_softmax(
    input: Tensor,
    dim: int | None = None,
    _stacklevel: int = 3,
    dtype: DType | None = None,
) -> Tensor:
    """Return the logarithm of softmax, computed without overflow."""
    where = _softmax_dim("log_softmax", input, dim)
    return _log_softmax(input, where, dtype)


def gumbel_softmax(
    logits: Tensor,
    tau: float = 1,
    hard: bool = False,
    eps: float = 1e-10,
    dim: int = -1,
) -> Tensor:
    """Sample from a categorical distribution, softly; ``hard`` gives one-hot values."""
    if eps != 1e-10:
        warnings.warn(
            "`eps` parameter is deprecated and has no effect.",
            UserWarning,
            stacklevel=user_stacklevel(),
        )
    rows = FUNCTIONS["empty_like"](logits, memory_format=contiguous_format)
    noise = -rows.exponential_().log()
    soft = _softmax((logits + noise) / tau, dim)
    if not hard:
        return soft
    index = soft.max(dim, keepdim=True)[1]
    one = FUNCTIONS["zeros_like"](rows).scatter_(dim, index, 1.0)
    return one - soft.detach() + soft
