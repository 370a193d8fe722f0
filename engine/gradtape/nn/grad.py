"""Gradients of convolutions as functions of their own: ``torch.nn.grad``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .._dispatch.declare import tensor_ops
from .._tensor.tensor import Tensor
from ..ops._kernels.sliding_windows import spread

_NAMES = ("stride", "padding", "dilation")


def _gradient(
    dims: int,
    place: int,
    grad_output: Tensor,
    input: Tensor,
    weight: Tensor,
    windows: Sequence[Any],
    groups: int,
) -> Tensor:
    """Return the gradient of input (place 0) or weight (place 1)."""
    steps = [
        spread(given, dims, name, "convolution_backward")
        for given, name in zip(windows, _NAMES, strict=True)
    ]
    asked = (place == 0, place == 1, False)
    return tensor_ops.convolution_backward(
        grad_output, input, weight, None, *steps, False, (0,) * dims, groups, asked
    )[place]


def _room(like: Tensor, size: Sequence[int]) -> Tensor:
    """Return a tensor of a size that takes no memory; only its shape is read."""
    return like.new_zeros(1).expand(tuple(size))  # type: ignore[attr-defined]


def _of_input(dims: int) -> Callable[..., Tensor]:
    def conv_input(
        input_size: Sequence[int],
        weight: Tensor,
        grad_output: Tensor,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
    ) -> Tensor:
        windows, room = (stride, padding, dilation), _room(grad_output, input_size)
        return _gradient(dims, 0, grad_output, room, weight, windows, groups)

    conv_input.__name__ = conv_input.__qualname__ = f"conv{dims}d_input"
    conv_input.__doc__ = f"Return the gradient of a {dims}-D convolution's input."
    return conv_input


def _of_weight(dims: int) -> Callable[..., Tensor]:
    def conv_weight(
        input: Tensor,
        weight_size: Sequence[int],
        grad_output: Tensor,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
    ) -> Tensor:
        windows, room = (stride, padding, dilation), _room(grad_output, weight_size)
        return _gradient(dims, 1, grad_output, input, room, windows, groups)

    conv_weight.__name__ = conv_weight.__qualname__ = f"conv{dims}d_weight"
    conv_weight.__doc__ = f"Return the gradient of a {dims}-D convolution's weight."
    return conv_weight


conv1d_input, conv1d_weight = _of_input(1), _of_weight(1)
conv2d_input, conv2d_weight = _of_input(2), _of_weight(2)
conv3d_input, conv3d_weight = _of_input(3), _of_weight(3)
