"""Normalisation layers as functions."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ..._autocast.autocast import autocasts
from ..._dispatch.declare import FUNCTIONS
from ..._dtypes import finfo
from ..._modes.grad_mode import mode
from ..._tensor.tensor import Tensor
from ...ops._support.arguments import check_tensor, sizes
from ...ops._support.memory_formats import suggested
from ...ops._support.norm_checks import check_normalized
from ...ops._support.operands import not_implemented
from ...ops.nn import norm as ops
from ...ops.pointwise.scalar import add_number
from .pool import avg_pool2d, avg_pool3d

__all__ = ["batch_norm", "group_norm", "instance_norm", "layer_norm"]
__all__ += ["local_response_norm", "rms_norm"]


def _verify_batch_size(shape: Sequence[int]) -> None:
    count = math.prod(shape) // shape[1] if shape[1] else 0
    if count == 1:
        raise ValueError(
            "Expected more than 1 value per channel when training, got input size "
            f"{shape}"
        )


def _check_running(input: Tensor, *running: Tensor | None) -> None:
    """Refuse tangents of the running statistics, which no derivative passes."""
    duals = mode.now.duals
    if duals is None or not duals.any_dual([input]):
        return
    if duals.any_dual([each for each in running if each is not None]):
        raise RuntimeError(
            "batch_norm is not differentiable wrt running_mean and running_var, they "
            "cannot have forward grad defined"
        )


def _of_nothing(input: Tensor, weight: Tensor | None, bias: Tensor | None) -> Tensor:
    """Return a batch without elements; nothing is normalised, the graph is whole."""
    found = input.clone()
    if weight is not None:
        found = found * weight[0]
    return found if bias is None else found + bias[0]


def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Normalise each channel of (N, C, …) by the batch's or the running statistics.

    Raises ValueError in training with a single value per channel.
    """
    check_tensor(input, "batch_norm")
    if input.dim() == 1 and not input.numel():
        return input.clone()
    if training:
        _verify_batch_size(input.shape)
    if eps < 0.0 or (training and not eps):
        rule = "positive during training" if training else "non-negative"
        raise ValueError(f"batch_norm eps must be {rule}, but got {eps}")
    if not training and (running_mean is None or running_var is None):
        missing = "running_mean" if running_mean is None else "running_var"
        raise RuntimeError(f"{missing} must be defined in evaluation mode")
    channels = input.shape[1]
    for name, tensor in (
        ("running_mean", running_mean),
        ("running_var", running_var),
        ("weight", weight),
        ("bias", bias),
    ):
        if tensor is not None and tensor.numel() != channels:
            raise RuntimeError(
                f"{name} should contain {channels} elements not {tensor.numel()}"
            )
    if not training:
        _check_running(input, running_mean, running_var)
    if not input.numel():
        return _of_nothing(input, weight, bias)
    return ops.native_batch_norm(
        input, weight, bias, running_mean, running_var, training, momentum, eps
    )[0]


