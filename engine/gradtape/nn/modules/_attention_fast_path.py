"""When attention in evaluation is one call, without the layers that it is made of."""

from __future__ import annotations

from math import inf
from typing import Any

from ..._autocast.autocast import is_autocast_enabled
from ..._dispatch.declare import FUNCTIONS
from ..._modes.grad_mode import is_grad_enabled
from ..._tensor.tensor import Tensor
from ...backends.mha import get_fastpath_enabled
from ...overrides import has_torch_function
from ._base.traversal import ModuleTraversal


def can_attend(
    layer: ModuleTraversal, attention: Any, x: Tensor, *others: Tensor | None
) -> bool:
    """Tell whether PyTorch would take its fast path; who watches changes no bit."""
    tensors: list[Any] = [
        x,
        attention.in_proj_weight,
        attention.in_proj_bias,
        attention.out_proj.weight,
        attention.out_proj.bias,
        *others,
    ]
    return (
        get_fastpath_enabled()
        and x.dim() == 3
        and x.device.type in ("cpu", "cuda")
        and not layer.training
        and attention.batch_first
        and attention.num_heads % 2 == 0
        and attention._qkv_same_embed_dim
        and attention.bias_k is None
        and not attention.add_zero_attn
        and all(each is not None and each.dtype is x.dtype for each in tensors)
        and not (is_grad_enabled() and any(each.requires_grad for each in tensors))
        and not is_autocast_enabled()
        and not has_torch_function(tuple(tensors))
    )


def attend(
    attention: Any, x: Tensor, masks: tuple[Any, Any], *options: bool
) -> tuple[Tensor, Tensor | None]:
    """Return attention of steps to each other; the masks are bools, or None."""
    mask, kind = attention.merge_masks(*masks, x)
    run = FUNCTIONS["_native_multi_head_attention"]
    return run(x, x, x, *_projections(attention), mask, *options, kind)


def _projections(attention: Any) -> tuple[Any, ...]:
    return (
        attention.embed_dim,
        attention.num_heads,
        attention.in_proj_weight,
        attention.in_proj_bias,
        attention.out_proj.weight,
        attention.out_proj.bias,
    )


def can_encode(layer: Any, x: Tensor, masks: tuple[Any, Any]) -> bool:
    """Tell whether a layer of an encoder is one call; the masks are floats, or None."""
    if layer.training or not get_fastpath_enabled():
        return False
    return (
        layer.activation_relu_or_gelu
        and layer.norm1.eps == layer.norm2.eps
        and can_attend(layer, layer.self_attn, x, *_parts(layer))
        and not any(m._forward_hooks or m._forward_pre_hooks for m in layer.modules())
        and not any(_weighs(mask) for mask in masks)
    )


def _weighs(mask: Tensor | None) -> bool:
    """Tell whether a mask does more than to hide, which the call cannot do."""
    return mask is not None and bool(((mask != 0) & (mask != -inf)).any())


def _parts(layer: Any) -> tuple[Any, ...]:
    stages = (layer.norm1, layer.norm2, layer.linear1, layer.linear2)
    return tuple(x for stage in stages for x in (stage.weight, stage.bias))


def encode(layer: Any, x: Tensor, masks: tuple[Any, Any]) -> Tensor:
    """Return the output of a layer of an encoder."""
    mask, kind = layer.self_attn.merge_masks(*masks, x)
    how = (layer.activation_relu_or_gelu == 2, layer.norm_first, layer.norm1.eps)
    run = FUNCTIONS["_transformer_encoder_layer_fwd"]
    return run(x, *_projections(layer.self_attn), *how, *_parts(layer), mask, kind)
