"""What PyTorch runs as one call in evaluation: a step with its activation, attention.

Composed of recorded ops, these have derivatives too, where PyTorch has none.
"""

from __future__ import annotations

import math
from typing import Any

from ..._autocast.autocast import autocasts
from ..._dispatch.declare import FUNCTIONS, public, tensor_ops
from ..._modes.grad_mode import no_grad
from ..._tensor.tensor import Tensor
from .._support.operands import not_implemented
from ..linalg.linear import linear, matmul
from ..reduction.softmax import _masked_softmax


@public
def _add_relu(input: Tensor, other: Any, *, alpha: Any = 1, out: Any = None) -> Tensor:
    """Return ``relu(input + alpha * other)``.

    >>> import gradtape as torch
    >>> torch._add_relu(torch.tensor([1.0, -2.0]), 1)
    tensor([2., 0.])
    """
    if not isinstance(other, Tensor):
        other = FUNCTIONS["as_tensor"](other, dtype=input.dtype)
    total = FUNCTIONS["add"](input, other, alpha=alpha)
    return FUNCTIONS["clamp_min"](total, 0, out=out)


@public
def _add_relu_(input: Tensor, other: Any, *, alpha: Any = 1) -> Tensor:
    """In-place version of _add_relu()."""
    return input.copy_(_add_relu(input, other, alpha=alpha))


@public
@autocasts("_addmm_activation")
def _addmm_activation(
    input: Tensor,
    mat1: Tensor,
    mat2: Tensor,
    *,
    beta: Any = 1,
    alpha: Any = 1,
    use_gelu: bool = False,
) -> Tensor:
    """Return ``relu(addmm(...))``, or gelu of it.

    >>> import gradtape as torch
    >>> torch._addmm_activation(torch.tensor([1.0, -9.0]), torch.eye(2), torch.eye(2))
    tensor([[2., 0.],
            [1., 0.]])
    """
    product = tensor_ops.addmm(input, mat1, mat2, beta=beta, alpha=alpha)
    return _activated(product, use_gelu)


def _activated(x: Tensor, use_gelu: bool) -> Tensor:
    return tensor_ops.gelu(x) if use_gelu else tensor_ops.relu(x)


@public
def batch_norm_update_stats(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    momentum: float,
) -> tuple[Tensor, Tensor]:
    """Move running statistics along; return each channel's mean and variance.

    >>> import gradtape as torch
    >>> mean, var = torch.zeros(1), torch.ones(1)
    >>> torch.batch_norm_update_stats(torch.tensor([[1.0], [3.0]]), mean, var, 0.5)
    (tensor([2.]), tensor([1.]))
    >>> mean, var
    (tensor([1.]), tensor([1.5000]))
    """
    if not input.numel():
        raise RuntimeError(
            "input tensor must have at least one element, but got input_sizes = "
            f"{list(input.shape)}"
        )
    if not input.is_floating_point():
        raise not_implemented("batch_norm_update_stats_cpu", input)
    dims = [d for d in range(input.dim()) if d != 1]
    with no_grad():
        var, mean = FUNCTIONS["var_mean"](input, dims, correction=0)
        count = input.numel() // mean.numel()
        if running_mean is not None:
            running_mean.lerp_(mean.to(running_mean.dtype), momentum)
        if running_var is not None:
            unbiased = var * (count / (count - 1) if count > 1 else math.nan)
            running_var.lerp_(unbiased.to(running_var.dtype), momentum)
    return mean, var


# ---- attention ----


@public
def _transform_bias_rescale_qkv(
    qkv: Tensor, qkv_bias: Tensor, num_heads: int
) -> tuple[Tensor, ...]:
    """Cut projections with a bias into query, key and value, each by heads.

    Those of shape (B, T, 3 D) become three of (B, H, T, D / H); queries are divided by
    the root of D / H.
    """
    size = qkv.size(2) // 3
    if size % num_heads:
        raise RuntimeError(
            "Expected D % num_head == 0 to be true, but got false.  (Could this error "
            "message be improved?  If so, please report an enhancement request to "
            "PyTorch.)"
        )
    each = size // num_heads
    parts = (qkv + qkv_bias).view(*qkv.shape[:2], 3, num_heads, each)
    query, key, value = parts.permute(2, 0, 3, 1, 4).contiguous().unbind()
    return query / math.sqrt(each), key, value


