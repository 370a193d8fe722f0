"""Attention of several heads as a function."""

from __future__ import annotations

import math
import warnings
from typing import Any, NamedTuple

from ..._common.site import user_stacklevel
from ..._dispatch.declare import FUNCTIONS
from ..._tensor.tensor import Tensor
from ...ops.creation.factories import full, zeros
from ...ops.linalg.linear import linear
from ...ops.nn.attention import scaled_dot_product_attention
from ...ops.reduction.softmax import softmax
from .conv import pad
from .dropout import dropout
from .projections import projected

__all__ = ["multi_head_attention_forward"]


def canonical_mask(
    mask: Tensor | None,
    mask_name: str,
    other_type: Any,
    other_name: str,
    target_type: Any,
    check_other: bool = True,
) -> Tensor | None:
    """Return a mask as floats to add; True of a bool mask becomes -inf."""
    if mask is None:
        return None
    floats = mask.is_floating_point()
    if not floats and str(mask.dtype) != "torch.bool":
        raise AssertionError(
            f"only bool and floating types of {mask_name} are supported"
        )
    if check_other and other_type is not None and mask.dtype != other_type:
        warnings.warn(
            f"Support for mismatched {mask_name} and {other_name} is deprecated. Use "
            "same type for both instead.",
            UserWarning,
            stacklevel=user_stacklevel(),
        )
    if floats:
        return mask
    empty = FUNCTIONS["zeros_like"](mask, dtype=target_type)
    return empty.masked_fill_(mask, -math.inf)


def none_or_dtype(input: Tensor | None) -> Any:
    """Return the dtype of a mask that there may be; None where there is none."""
    if input is None:
        return None
    if isinstance(input, Tensor):  # pyright: ignore[reportUnnecessaryIsInstance]
        return input.dtype
    raise RuntimeError("input to _none_or_dtype() must be None or torch.Tensor")


def mha_shape_check(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    key_padding_mask: Tensor | None,
    attn_mask: Tensor | None,
    num_heads: int,
) -> bool:
    """Tell whether the input has a batch; raise AssertionError for other ranks."""
    rank = query.dim()
    if rank not in (2, 3):
        raise AssertionError(
            "query should be unbatched 2D or batched 3D tensor but received "
            f"{rank}-D query tensor"
        )
    kind = f"For {'batched (3' if rank == 3 else 'unbatched (2'}-D) `query`, expected"
    if key.dim() != rank or value.dim() != rank:
        raise AssertionError(
            f"{kind} `key` and `value` to be {rank}-D but found {key.dim()}-D and "
            f"{value.dim()}-D tensors respectively"
        )
    if key_padding_mask is not None and key_padding_mask.dim() != rank - 1:
        raise AssertionError(
            f"{kind} `key_padding_mask` to be `None` or {rank - 1}-D but found "
            f"{key_padding_mask.dim()}-D tensor instead"
        )
    if attn_mask is not None and attn_mask.dim() not in (2, 3):
        raise AssertionError(
            f"{kind} `attn_mask` to be `None`, 2-D or 3-D but found "
            f"{attn_mask.dim()}-D tensor instead"
        )
    if rank == 2 and attn_mask is not None and attn_mask.dim() == 3:
        expected = (num_heads, query.shape[0], key.shape[0])
        if tuple(attn_mask.shape) != expected:
            raise AssertionError(
                f"Expected `attn_mask` shape to be {expected} but got {attn_mask.shape}"
            )
    return rank == 3


# ---- masks ----


class _Masks(NamedTuple):
    """What is added to the scores, and whether the causal hint stands for it."""

    attention: Tensor | None
    padding: Tensor | None
    causal: bool


def _masks(
    attn_mask: Tensor | None,
    padding: Tensor | None,
    causal: bool,
    need_weights: bool,
    query: Tensor,
) -> _Masks:
    other = none_or_dtype(attn_mask)
    padding = canonical_mask(
        padding, "key_padding_mask", other, "attn_mask", query.dtype
    )
    if causal and attn_mask is None:
        raise RuntimeError(
            "Need attn_mask if specifying the is_causal hint. You may use the "
            "Transformer module method `generate_square_subsequent_mask` to create "
            "this mask."
        )
    if causal and padding is None and not need_weights:
        return _Masks(None, None, True)
    attn_mask = canonical_mask(attn_mask, "attn_mask", None, "", query.dtype, False)
    return _Masks(attn_mask, padding, causal and padding is None)


