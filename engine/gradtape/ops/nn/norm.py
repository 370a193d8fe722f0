"""Batch, layer, group and weight normalisation.

Backward on arrays is one kernel each. Under ``create_graph`` the same gradient is
written out in recorded ops, so that every further derivative follows.
"""

from __future__ import annotations

import math
from typing import Any

from ..._dispatch.declare import Array, op, public
from ..._tensor.tensor import Tensor
from .._kernels.bitwise_select import check_floating
from .._kernels.norm import (
    batch_backward,
    batch_forward,
    group_backward,
    group_forward,
    layer_backward,
    layer_forward,
)
from .._support.memory_formats import keeps_format, lain_in
from .._support.new_tensor import row_major
from .._support.norm_checks import check_mixed, check_normalized
from .._support.operands import hidden_op
from .._support.out_argument import with_out
from .._support.special import widened

Shape = tuple[int, ...]


def _masked(found: Any, needs: Any) -> tuple[Any, ...]:
    return tuple(g if need else None for g, need in zip(found, needs, strict=True))


def _centred(F: Any, grad: Any, normal: Any, invstd: Any, dims: Shape) -> Any:
    """Take out of a gradient what normalising over ``dims`` cannot pass on."""
    rest = grad - F.mean(grad, dims, True) - normal * F.mean(grad * normal, dims, True)
    return invstd * rest


def _normalised(F: Any, input: Any, dims: Shape, eps: float) -> tuple[Any, Any]:
    centre = input - F.mean(input, dims, True)
    invstd = F.rsqrt(F.mean(centre * centre, dims, True) + eps)
    return centre * invstd, invstd


# ---- batch ----


def _batch_derivative(
    F: Any,
    grad: Any,
    input: Any,
    weight: Any,
    running_mean: Any,
    running_var: Any,
    training: bool,
    eps: float,
    result1: Any,
    result2: Any,
    needs: Any,
) -> Any:
    if F.raw:
        found = F._batch_norm_backward(
            grad[0],
            input,
            weight,
            running_mean,
            running_var,
            result1,
            result2,
            training,
            eps,
            needs[0],
        )
        return _masked(found, needs[:3])
    return _masked(
        _batch_composed(
            F, grad[0], input, weight, running_mean, running_var, training, eps
        ),
        needs[:3],
    )


def _batch_composed(
    F: Any,
    grad: Any,
    input: Any,
    weight: Any,
    running_mean: Any,
    running_var: Any,
    training: bool,
    eps: float,
) -> tuple[Any, Any, Any]:
    dims = (0, *range(2, input.dim()))
    shape = (1, -1, *(1,) * (input.dim() - 2))
    scaled = grad if weight is None else grad * F.reshape(weight, shape)
    if training:
        normal, invstd = _normalised(F, input, dims, eps)
        into_input = _centred(F, scaled, normal, invstd, dims)
    else:
        invstd = F.rsqrt(F.reshape(running_var, shape) + eps)
        normal = (input - F.reshape(running_mean, shape)) * invstd
        into_input = scaled * invstd
    return into_input, F.sum(grad * normal, dims), F.sum(grad, dims)


@hidden_op(
    {("input", "weight", "bias"): _batch_derivative},
    name="native_batch_norm",
    key="_native_batch_norm",
    outputs=3,
)
@keeps_format(0, format_of=lain_in)
def _native_batch_norm(
    xp: Any,
    input: Array,
    weight: Array | None,
    bias: Array | None,
    running_mean: Array | None,
    running_var: Array | None,
    training: bool,
    eps: float,
    moving: tuple[Any, Any] = (None, None),
    momentum: float = 0.0,
) -> Any:
    """Normalise each channel; return output, mean and inverse deviation.

    In training the statistics that are ``moving``, arrays or None, are written.
    """
    check_floating(input, "batch_norm")
    return batch_forward(
        xp,
        input,
        weight,
        bias,
        running_mean,
        running_var,
        training,
        eps,
        moving,
        momentum,
    )


