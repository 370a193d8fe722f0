"""Normalisation on arrays, each pass in as few sweeps over memory as NumPy allows.

Sums over the innermost dimension go through BLAS: a product with ones is three times
as fast as ``sum`` and as accurate. 16-bit input is computed in float32. Layers have
compiled kernels too: 512 rows of 256 take NumPy 142 µs and back 300, those 24 and 46.
"""

from __future__ import annotations

import math
from typing import Any

from ..._backend.compiled import kernel_for
from ..._dispatch.declare import Array
from .blas_sums import row_sums

Shape = tuple[int, ...]


def _wide(array: Any) -> Any:
    return array.astype("float32") if array.dtype.itemsize == 2 else array


def _dense(xp: Any, array: Any) -> Any:
    return xp.ascontiguousarray(_wide(array))


_LONG = 1 << 16
"""Longer rows are added up pairwise, not by BLAS: it loses digits in float32."""


def _inner_sums(xp: Any, array: Any) -> Any:
    """Sum over the last dimension."""
    return array.sum(-1) if array.shape[-1] > _LONG else row_sums(xp, array)


def _inner_dots(xp: Any, first: Any, second: Any) -> Any:
    """Sum products over the last dimension."""
    if first.shape[-1] > _LONG:
        return (first * second).sum(-1)
    return xp.matmul(first[..., None, :], second[..., :, None])[..., 0, 0]


def _cast(array: Any, dtype: Any) -> Any:
    return array if array.dtype == dtype else array.astype(dtype)


# ---- batch: statistics per channel, over samples and space ----


def _by_channel(array: Any) -> Any:
    samples, channels = array.shape[:2]
    return array.reshape(samples, channels, math.prod(array.shape[2:]))


def _channel_sum(xp: Any, flat: Any) -> Any:
    return _inner_sums(xp, flat).sum(0) if flat.shape[2] > 1 else flat[..., 0].sum(0)


def _channel_dot(xp: Any, first: Any, second: Any) -> Any:
    if first.shape[2] == 1:
        return xp.einsum("nc,nc->c", first[..., 0], second[..., 0])
    return _inner_dots(xp, first, second).sum(0)


def batch_forward(
    xp: Any,
    input: Any,
    weight: Any,
    bias: Any,
    running_mean: Any,
    running_var: Any,
    training: bool,
    eps: float,
    moving: tuple[Any, Any],
    momentum: float,
) -> tuple[Any, Any, Any]:
    """Return output, mean and inverse deviation; move statistics along in training.

    All but the output are empty in evaluation.
    """
    flat = _by_channel(_dense(xp, input))
    count = flat.shape[0] * flat.shape[2]
    if training:
        mean = _channel_sum(xp, flat) / flat.dtype.type(count)
        centred = flat - mean[:, None]
        var = _channel_dot(xp, centred, centred) / flat.dtype.type(count)
        _move(moving[0], mean, momentum)
        _move(moving[1], var * (count / max(count - 1, 1)), momentum)
        kind = input.dtype if weight is None else weight.dtype
        invstd = 1 / xp.sqrt(var + flat.dtype.type(eps))
        if not eps:
            invstd[var == 0] = 0
        invstd = _cast(invstd, kind)
        if kind.itemsize == 2:  # what backward is going to read is used here, too
            mean = _cast(mean, kind)
            centred = flat - _wide(mean)[:, None]
    else:
        mean = _wide(running_mean)
        invstd = 1 / xp.sqrt(_wide(running_var) + eps)
        centred = flat - mean[:, None]
    scale = _wide(invstd) if weight is None else _wide(invstd) * weight
    found = xp.multiply(centred, scale[:, None], centred)
    if bias is not None:
        xp.add(found, _wide(bias)[:, None], found)
    output = _cast(found, input.dtype).reshape(input.shape)
    if not training:
        nothing = xp.empty((0,), flat.dtype)
        return output, nothing, nothing.copy()
    return output, mean, invstd


def _move(running: Any, value: Any, momentum: float) -> None:
    """Move running statistics towards those of a batch."""
    if running is not None:
        running *= 1 - momentum
        running += (momentum * value).astype(running.dtype)


def batch_backward(
    xp: Any,
    grad_output: Array,
    input: Array,
    weight: Array | None,
    running_mean: Array | None,
    running_var: Array | None,
    save_mean: Array,
    save_invstd: Array,
    training: bool,
    eps: float,
    into_input: bool,
) -> tuple[Any, Any, Any]:
    """Return the gradients of input, weight and bias."""
    if training:
        mean, invstd = _wide(save_mean), _wide(save_invstd)
    else:
        mean = _wide(running_mean)
        invstd = 1 / xp.sqrt(_wide(running_var) + eps)
    flat, outer = (_by_channel(_dense(xp, a)) for a in (input, grad_output))
    centred = flat - mean[:, None]
    into_bias = _channel_sum(xp, outer)
    dots = _channel_dot(xp, outer, centred)
    into_weight = dots * invstd if flat.size else dots  # no samples: no statistics
    found = None
    if into_input:
        scale = invstd if weight is None else invstd * weight
        if training:
            count = flat.dtype.type(flat.shape[0] * flat.shape[2])
            slope = dots * invstd * invstd / count
            found = xp.multiply(centred, slope[:, None], centred)
            xp.subtract(outer, found, found)
            found -= (into_bias / count)[:, None]
            found *= scale[:, None]
        else:
            found = outer * scale[:, None]
        found = _cast(found, input.dtype).reshape(input.shape)
    kind = input.dtype if weight is None else weight.dtype
    return found, _cast(into_weight, kind), _cast(into_bias, kind)


# ---- layer: statistics per sample, over the last dimensions ----


