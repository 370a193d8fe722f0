"""Convolution on arrays: copies into columns, and one matrix product per block.

Samples are taken in blocks whose columns stay in the cache; a block of one sample
makes no difference to the result.
"""

from __future__ import annotations

from typing import Any

from . import im2col_cache as kept
from .scratch_memory import borrowed
from .sliding_windows import (
    Sizes,
    Window,
    columns,
    fold,
    fold_runs,
    fold_samples,
    padded,
    run_rows,
    volume,
)

BLOCK = 1 << 20
"""Elements of columns made at once."""

LARGE = 1 << 22
"""Columns of one sample, in elements, that are made a few rows of the output at once.

A kernel of 1 x 41 over 1024 x 1024 pixels of 3 channels would need 500 MB.
"""

ENOUGH = 64
"""Columns of a sample that are worth a product of their own."""

MANY, SMALL = 16, 128
"""Samples of how many cells are better innermost, where columns are added up: many of
small ones, whose own rows are short. For LeNet's second convolution 0.31 ms, not 0.51.
"""


def _blocks(samples: int, each: int) -> list[slice]:
    step = max(1, BLOCK // max(each, 1))
    return [slice(i, min(i + step, samples)) for i in range(0, samples, step)]


def _by_sample(samples: int, out: int, size: int) -> bool:
    """Tell whether each sample gets columns, and a product, of its own.

    Products with few rows go faster over a sample than over all of them at once, and
    need not be put in order afterwards: LeNet's first convolution takes 0.17 ms instead
    of 0.31, its weight's gradient 0.16 instead of 0.36. But a sample must have enough
    columns, and more than the kernels whose gradients of each sample are to be summed.
    """
    return size >= max(ENOUGH, out) and samples > 1


def _is_pointwise(window: Window) -> bool:
    ones = (1,) * len(window.kernel)
    return window.kernel == ones and window.stride == ones and not any(window.padding)


def forward(
    xp: Any,
    input: Any,
    weight: Any,
    bias: Any,
    window: Window,
    groups: int,
    keep: bool = False,
) -> Any:
    """Convolve (N, C, *spatial) with (O, C / groups, *kernel).

    ``keep``: a backward is to be expected, which needs the same columns.
    """
    samples, spatial = input.shape[0], input.shape[2:]
    outputs = window.outputs(spatial)
    out, depth, size = weight.shape[0], volume(weight.shape[1:]), volume(outputs)
    if _is_pointwise(window) and groups == 1:
        flat = input.reshape(samples, -1, size)
        found = xp.matmul(weight.reshape(out, depth), flat)
        if bias is not None:
            found += bias[:, None]
        return found.reshape(samples, out, *outputs)
    if groups * depth * size > LARGE and outputs[0] > 1:
        return _few_rows_at_once(xp, input, weight, bias, window, groups, outputs)
    found = xp.empty((samples, out, size), input.dtype)
    kernels = weight.reshape(groups, out // groups, depth)
    blocks = _blocks(samples, groups * depth * size)
    lay_out = kept.make if keep and len(blocks) == 1 else columns
    if _by_sample(samples, out // groups, size):
        made = found.reshape(samples, groups, out // groups, size)
        for block in blocks:
            seen = lay_out(xp, _in_a_row(input[block]), window, outputs)
            xp.matmul(kernels, seen.reshape(-1, groups, depth, size), made[block])
        if bias is not None:
            xp.add(found, bias[:, None], found)
        return found.reshape(samples, out, *outputs)
    for block in blocks:
        seen = lay_out(xp, input[block], window, outputs)
        seen = seen.reshape(groups, depth, -1)
        made = _by_group(xp, kernels, seen, "made")
        made = made.reshape(out, -1, size).swapaxes(0, 1)
        if bias is None:
            found[block] = made
        else:
            xp.add(made, bias[:, None], found[block])
    return found.reshape(samples, out, *outputs)


def _few_rows_at_once(
    xp: Any,
    input: Any,
    weight: Any,
    bias: Any,
    window: Window,
    groups: int,
    outputs: Sizes,
) -> Any:
    """Convolve parts of the input, cut along its first dimension in space."""
    input = padded(xp, input, window.padding, window.padding)
    inner = window._replace(padding=(0,) * len(outputs))
    each = groups * volume(weight.shape[1:]) * volume(outputs[1:])
    step, stride = max(1, LARGE // each), window.stride[0]
    found = xp.empty((input.shape[0], weight.shape[0], *outputs), input.dtype)
    for first in range(0, outputs[0], step):
        last = min(first + step, outputs[0])
        seen = input[:, :, first * stride : (last - 1) * stride + window.reach[0]]
        made = forward(xp, seen, weight, bias, inner, groups)
        found[:, :, first:last] = made
    return found


def _in_a_row(input: Any) -> Any:
    """Turn samples into channels of one: so each gets columns of its own."""
    return input.reshape(1, -1, *input.shape[2:])


def _by_channel(xp: Any, grad: Any, size: int) -> Any:
    """Turn (n, O, *outputs) into (O, n * size), in borrowed memory."""
    samples, out = grad.shape[:2]
    found = borrowed(xp, "by channel", (out, samples, size), grad.dtype)
    found[...] = grad.reshape(samples, out, size).swapaxes(0, 1)
    return found.reshape(out, -1)


def input_gradient(
    xp: Any, grad: Any, weight: Any, spatial: Sizes, window: Window, groups: int
) -> Any:
    """Send a gradient (N, O, *outputs) back to the input, (N, C, *spatial)."""
    return gradients(xp, grad, None, weight, spatial, window, groups)[0]


def weight_gradient(
    xp: Any, grad: Any, input: Any, weight: Any, window: Window, groups: int
) -> Any:
    """Send a gradient (N, O, *outputs) back to the weight."""
    spatial = input.shape[2:]
    return gradients(xp, grad, input, weight, spatial, window, groups, False)[1]


def gradients(
    xp: Any,
    grad: Any,
    input: Any,
    weight: Any,
    spatial: Sizes,
    window: Window,
    groups: int,
    into_input: bool = True,
) -> tuple[Any, Any]:
    """Return the gradients of input and weight; the second only if ``input`` is given.

    ``weight`` gives the values for the first and the shape for the second.
    """
    samples, out, outputs = grad.shape[0], grad.shape[1], grad.shape[2:]
    depth, size = volume(weight.shape[1:]), volume(outputs)
    channels = weight.shape[1] * groups
    kernels = weight.reshape(groups, out // groups, depth).swapaxes(1, 2)
    found = xp.empty((samples, channels, *spatial), grad.dtype) if into_input else None
    total: Any = None
    for block in _blocks(samples, groups * depth * size):
        if input is not None:
            made = _seen_by(xp, grad[block], input[block], kernels, window)
            total = made if total is None else xp.add(total, made, total)
        if found is not None:
            made = _spread(xp, grad[block], kernels, spatial, window)
            found[block] = made.swapaxes(0, 1)
    if input is not None:
        total = (
            xp.zeros(weight.shape, grad.dtype)
            if total is None
            else xp.ascontiguousarray(total.swapaxes(1, 2)).reshape(weight.shape)
        )
    return found, total


def _seen_by(xp: Any, grad: Any, input: Any, kernels: Any, window: Window) -> Any:
    """Send one block's gradient to the kernels: (groups, C * kernel, out)."""
    groups, depth, out = kernels.shape
    samples, outputs = grad.shape[0], grad.shape[2:]
    size = volume(outputs)
    if _by_sample(samples, out, size):
        seen = kept.take(xp, _in_a_row(input), window, outputs)
        part = xp.ascontiguousarray(grad).reshape(samples, groups, out, size)
        seen = seen.reshape(samples, groups, depth, size)
        return xp.matmul(seen, part.swapaxes(2, 3)).sum(0)
    part = _by_channel(xp, grad, size).reshape(groups, out, -1)
    seen = kept.take(xp, input, window, outputs).reshape(groups, depth, -1)
    return _by_group(xp, seen, part.swapaxes(1, 2))  # so BLAS is quicker


def _spread(xp: Any, grad: Any, kernels: Any, spatial: Sizes, window: Window) -> Any:
    """Send one block's gradient back: (C, n, *spatial).

    ``kernels`` is (groups, C * kernel, out).
    """
    groups, depth = kernels.shape[:2]
    channels = groups * depth // volume(window.kernel)
    outputs, count = grad.shape[2:], grad.shape[0]
    if count >= MANY and volume(outputs) <= SMALL:
        return _spread_samples(xp, grad, kernels, spatial, window)
    full = tuple(n + 2 * p for n, p in zip(spatial, window.padding, strict=True))
    # With rows as wide as the padded input's, a tap is one run of memory for the whole
    # block and not one per row: a fifth of the time, unless most of each row would be
    # filling. Outermost, rows need not be wide.
    first = 1 if len(spatial) > 1 else 0
    rows = run_rows(full, window)[first:]
    if volume(rows) <= 1.5 * volume(outputs[first:]):
        shape = (*outputs[:first], *rows[:-1], count, rows[-1])
        wide = borrowed(xp, "wide", (grad.shape[1], *shape), grad.dtype)
        wide.fill(0)
        there = (*(slice(n) for n in outputs[:-1]), slice(None), slice(outputs[-1]))
        wide[(slice(None), *there)] = xp.moveaxis(grad, 0, -2)
        part = wide.reshape(groups, grad.shape[1] // groups, -1)
        cols = _by_group(xp, kernels, part, "spread")
        cols = cols.reshape(channels, -1, volume(shape))
        return fold_runs(xp, cols, count, spatial, full, window)
    part = _by_channel(xp, grad, volume(outputs)).reshape(groups, kernels.shape[2], -1)
    cols = _by_group(xp, kernels, part, "spread")
    cols = cols.reshape(channels, *window.kernel, count, *outputs)
    return fold(xp, cols, spatial, window, outputs)


def _spread_samples(
    xp: Any, grad: Any, kernels: Any, spatial: Sizes, window: Window
) -> Any:
    """Do what :func:`_spread` does with the samples innermost."""
    groups, depth, out = kernels.shape
    channels, shape = groups * depth // volume(window.kernel), grad.shape
    last = borrowed(xp, "wide", (*shape[1:], shape[0]), grad.dtype)
    last[...] = xp.moveaxis(grad, 0, -1)
    cols = _by_group(xp, kernels, last.reshape(groups, out, -1), "spread")
    cols = cols.reshape(channels, *window.kernel, *last.shape[1:])
    found = fold_samples(xp, cols, spatial, window, shape[2:])
    return xp.moveaxis(found, -1, 1)


def _by_group(xp: Any, left: Any, right: Any, borrow: str = "") -> Any:
    """Multiply matrices group by group; one group needs no batched product.

    ``borrow`` names the scratch memory for the result, if it is not to be kept.
    """
    shape = (left.shape[0], left.shape[1], right.shape[2])
    if borrow:
        found = borrowed(xp, borrow, shape, left.dtype)
    else:
        found = xp.empty(shape, left.dtype)
    if shape[0] == 1:
        xp.dot(left[0], right[0], found[0])
        return found
    return xp.matmul(left, right, found)
