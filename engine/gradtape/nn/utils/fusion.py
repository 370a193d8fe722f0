"""Fusing a batch norm in evaluation mode into the layer before it."""

from __future__ import annotations

import copy
from typing import Any

from ..._dispatch.declare import FUNCTIONS
from ..._tensor.tensor import Tensor
from ..parameter import Parameter

Pair = tuple[Parameter, Parameter]


def fuse_conv_bn_eval(conv: Any, bn: Any, transpose: bool = False) -> Any:
    """Return a convolution that does what a convolution and a batch norm do.

    Both must be in evaluation mode; ``transpose`` says that it is a transposed one.

    >>> import gradtape as torch
    >>> conv, bn = torch.nn.Conv2d(2, 4, 3).eval(), torch.nn.BatchNorm2d(4).eval()
    >>> fused, x = torch.nn.utils.fuse_conv_bn_eval(conv, bn), torch.ones(1, 2, 5, 5)
    >>> torch.allclose(fused(x), bn(conv(x)), atol=1e-6)
    True
    """
    fused = _copied(conv, bn)
    fused.weight, fused.bias = fuse_conv_bn_weights(
        fused.weight, fused.bias, *_statistics(bn), transpose=transpose
    )
    return fused


def fuse_conv_bn_weights(
    conv_w: Tensor,
    conv_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor | None,
    bn_b: Tensor | None,
    transpose: bool = False,
) -> Pair:
    """Return the weight and bias of the fused convolution."""
    shape = [-1, 1, *[1] * (conv_w.dim() - 2)]
    if transpose:
        shape[:2] = 1, -1
    return _fused(conv_w, conv_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, shape)


def fuse_linear_bn_eval(linear: Any, bn: Any) -> Any:
    """Return a linear layer that does what a linear layer and a batch norm do."""
    fused = _copied(linear, bn)
    if linear.out_features != bn.num_features and bn.num_features != 1:
        raise AssertionError(
            "To fuse, linear.out_features == bn.num_features or bn.num_features == 1"
        )
    fused.weight, fused.bias = fuse_linear_bn_weights(
        fused.weight, fused.bias, *_statistics(bn)
    )
    return fused


def fuse_linear_bn_weights(
    linear_w: Tensor,
    linear_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor | None,
    bn_b: Tensor | None,
) -> Pair:
    """Return the weight and bias of the fused linear layer."""
    return _fused(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, [-1, 1])


def _copied(layer: Any, bn: Any) -> Any:
    if layer.training or bn.training:
        raise AssertionError("Fusion only for eval!")
    if bn.running_mean is None or bn.running_var is None:
        raise AssertionError("Batch norm running stats must not be None for fusion")
    return copy.deepcopy(layer)


def _statistics(bn: Any) -> tuple[Any, ...]:
    return bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias


def _fused(
    weight: Tensor,
    bias: Tensor | None,
    mean: Tensor,
    variance: Tensor,
    eps: float,
    scale: Tensor | None,
    shift: Tensor | None,
    shape: list[int],
) -> Pair:
    kind, bias_kind = weight.dtype, weight.dtype if bias is None else bias.dtype
    needs = weight.requires_grad, bias is not None and bias.requires_grad
    old = FUNCTIONS["zeros_like"](mean) if bias is None else bias
    factor = FUNCTIONS["rsqrt"](variance + eps)
    factor = factor if scale is None else scale * factor
    new_weight = (weight * factor.reshape(shape)).to(kind)
    new_bias = (old - mean) * factor
    new_bias = (new_bias if shift is None else new_bias + shift).to(bias_kind)
    return Parameter(new_weight, needs[0]), Parameter(new_bias, needs[1])
