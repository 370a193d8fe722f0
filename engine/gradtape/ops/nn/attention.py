"""``scaled_dot_product_attention``, composed of recorded ops.

PyTorch's fused kernel for 4-D inputs on the CPU is one node; here, as in PyTorch's
own composition for all other inputs, every product and the softmax show.
"""

from __future__ import annotations

import math
from typing import Any

from ..._autocast.autocast import autocasts
from ..._dispatch.declare import FUNCTIONS, public
from ..._modes.grad_mode import no_grad
from ..._tensor.tensor import Tensor
from .._support.arguments import check_tensors
from .._support.operands import c_name
from ..linalg.linear import matmul
from ..pointwise.scalar import mul_number
from ..reduction.softmax import _safe_softmax
from ..tensor.settings import attention

_NO_KIND = (
    "No viable backend for scaled_dot_product_attention was found. This is likely due "
    "to turning off both the math kernel and the fused kernels."
)


@public
@autocasts("scaled_dot_product_attention")
def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """Return ``softmax(query @ key.T * scale + mask) @ value``.

    ``query`` is (…, L, E), ``key`` (…, S, E), ``value`` (…, S, Ev); the result is
    (…, L, Ev). A bool mask says where to look, a float mask is added. ``scale`` is
    ``1 / sqrt(E)`` by default. ``enable_gqa`` shares heads of key and value among
    those of query. Raises RuntimeError for unlike dtypes or shapes.

    >>> import gradtape as torch
    >>> q = torch.zeros(1, 2, 3)
    >>> v = torch.tensor([[[1.0], [3.0]]])
    >>> torch.nn.functional.scaled_dot_product_attention(q, q, v)
    tensor([[[2.],
             [2.]]])
    """
    by_sizes: Any = attn_mask
    if hasattr(by_sizes, "_as_arguments"):  # a CausalBias
        attn_mask, is_causal = by_sizes._as_arguments(query.device, is_causal)
    name = "scaled_dot_product_attention"
    check_tensors(name, query=query, key=key, value=value)
    _check(query, key, value, attn_mask)
    fused = _fused_sdp_choice(
        query, key, value, attn_mask, dropout_p, is_causal, enable_gqa=enable_gqa
    )
    kind = query.dtype
    if kind.is_floating_point and kind.itemsize == 2:  # rounded once, at the end
        query, key, value = query.float(), key.float(), value.float()
    if enable_gqa:
        key, value = _shared_heads(query, key), _shared_heads(query, value)
    mask = _float_mask(attn_mask, query)
    if is_causal:
        if attn_mask is not None and not fused:
            raise RuntimeError(
                "_scaled_dot_product_attention: Explicit attn_mask should not be set "
                "when is_causal=True"
            )
        causal = _causal_mask(query, key)
        mask = causal if mask is None else mask + causal
    factor = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    root = math.sqrt(abs(factor))
    scaled = mul_number(query, math.copysign(root, factor))
    scores = matmul(scaled, mul_number(key.transpose(-2, -1), root))
    if mask is not None:
        scores = scores.add_(mask)
    weights = _safe_softmax(scores, -1)
    if dropout_p > 0.0:
        weights = FUNCTIONS["dropout"](weights, dropout_p, True)
    return matmul(weights, value).to(kind)


@public
def _fused_sdp_choice(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> int:
    """Return 1 where PyTorch's fused kernel takes these on the CPU, else 0.

    Raises RuntimeError where that kind of attention is switched off.
    """
    math, flash = attention.math, attention.flash
    if not math and not flash:
        raise RuntimeError(_NO_KIND)
    fused = flash and dropout_p == 0 and _fit((query, key, value), enable_gqa)
    if fused and (attn_mask is None or _fits(attn_mask, query)):
        return 1
    if not math:
        raise RuntimeError("No available kernel.  Aborting execution.")
    return 0


def _fit(inputs: tuple[Tensor, ...], shared: bool) -> bool:
    """Tell whether images of heads are alike, rows of memory that are not empty."""
    query, key, _ = inputs
    heads = {each.size(1) for each in inputs[1:]} if query.dim() == 4 else set[int]()
    return all(
        each.dim() == 4
        and each.is_floating_point()
        and each.size(0) == query.size(0)
        and each.size(-1) == query.size(-1)
        and each.stride(-1) == 1
        and (each.size(1) == query.size(1) or (shared and len(heads) == 1))
        for each in inputs
    ) and bool(query.size(2) and key.size(2))


def _fits(mask: Tensor, query: Tensor) -> bool:
    return mask.dim() in (2, 4) and not mask.requires_grad


def _check(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> None:
    if q.dtype != k.dtype or q.dtype != v.dtype:
        names = [each.dtype.cpp_name.lower() for each in (q, k, v)]
        raise RuntimeError(
            "Expected query, key, and value to have the same dtype, but got "
            f"query.dtype: {names[0]} key.dtype: {names[1]} and value.dtype: "
            f"{names[2]} instead."
        )
    if min(q.dim(), k.dim(), v.dim()) < 2:
        raise RuntimeError(
            "Expected query, key, and value to all be  at least 2 dimensional, but got "
            f"query.dim: {q.dim()} key.dim: {k.dim()} and value.dim: {v.dim()} instead."
        )
    if mask is None:
        return
    kind = str(mask.dtype)
    if kind not in ("torch.bool", "torch.float32") and mask.dtype != q.dtype:
        raise RuntimeError(
            "Expected attn_mask dtype to be bool or float or to match query dtype, but "
            f"got attn_mask.dtype: {c_name(mask)} and  query.dtype: {c_name(q)} "
            "instead."
        )


def _shared_heads(query: Tensor, shared: Tensor) -> Tensor:
    heads, own = query.size(-3), shared.size(-3)
    if own == heads:
        return shared
    if own == 0 or heads % own:
        raise RuntimeError(
            "Number of heads in key and value must divide the number of heads in "
        )
    return FUNCTIONS["repeat_interleave"](shared, heads // own, -3)


def _float_mask(mask: Tensor | None, query: Tensor) -> Tensor | None:
    """Turn where-to-look into what to add to the scores."""
    if mask is None or str(mask.dtype) != "torch.bool":
        return mask
    with no_grad():
        zeros = FUNCTIONS["zeros_like"](mask, dtype=query.dtype)
        return zeros.masked_fill_(mask.logical_not(), -math.inf)


def _causal_mask(query: Tensor, key: Tensor) -> Tensor:
    with no_grad():
        full = FUNCTIONS["full"](
            (query.size(-2), key.size(-2)),
            -math.inf,
            dtype=query.dtype,
            device=query.device,
        )
        return full.triu(1)