def _check_attention(
    inputs: dict[str, Tensor], size: int, heads: int, weight: Tensor, bias: Tensor
) -> None:
    query = inputs["query"]
    for name, each in inputs.items():
        if each.dim() != 3:
            raise RuntimeError(f"expected 3-D `{name}`, got {each.dim()}-D tensor")
        if query.size(2) != size:
            raise RuntimeError(
                f"passed-in embed_dim {size} didn't match last dim of query "
                f"{query.size(2)}"
            )
    if len({each.shape for each in inputs.values()}) > 1:
        raise RuntimeError("expected `query`/`key`/`value` shapes to match")
    for name, each, dims in (("qkv_weight", weight, 2), ("qkv_bias", bias, 1)):
        if each.dim() != dims:
            raise RuntimeError(f"expected {dims}-D `{name}`, got {each.dim()}-D tensor")
        if dims == 2 and weight.size(0) != 3 * size:
            raise RuntimeError("expected `qkv_weight` first dim to be 3x embed_dim")
        if dims == 2 and weight.size(1) != size:
            raise RuntimeError("expected `qkv_weight` second dim to be embed_Dim")
    if bias.size(0) != 3 * size:
        raise RuntimeError(
            "expected `qkv_bias` first dim and first dim of query to be equal"
        )
    if size % heads:
        raise RuntimeError("`embed_dim` must divide evenly by `num_heads`")


@public
@autocasts("_native_multi_head_attention")
def _native_multi_head_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim: int,
    num_head: int,
    qkv_weight: Tensor,
    qkv_bias: Tensor,
    proj_weight: Tensor,
    proj_bias: Tensor,
    mask: Tensor | None = None,
    need_weights: bool = True,
    average_attn_weights: bool = True,
    mask_type: int | None = None,
) -> tuple[Tensor, Tensor | None]:
    """Return attention of several heads, (B, T, D), and its weights or None.

    The mask is true where nobody looks; ``mask_type`` is that of _masked_softmax().
    Raises RuntimeError for sizes that do not fit.
    """
    inputs = {"query": query, "key": key, "value": value}
    _check_attention(inputs, embed_dim, num_head, qkv_weight, qkv_bias)
    if query is key is value:
        joint = linear(query, qkv_weight)
    else:
        parts = zip(inputs.values(), qkv_weight.chunk(3), strict=True)
        joint = FUNCTIONS["cat"]([linear(x, weight) for x, weight in parts], 2)
    if not joint.numel():
        return FUNCTIONS["empty_like"](query), None
    q, k, v = _transform_bias_rescale_qkv(joint, qkv_bias, num_head)
    scores = matmul(q, k.transpose(-2, -1))
    if mask is None:
        weights = FUNCTIONS["softmax"](scores, -1)
    else:
        weights = _masked_softmax(scores, mask.bool(), 3, mask_type)
    seen = matmul(weights, v).transpose(1, 2).reshape(query.shape)
    output = linear(seen, proj_weight, proj_bias)
    if not need_weights:
        return output, None
    return output, weights.sum(1) / num_head if average_attn_weights else weights


@public
def _transformer_encoder_layer_fwd(
    src: Tensor,
    embed_dim: int,
    num_heads: int,
    qkv_weight: Tensor,
    qkv_bias: Tensor,
    proj_weight: Tensor,
    proj_bias: Tensor,
    use_gelu: bool,
    norm_first: bool,
    eps: float,
    norm_weight_1: Tensor,
    norm_bias_1: Tensor,
    norm_weight_2: Tensor,
    norm_bias_2: Tensor,
    ffn_weight_1: Tensor,
    ffn_bias_1: Tensor,
    ffn_weight_2: Tensor,
    ffn_bias_2: Tensor,
    mask: Tensor | None = None,
    mask_type: int | None = None,
) -> Tensor:
    """Return what a layer of a transformer's encoder makes of (B, T, D)."""
    norm, shape = FUNCTIONS["layer_norm"], (embed_dim,)
    x = norm(src, shape, norm_weight_1, norm_bias_1, eps) if norm_first else src
    projections = (qkv_weight, qkv_bias, proj_weight, proj_bias)
    seen, _ = _native_multi_head_attention(
        x, x, x, embed_dim, num_heads, *projections, mask, False, True, mask_type
    )
    x = src + seen
    if not norm_first:
        x = norm(x, shape, norm_weight_1, norm_bias_1, eps)
    inner = norm(x, shape, norm_weight_2, norm_bias_2, eps) if norm_first else x
    inner = _activated(linear(inner, ffn_weight_1, ffn_bias_1), use_gelu)
    x = x + linear(inner, ffn_weight_2, ffn_bias_2)
    return x if norm_first else norm(x, shape, norm_weight_2, norm_bias_2, eps)