def _three_dimensional(mask: Tensor, heads: int, target: int, source: int) -> Tensor:
    """Return an attention mask as (1 or batch * heads, target, source)."""
    if mask.dim() not in (2, 3):
        raise RuntimeError(f"attn_mask's dimension {mask.dim()} is not supported")
    expected = (target, source) if mask.dim() == 2 else (heads, target, source)
    if tuple(mask.shape) != expected:
        raise RuntimeError(
            f"The shape of the {mask.dim()}D attn_mask is {mask.shape}, but should be "
            f"{expected}."
        )
    return mask.unsqueeze(0) if mask.dim() == 2 else mask


def _merged(
    attention: Tensor | None, padding: Tensor, batch: int, heads: int, source: int
) -> Tensor:
    """Add the padding of keys to the attention mask, for every head."""
    for dim, wanted in enumerate((batch, source)):
        if padding.shape[dim] != wanted:
            raise AssertionError(
                f"Expected key_padded_mask.shape[{dim}] to be {wanted}, but got "
                f"{padding.shape[dim]}"
            )
    wide = padding.view(batch, 1, 1, source).expand(-1, heads, -1, -1)
    flat = wide.reshape(batch * heads, 1, source)
    return flat if attention is None else attention + flat


def _longer(mask: Tensor | None) -> Tensor | None:
    return None if mask is None else pad(mask, (0, 1))


# ---- the function ----


def multi_head_attention_forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Tensor | None,
    in_proj_bias: Tensor | None,
    bias_k: Tensor | None,
    bias_v: Tensor | None,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Tensor,
    out_proj_bias: Tensor | None,
    training: bool = True,
    key_padding_mask: Tensor | None = None,
    need_weights: bool = True,
    attn_mask: Tensor | None = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Tensor | None = None,
    k_proj_weight: Tensor | None = None,
    v_proj_weight: Tensor | None = None,
    static_k: Tensor | None = None,
    static_v: Tensor | None = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> tuple[Tensor, Tensor | None]:
    """Attend with several heads; return the output and, if needed, the weights.

    ``query`` is (L, N, E) or (L, E), ``key`` and ``value`` (S, N, …) or (S, …).
    """
    batched = mha_shape_check(query, key, value, key_padding_mask, attn_mask, num_heads)
    if not batched:
        query, key, value = query.unsqueeze(1), key.unsqueeze(1), value.unsqueeze(1)
        if key_padding_mask is not None:
            key_padding_mask = key_padding_mask.unsqueeze(0)
    target, batch, size = query.shape
    mask, padding, causal = _masks(
        attn_mask, key_padding_mask, is_causal, need_weights, query
    )
    separate = use_separate_proj_weight
    _check_sizes(query, key, value, embed_dim_to_check, num_heads, separate)
    own = (q_proj_weight, k_proj_weight, v_proj_weight) if separate else None
    q, k, v = projected(query, key, value, in_proj_weight, in_proj_bias, own)
    heads, width = batch * num_heads, size // num_heads
    if mask is not None:
        mask = _three_dimensional(mask, heads, target, key.shape[0])
    if _has_biases(bias_k, bias_v, static_k, static_v):
        k, v = _extended(k, bias_k, batch), _extended(v, bias_v, batch)
        mask, padding = _longer(mask), _longer(padding)
    q = q.view(target, heads, width).transpose(0, 1)
    k = _by_head(k, static_k, "k", heads, width)
    v = _by_head(v, static_v, "v", heads, width)
    if add_zero_attn:
        k, v = _with_zeros(k), _with_zeros(v)
        mask, padding = _longer(mask), _longer(padding)
    if padding is not None:
        mask = _merged(mask, padding, batch, num_heads, k.size(1))
    dropout_p = dropout_p if training else 0.0
    weights = None
    if need_weights:
        joined, weights = _explicit(q, k, v, mask, dropout_p, causal)
        joined = joined.transpose(0, 1).reshape(target * batch, size)
        weights = weights.view(batch, num_heads, target, k.size(1))
        weights = weights.mean(dim=1) if average_attn_weights else weights
    else:
        joined = _fused(q, k, v, mask, dropout_p, causal, (batch, num_heads))
    output = linear(joined, out_proj_weight, out_proj_bias)
    output = output.view(target, batch, output.size(1))
    if batched:
        return output, weights
    return output.squeeze(1), None if weights is None else weights.squeeze(0)