def instance_norm(
    input: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Normalise each channel of each sample by its own statistics."""
    if use_input_stats:
        _verify_instance_size(input.shape)
    elif running_mean is None or running_var is None:
        raise RuntimeError(
            "Expected running_mean and running_var to be defined when "
            "use_input_stats is false"
        )
    shape = tuple(input.shape)
    samples, channels = shape[:2]
    flat = input.contiguous().view((1, samples * channels, *shape[2:]))
    scale, shift, mean, var = (
        None if t is None else t.repeat(samples)
        for t in (weight, bias, running_mean, running_var)
    )
    found = ops.native_batch_norm(
        flat, scale, shift, mean, var, use_input_stats, momentum, eps
    )[0]
    for running, each in ((running_mean, mean), (running_var, var)):
        if running is not None and each is not None and use_input_stats:
            FUNCTIONS["mean"](each.view(samples, channels), 0, out=running)
    return found.view(shape)


def _verify_instance_size(shape: Sequence[int]) -> None:
    if math.prod(shape[2:]) == 1:
        raise ValueError(
            "Expected more than 1 spatial element when training, got input size "
            f"torch.Size({list(shape)})"
        )


@autocasts("layer_norm")
def layer_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """Normalise each sample over its last dimensions."""
    check_tensor(input, "layer_norm")
    shape = sizes(normalized_shape, "layer_norm", "normalized_shape", 2)
    check_normalized(input, shape, weight=weight, bias=bias)
    return ops.native_layer_norm(input, shape, weight, bias, eps)[0]


@autocasts("rms_norm")
def rms_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    eps: float | None = None,
) -> Tensor:
    """Divide each sample by the root of its mean square over the last dimensions."""
    check_tensor(input, "rms_norm")
    shape = sizes(normalized_shape, "rms_norm", "normalized_shape", 2)
    check_normalized(input, shape, "", weight=weight)
    if not (input.is_floating_point() or input.is_complex()):
        raise not_implemented("rms_norm", input)
    dims = tuple(range(input.dim() - len(shape), input.dim()))
    # The squares of 16-bit numbers overflow in 16 bits.
    wide = input.float() if input.dtype.itemsize == 2 else input
    floor = finfo(wide.dtype).eps if eps is None else eps
    square = wide.pow(2).mean(dims, keepdim=True)
    found = wide * add_number(square, floor).rsqrt()
    found = (found if weight is None else found * weight).to(input.dtype)
    return found.contiguous(memory_format=suggested(found.shape, found.stride()))


def _check_groups(
    input: Tensor, num_groups: int, weight: Tensor | None, bias: Tensor | None
) -> None:
    channels = input.shape[1]
    if num_groups < 0:
        raise RuntimeError(
            f"Expected num groups to be greater than 0, got {num_groups}"
        )
    if channels % num_groups:
        raise RuntimeError(
            "Expected number of channels in input to be divisible by num_groups, but "
            f"got input of shape {list(input.shape)} and num_groups={num_groups}"
        )
    for name, given in (("weight", weight), ("bias", bias)):
        if given is not None and tuple(given.shape) != (channels,):
            shape = [0] if weight is None else list(weight.shape)  # of the bias too
            raise RuntimeError(
                f"Expected {name} to be a vector of size equal to the number of "
                f"channels in input, but got {name} of shape {shape} and input of "
                f"shape {list(input.shape)}"
            )


@autocasts("group_norm")
def group_norm(
    input: Tensor,
    num_groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """Normalise groups of channels of each sample."""
    if input.dim() < 2:
        raise RuntimeError(
            "Expected at least 2 dimensions for input tensor but received "
            f"{input.dim()}"
        )
    samples, channels, *spatial = input.shape
    _verify_batch_size([samples * channels // num_groups, num_groups, *spatial])
    _check_groups(input, num_groups, weight, bias)
    size = math.prod(spatial)
    order = suggested(input.shape, input.stride())
    dense = [None if t is None else t.contiguous() for t in (weight, bias)]
    dense.insert(0, input.contiguous(memory_format=order))
    return ops.native_group_norm(*dense, samples, channels, size, num_groups, eps)[0]


def local_response_norm(
    input: Tensor,
    size: int,
    alpha: float = 1e-4,
    beta: float = 0.75,
    k: float = 1.0,
) -> Tensor:
    """Divide by a power of the mean square over neighbouring channels."""
    if input.dim() < 3:
        raise ValueError(
            "Expected 3D or higher dimensionality                          input (got "
            f"{input.dim()} dimensions)"
        )
    if input.numel() == 0:
        return input
    square = input.mul(input)
    before, after = size // 2, (size - 1) // 2
    pad = FUNCTIONS["constant_pad_nd"]
    if input.dim() == 3:
        square = pad(square.unsqueeze(1), (0, 0, before, after), 0)
        mean = avg_pool2d(square, (size, 1), stride=1).squeeze(1)
    else:
        sizes = tuple(input.shape)
        square = square.view((sizes[0], 1, sizes[1], sizes[2], -1))
        square = pad(square, (0, 0, 0, 0, before, after), 0)
        mean = avg_pool3d(square, (size, 1, 1), stride=1).squeeze(1).view(sizes)
    return input / mean.mul(alpha).add(k).pow(beta)