def layer_forward(
    xp: Any,
    input: Any,
    normalized_shape: Shape,
    weight: Any,
    bias: Any,
    eps: float,
) -> tuple[Any, Any, Any]:
    """Return output, mean and inverse deviation."""
    size = math.prod(normalized_shape)
    lead = input.shape[: input.ndim - len(normalized_shape)]
    rows = _dense(xp, input).reshape(math.prod(lead), size)
    compiled = kernel_for("rows.layer", rows, weight, bias)
    if compiled and size <= _LONG:
        found = xp.empty_like(rows)
        mean, invstd = (xp.empty(len(rows), rows.dtype) for _ in range(2))
        scales = weight.reshape(-1), bias.reshape(-1)
        compiled(found, mean, invstd, rows, *scales, eps)
    else:
        found, mean, invstd = _normal_rows(xp, rows, eps)
        if weight is not None:
            found *= _wide(weight).reshape(-1)
        if bias is not None:
            found += _wide(bias).reshape(-1)
    shape = (*lead, *(1,) * len(normalized_shape))
    output = _cast(found, input.dtype).reshape(input.shape)
    return output, mean.reshape(shape), invstd.reshape(shape)


def _normal_rows(xp: Any, rows: Any, eps: float) -> tuple[Any, Any, Any]:
    """Return normalised rows, their means and inverse deviations."""
    size = rows.dtype.type(rows.shape[1])
    mean = _inner_sums(xp, rows)[:, None] / (size or 1)
    centred = rows - mean
    var = _inner_dots(xp, centred, centred)[:, None] / size
    invstd = 1 / xp.sqrt(var + rows.dtype.type(eps))
    return xp.multiply(centred, invstd, centred), mean, invstd


def layer_backward(
    xp: Any,
    grad_output: Array,
    input: Array,
    normalized_shape: Shape,
    mean: Array,
    rstd: Array,
    weight: Array | None,
    into_input: bool,
) -> tuple[Any, Any, Any]:
    """Return the gradients of input, weight and bias."""
    size = math.prod(normalized_shape)
    shape = mean.size, size
    rows, outer = (_dense(xp, a).reshape(shape) for a in (input, grad_output))
    kind = input.dtype if weight is None else weight.dtype
    compiled = kernel_for("rows.layer_back", rows, outer, mean, rstd, weight)
    if compiled and weight is not None and size <= _LONG:
        found = xp.empty_like(rows)  # quicker written than left out
        scales = [xp.zeros(size, rows.dtype) for _ in range(2)]
        moments = mean.reshape(-1), rstd.reshape(-1)
        compiled(found, *scales, outer, rows, *moments, weight.reshape(-1))
    else:
        mean, rstd = mean.reshape(-1, 1), rstd.reshape(-1, 1)
        normal = rows - mean
        normal *= rstd
        scales = [xp.einsum("rs,rs->s", outer, normal), outer.sum(0)]
        found = None
        if into_input:
            scaled = outer if weight is None else outer * _wide(weight).reshape(-1)
            found = _rows_backward(xp, scaled, normal, rstd)
    if found is not None:
        found = _cast(found, input.dtype).reshape(input.shape)
    into_weight, into_bias = (_cast(a, kind).reshape(normalized_shape) for a in scales)
    return found, into_weight, into_bias


def _rows_backward(xp: Any, grad: Any, normal: Any, rstd: Any) -> Any:
    """Send a gradient through the normalisation of rows; ``normal`` is overwritten."""
    size = grad.dtype.type(grad.shape[-1])
    dots = _inner_dots(xp, grad, normal)[..., None] / size
    means = _inner_sums(xp, grad)[..., None] / size
    found = xp.multiply(normal, dots, normal)
    xp.subtract(grad, found, found)
    found -= means
    found *= rstd
    return found


# ---- group: statistics per sample and group of channels ----


def group_forward(
    xp: Any, input: Any, weight: Any, bias: Any, group: int, eps: float
) -> tuple[Any, Any, Any]:
    """Return output, mean and inverse deviation."""
    samples, channels = input.shape[:2]
    spatial = math.prod(input.shape[2:])
    rows = _wide(input).reshape(samples, group, channels // group * spatial)
    size = rows.dtype.type(rows.shape[2])
    mean = _inner_sums(xp, rows) / size
    centred = rows - mean[..., None]
    var = _inner_dots(xp, centred, centred) / size
    invstd = 1 / xp.sqrt(var + rows.dtype.type(eps))
    centred *= invstd[..., None]
    found = centred.reshape(samples, channels, spatial)
    if weight is not None:
        found *= _wide(weight)[:, None]
    if bias is not None:
        found += _wide(bias)[:, None]
    return _cast(found, input.dtype).reshape(input.shape), mean, invstd


def group_backward(
    xp: Any,
    grad_output: Array,
    input: Array,
    mean: Array,
    rstd: Array,
    weight: Array | None,
    group: int,
    into_input: bool,
) -> tuple[Any, Any, Any]:
    """Return the gradients of input, weight and bias."""
    samples = input.shape[0]
    size = math.prod(input.shape[1:]) // group
    rows = _wide(input).reshape(samples, group, size)
    normal = rows - mean[..., None]
    normal *= rstd[..., None]
    outer = _by_channel(_dense(xp, grad_output))
    flat = normal.reshape(outer.shape)
    into_weight = _channel_dot(xp, outer, flat)
    into_bias = _channel_sum(xp, outer)
    found = None
    if into_input:
        scaled = outer if weight is None else outer * _wide(weight)[:, None]
        grouped = scaled.reshape(samples, group, size)
        found = _rows_backward(xp, grouped, normal, rstd[..., None])
        found = _cast(found, input.dtype).reshape(input.shape)
    kind = input.dtype if weight is None else weight.dtype
    return found, _cast(into_weight, kind), _cast(into_bias, kind)