@public
@with_out("expected scalar type {result} but found {out}")
def native_batch_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
) -> tuple[Tensor, Tensor, Tensor]:
    """Normalise each channel; in training move the running statistics along.

    Returns the output, and the mean and inverse deviation that were used.
    """
    arrays = [None if t is None else t._data for t in (running_mean, running_var)]
    scales = [None if t is None else t._data for t in (weight, bias)]
    if input.is_floating_point():
        check_mixed(input._data, *scales, *arrays)
    if not training:
        return _native_batch_norm(
            input, weight, bias, running_mean, running_var, training, eps
        )
    # The running statistics are written, not read: nothing to save. As in PyTorch this
    # counts as no new version: a graph that evaluated with the old ones may still be
    # differentiated.
    return _native_batch_norm(
        input, weight, bias, None, None, training, eps, tuple(arrays), momentum
    )


hidden_op({}, name="_batch_norm_backward")(keeps_format(1)(batch_backward))


# ---- layer ----


def _layer_derivative(
    F: Any,
    grad: Any,
    input: Any,
    normalized_shape: Shape,
    weight: Any,
    bias: Any,
    eps: float,
    result1: Any,
    result2: Any,
    needs: Any,
) -> Any:
    if F.raw:
        found = F._layer_norm_backward(
            grad[0], input, normalized_shape, result1, result2, weight, needs[0]
        )
        return _masked(found, needs)
    dims = tuple(range(input.dim() - len(normalized_shape), input.dim()))
    lead = tuple(range(input.dim() - len(normalized_shape)))
    normal, invstd = _normalised(F, input, dims, eps)
    scaled = grad[0] if weight is None else grad[0] * weight
    each = (
        _centred(F, scaled, normal, invstd, dims),
        F.sum(grad[0] * normal, lead) if lead else grad[0] * normal,
        F.sum(grad[0], lead) if lead else grad[0],
    )
    return _masked(each, needs)


def _check_layer(
    _name: str, input: Any, weight: Any, bias: Any, shape: Any, *_: Any
) -> None:
    check_normalized(input, tuple(shape), weight=weight, bias=bias)


@op(
    {("input", "weight", "bias"): _layer_derivative},
    node="NativeLayerNormBackward0",
    outputs=3,
    method=False,
    check=_check_layer,
)
def native_layer_norm(
    xp: Any,
    input: Array,
    normalized_shape: Shape,
    weight: Array | None,
    bias: Array | None,
    eps: float,
) -> Any:
    """Normalise the last dimensions; return output, mean and inverse deviation."""
    check_mixed(input, weight, bias)
    check_floating(input, "LayerNormKernelImpl")
    found, *moments = layer_forward(xp, input, normalized_shape, weight, bias, eps)
    if weight is None or weight.dtype == input.dtype:
        moments = [each.astype(input.dtype, copy=False) for each in moments]
    return found, *moments


hidden_op({}, name="_layer_norm_backward")(layer_backward)


# ---- group ----


