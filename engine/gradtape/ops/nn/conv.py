"""Convolution, transposed or not, of one to three dimensions; unfold and fold."""

from __future__ import annotations

from typing import Any

from ..._dispatch.declare import Array, op
from ..._modes.grad_mode import mode
from .._kernels import conv
from .._kernels.bitwise_select import check_floating
from .._kernels.sliding_windows import Sizes, Window, columns, fold, volume
from .._support.memory_formats import keeps_format
from .._support.new_tensor import row_major
from .._support.operands import hidden_op


def _derivative(
    F: Any,
    grad: Any,
    input: Any,
    weight: Any,
    bias_shape: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    transposed: Any,
    output_padding: Any,
    groups: Any,
    needs: Any,
) -> Any:
    found = F.convolution_backward(
        grad,
        F.conj(input),
        F.conj(weight),
        bias_shape,
        stride,
        padding,
        dilation,
        transposed,
        output_padding,
        groups,
        needs,
    )
    return tuple(g if need else None for g, need in zip(found, needs, strict=True))


@op(
    {("input", "weight", "bias"): _derivative},
    method=False,
)
@keeps_format(0, 1)
def convolution(
    xp: Any,
    input: Array,
    weight: Array,
    bias: Array | None,
    stride: Sizes,
    padding: Sizes,
    dilation: Sizes,
    transposed: bool,
    output_padding: Sizes,
    groups: int,
) -> Any:
    """Convolve a batch; all sizes have one entry per spatial dimension."""
    dtype = input.dtype
    if dtype.itemsize == 2:  # BLAS has no 16-bit floats
        wide = [
            None if a is None else a.astype("float32") for a in (input, weight, bias)
        ]
        input, weight, bias = wide
    window = Window(weight.shape[2:], stride, padding, dilation)
    if not input.shape[1]:  # without channels, there are none in the result either
        spatial = window.outputs(input.shape[2:])
        found = xp.empty((input.shape[0], 0, *spatial), input.dtype)
    elif not transposed:
        found = conv.forward(
            xp, input, weight, bias, window, groups, keep=mode.now.grad
        )
    else:
        spatial = window.spread(input.shape[2:], output_padding)
        found = conv.input_gradient(xp, input, weight, spatial, window, groups)
        if bias is not None:
            found += bias.reshape(-1, *(1,) * len(spatial))
    return found if found.dtype == dtype else found.astype(dtype)


def _second_derivative(
    F: Any,
    grad: Any,
    grad_output: Any,
    input: Any,
    weight: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    transposed: Any,
    output_padding: Any,
    groups: Any,
    output_mask: Any,
    needs: Any,
) -> Any:
    """Differentiate the three gradients, each linear in what it is computed from."""
    by_input, by_weight, by_bias = (
        g if asked else None for g, asked in zip(grad, output_mask, strict=True)
    )
    how = (stride, padding, dilation, transposed, output_padding, groups)
    outgoing = None
    if needs[0]:
        parts: list[Any] = []
        if by_input is not None:
            parts.append(F.convolution(by_input, F.conj(weight), None, *how))
        if by_weight is not None:
            parts.append(F.convolution(F.conj(input), by_weight, None, *how))
        if by_bias is not None:
            shape = (1, -1, *(1,) * len(stride))
            parts.append(F.expand(F.reshape(by_bias, shape), tuple(grad_output.shape)))
        for part in parts:
            outgoing = part if outgoing is None else outgoing + part
    wanted = (
        needs[1] and by_weight is not None,
        needs[2] and by_input is not None,
        False,
    )
    found: Any = (None, None, None)
    if any(wanted):
        found = F.convolution_backward(
            F.conj(grad_output),
            input if by_input is None else by_input,
            weight if by_weight is None else by_weight,
            None,
            *how,
            wanted,
        )
    into_input, into_weight = (
        g if want else None for g, want in zip(found[:2], wanted[:2], strict=True)
    )
    return outgoing, into_input, into_weight