def _has_biases(
    bias_k: Any, bias_v: Any, static_k: Tensor | None, static_v: Tensor | None
) -> bool:
    """Tell whether there is a step to add to keys and values."""
    if bias_k is None and bias_v is None:
        return False
    if bias_k is None or bias_v is None:
        given, absent = ("k", "v") if bias_v is None else ("v", "k")
        raise AssertionError(f"bias_{given} is set but bias_{absent} is None")
    if static_k is not None or static_v is not None:
        part = "key" if static_k is not None else "value"
        raise AssertionError(f"bias cannot be added to static {part}.")
    return True


def _extended(x: Tensor, bias: Any, batch: int) -> Tensor:
    return FUNCTIONS["cat"]([x, bias.repeat(1, batch, 1)])


def _fused(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Tensor | None,
    p: float,
    causal: bool,
    lead: tuple[int, int],
) -> Tensor:
    """Attend where nobody asks for the weights; return (target * batch, size)."""
    one, two, three = (x.view(*lead, x.size(1), x.size(2)) for x in (q, k, v))
    if mask is not None and mask.size(0) == 1:
        mask = mask.unsqueeze(0)
    elif mask is not None:
        mask = mask.view(*lead, -1, k.size(1))
    found = scaled_dot_product_attention(one, two, three, mask, p, causal)
    rows, size = q.size(1) * lead[0], q.size(2) * lead[1]
    return found.permute(2, 0, 1, 3).contiguous().view(rows, size)


def _check_sizes(
    query: Tensor, key: Tensor, value: Tensor, size: int, heads: int, separate: bool
) -> None:
    own = query.shape[2]
    if own != size:
        raise AssertionError(
            f"was expecting embedding dimension of {size}, but got {own}"
        )
    if own % heads:
        raise AssertionError(f"embed_dim {own} not divisible by num_heads {heads}")
    if separate and key.shape[:2] != value.shape[:2]:
        raise AssertionError(
            f"key's sequence and batch dims {key.shape[:2]} do not match value's "
            f"{value.shape[:2]}"
        )
    if not separate and key.shape != value.shape:
        raise AssertionError(
            f"key shape {key.shape} does not match value shape {value.shape}"
        )


def _by_head(
    own: Tensor, static: Tensor | None, name: str, heads: int, width: int
) -> Tensor:
    if static is None:
        return own.view(own.shape[0], heads, width).transpose(0, 1)
    for dim, wanted in ((0, heads), (2, width)):
        if static.size(dim) != wanted:
            raise AssertionError(
                f"expecting static_{name}.size({dim}) of {wanted}, but got "
                f"{static.size(dim)}"
            )
    return static


def _with_zeros(x: Tensor) -> Tensor:
    shape = (x.size(0), 1, x.size(2))
    return FUNCTIONS["cat"]([x, zeros(shape, dtype=x.dtype, device=x.device)], dim=1)


def _explicit(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, p: float, causal: bool
) -> tuple[Tensor, Tensor]:
    """Attend step by step, where the weights are asked for."""
    scaled = q * math.sqrt(1.0 / q.shape[-1])
    if causal and mask is None:
        raise AssertionError("FIXME: is_causal not implemented for need_weights")
    turned = k.transpose(-2, -1)
    if mask is None:
        scores = FUNCTIONS["bmm"](scaled, turned)
    else:
        scores = FUNCTIONS["baddbmm"](mask, scaled, turned)
    weights = softmax(scores, dim=-1)
    if p > 0.0:
        weights = dropout(weights, p=p)
    return FUNCTIONS["bmm"](weights, v), weights


def square_subsequent_mask(size: int, device: Any = None, dtype: Any = None) -> Tensor:
    """Return (size, size) with -inf above the diagonal: no step looks ahead."""
    return full((size, size), -math.inf, dtype=dtype, device=device).triu(diagonal=1)