def _group_derivative(
    F: Any,
    grad: Any,
    input: Any,
    weight: Any,
    group: int,
    eps: float,
    result1: Any,
    result2: Any,
    needs: Any,
) -> Any:
    outgoing, by_mean, by_rstd = grad
    if F.raw and by_mean is None and by_rstd is None:
        found = F._group_norm_backward(
            outgoing, input, result1, result2, weight, group, needs[0]
        )
        return _masked(found, needs)
    if outgoing is None:
        outgoing = F.zeros_like(input)
    shape = tuple(input.shape)
    per_channel = (1, shape[1], *(1,) * (len(shape) - 2))
    grouped = (shape[0], group, math.prod(shape[1:]) // group)
    normal, invstd = _normalised(F, F.reshape(input, grouped), (2,), eps)
    scaled = outgoing if weight is None else outgoing * F.reshape(weight, per_channel)
    dims = (0, *range(2, len(shape)))
    into_input = _centred(F, F.reshape(scaled, grouped), normal, invstd, (2,))
    if by_mean is not None:
        into_input = into_input + F.unsqueeze(by_mean, 2) / grouped[2]
    if by_rstd is not None:  # the slope of (var + eps) ** -0.5
        slope = F.unsqueeze(by_rstd, 2) * invstd * invstd / grouped[2]
        into_input = into_input - slope * normal
    each = (
        F.reshape(into_input, shape),
        F.sum(outgoing * F.reshape(normal, shape), dims),
        F.sum(outgoing, dims),
    )
    return _masked(each, needs)


@op(
    {("input", "weight", "bias"): _group_derivative},
    node="NativeGroupNormBackward0",
    outputs=3,
    differentiable=(0, 1, 2),
    method=False,
)
@keeps_format(0)
def native_group_norm(
    xp: Any,
    input: Array,
    weight: Array | None,
    bias: Array | None,
    N: int,  # noqa: N803 - PyTorch's names
    C: int,  # noqa: N803
    HxW: int,  # noqa: N803
    group: int,
    eps: float,
) -> Any:
    """Normalise groups of channels; return output, mean and inverse deviation."""
    check_mixed(input, weight, bias)
    check_floating(input, "GroupNormKernelImpl")
    return group_forward(xp, input, weight, bias, group, eps)


hidden_op({}, name="_group_norm_backward")(keeps_format(1)(group_backward))


def _others(ndim: int, dim: int) -> tuple[int, ...]:
    return tuple(d for d in range(ndim) if d != dim)


def _weight_norm_backward(F: Any, grad: Any, v: Any, g: Any, dim: int) -> Any:
    """Split a gradient: along v it changes the length, the rest turns the direction.

    Lengths are computed anew, as they depend on v where this is differentiated again.
    """
    rows = _others(len(v.shape), dim % len(v.shape))
    lengths = F.sqrt(F.sum(v * v, rows, True))
    along = F.sum(grad[0] * v, rows, True) / lengths
    return (grad[0] - v * (along / lengths)) * (g / lengths), along


@op(
    {("v", "g"): _weight_norm_backward},
    name="_weight_norm_interface",
    node="WeightNormInterfaceBackward0",
    outputs=2,
    method=False,
)
def _weight_norm_interface(xp: Any, v: Array, g: Array, dim: int = 0) -> Any:
    """Return ``v`` scaled to the lengths ``g`` along the first or last dimension.

    The second result are the lengths that ``v`` has.
    """
    rows, wide = _others(v.ndim, dim % v.ndim), widened(v)
    lengths = xp.sqrt(xp.sum(wide * wide, axis=rows, keepdims=True))
    found = (wide * (widened(g) / lengths)).astype(v.dtype, copy=False)
    return row_major(xp, found), lengths.astype(g.dtype, copy=False)


@public
def norm_except_dim(v: Tensor, pow: int = 2, dim: int = 0) -> Tensor:
    """Return the norm of each slice along ``dim``; of the whole for ``dim=-1``.

    The result has as many dimensions as ``v``, of size 1 but for ``dim``.

    >>> import gradtape as torch
    >>> torch.norm_except_dim(torch.tensor([[3.0, 4.0], [0.0, 1.0]]))
    tensor([[5.],
            [1.]])
    """
    last = v.dim() - 1
    if dim == -1:
        return v.norm(pow)
    if dim == 0:
        shape = (v.size(0), *(1,) * last)
        return v.contiguous().view(v.size(0), -1).norm(pow, 1).view(shape)
    if dim == last:
        shape = (*(1,) * last, v.size(last))
        return v.contiguous().view(-1, v.size(last)).norm(pow, 0).view(shape)
    return norm_except_dim(v.transpose(0, dim), pow, 0).transpose(0, dim)


@public
def _weight_norm(v: Tensor, g: Tensor, dim: int = 0) -> Tensor:
    """Return ``v`` scaled to the lengths ``g`` of its slices along ``dim``."""
    if dim in (0, v.dim() - 1):
        return _weight_norm_interface(v, g, dim)[0]
    return v * (g / norm_except_dim(v, 2, dim))