@hidden_op(
    {("grad_output", "input", "weight"): _second_derivative},
    outputs=3,
    differentiable=(0, 1, 2),
)
@keeps_format(1, 2)
def convolution_backward(
    xp: Any,
    grad_output: Array,
    input: Array,
    weight: Array,
    bias_shape: Any,
    stride: Sizes,
    padding: Sizes,
    dilation: Sizes,
    transposed: bool,
    output_padding: Sizes,
    groups: int,
    output_mask: tuple[bool, bool, bool],
) -> Any:
    """Return the gradients of input, weight and bias; an empty one if not asked."""
    dtype = input.dtype
    if dtype.itemsize == 2:
        wide = [a.astype("float32") for a in (grad_output, input, weight)]
        grad_output, input, weight = wide
    window = Window(weight.shape[2:], stride, padding, dilation)
    into_input, into_weight, into_bias = output_mask
    nothing = xp.empty((0,), dtype)
    first = second = None
    if not input.shape[1]:
        first, second = xp.empty(input.shape, dtype), xp.empty(weight.shape, dtype)
    elif not transposed:
        if into_input or into_weight:
            first, second = conv.gradients(
                xp,
                grad_output,
                input if into_weight else None,
                weight,
                input.shape[2:],
                window,
                groups,
                into_input,
            )
    else:
        if into_input:
            first = conv.forward(xp, grad_output, weight, None, window, groups)
            # Output padding as wide as a stride makes room for one more window.
            inside = tuple(slice(n) for n in input.shape[2:])
            first = xp.ascontiguousarray(first[(..., *inside)])
        if into_weight:
            second = conv.weight_gradient(
                xp, input, grad_output, weight, window, groups
            )
    if into_weight:
        second = row_major(xp, second)
    third = None
    if into_bias:
        third = _channel_sums(xp, grad_output)
        if not input.shape[1]:
            third = xp.zeros(bias_shape, dtype)
    return tuple(
        nothing if g is None else g.astype(dtype, copy=False)
        for g in (first, second, third)
    )


def _channel_sums(xp: Any, grad: Any) -> Any:
    """Add up all but the channels; the inner sums by a product with ones."""
    samples, channels = grad.shape[:2]
    flat = grad.reshape(samples, channels, volume(grad.shape[2:]))
    return xp.matmul(flat, xp.ones(flat.shape[2], grad.dtype)).sum(0)


# ---- unfold and fold: the columns themselves ----


@hidden_op(
    {
        "self": lambda F, grad, self_shape, kernel_size, dilation, padding, stride: (
            F.col2im(grad, self_shape[-2:], kernel_size, dilation, padding, stride)
        )
    },
    node="Im2ColBackward0",
)
def im2col(
    xp: Any,
    self: Array,
    kernel_size: Sizes,
    dilation: Sizes,
    padding: Sizes,
    stride: Sizes,
) -> Any:
    """List the windows of images: (N, C * kernel, windows)."""
    check_floating(self, "im2col_out_cpu", "iu")
    window = Window(kernel_size, stride, padding, dilation)
    images = self if self.ndim == 4 else self[None]
    outputs = window.outputs(images.shape[2:])
    found = columns(xp, images, window, outputs)
    found = found.transpose(3, 0, 1, 2, 4, 5).copy()
    rows = images.shape[1] * volume(kernel_size)
    found = found.reshape(images.shape[0], rows, volume(outputs))
    return found if self.ndim == 4 else found[0]


@hidden_op(
    {
        "self": lambda F, grad, output_size, kernel_size, dilation, padding, stride: (
            F.im2col(grad, kernel_size, dilation, padding, stride)
        )
    },
    node="Col2ImBackward0",
)
def col2im(
    xp: Any,
    self: Array,
    output_size: Sizes,
    kernel_size: Sizes,
    dilation: Sizes,
    padding: Sizes,
    stride: Sizes,
) -> Any:
    """Add up windows where they overlap: (N, C, height, width)."""
    check_floating(self, "col2im_out_cpu", "iu")
    window = Window(kernel_size, stride, padding, dilation)
    outputs = window.outputs(output_size)
    cols = self if self.ndim == 3 else self[None]
    channels = cols.shape[1] // volume(kernel_size)
    split = cols.reshape(cols.shape[0], channels, *kernel_size, *outputs)
    turned = split.transpose(1, 2, 3, 0, 4, 5)
    found = fold(xp, turned, output_size, window, outputs).swapaxes(0, 1)
    found = xp.ascontiguousarray(found)
    return found if self.ndim == 3 else found[0]
