"""Attention of several heads as a layer."""

from __future__ import annotations

from typing import Any

from ..._dtypes import bool_
from ..._tensor.tensor import Tensor
from .. import functional as F
from .. import init
from .._fresh import parameter
from ._fast_path import attend, fits
from ._linear import Linear
from ._module import Module


class NonDynamicallyQuantizableLinear(Linear):
    """A linear map under the name that PyTorch prints for it in attention."""


class MultiheadAttention(Module):
    """Let every step of a query look at the steps of a key, with several heads.

    Inputs are (time, batch, features), or (batch, time, features) with
    ``batch_first``. Raises ValueError or AssertionError for sizes that do not divide.

    >>> import gradtape as torch
    >>> layer = torch.nn.MultiheadAttention(4, 2)
    >>> x = torch.ones(3, 1, 4)
    >>> output, weights = layer(x, x, x)
    >>> output.shape, weights.shape
    (torch.Size([3, 1, 4]), torch.Size([1, 3, 3]))
    """

    in_proj_weight: Tensor | None
    in_proj_bias: Tensor | None
    q_proj_weight: Tensor | None
    k_proj_weight: Tensor | None
    v_proj_weight: Tensor | None
    bias_k: Tensor | None
    bias_v: Tensor | None

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if embed_dim <= 0 or num_heads <= 0:
            raise ValueError(
                "embed_dim and num_heads must be greater than 0, got "
                f"embed_dim={embed_dim} and num_heads={num_heads} instead"
            )
        super().__init__()
        self.embed_dim = embed_dim
        self.kdim = embed_dim if kdim is None else kdim
        self.vdim = embed_dim if vdim is None else vdim
        self._qkv_same_embed_dim = self.kdim == embed_dim == self.vdim
        self.num_heads = num_heads
        self.dropout = dropout
        self.batch_first = batch_first
        self.head_dim = embed_dim // num_heads
        if self.head_dim * num_heads != embed_dim:
            raise AssertionError("embed_dim must be divisible by num_heads")
        same = self._qkv_same_embed_dim
        for name, size in (
            ("q_proj_weight", embed_dim),
            ("k_proj_weight", self.kdim),
            ("v_proj_weight", self.vdim),
        ):
            own = None if same else parameter((embed_dim, size), device, dtype)
            self.register_parameter(name, own)
        joint = parameter((3 * embed_dim, embed_dim), device, dtype) if same else None
        self.register_parameter("in_proj_weight", joint)
        added = parameter(3 * embed_dim, device, dtype) if bias else None
        self.register_parameter("in_proj_bias", added)
        self.out_proj = NonDynamicallyQuantizableLinear(
            embed_dim, embed_dim, bias, device, dtype
        )
        self.bias_k = self.bias_v = None
        if add_bias_kv:
            self.bias_k = parameter((1, 1, embed_dim), device, dtype)
            self.bias_v = parameter((1, 1, embed_dim), device, dtype)
        self.add_zero_attn = add_zero_attn
        self._reset_parameters()

    def _reset_parameters(self) -> None:
        weights = (
            self.in_proj_weight,
            self.q_proj_weight,
            self.k_proj_weight,
            self.v_proj_weight,
        )
        for weight in weights:
            if weight is not None:
                init.xavier_uniform_(weight)
        if self.in_proj_bias is not None:
            assert self.out_proj.bias is not None
            init.constant_(self.in_proj_bias, 0.0)
            init.constant_(self.out_proj.bias, 0.0)
        for bias in (self.bias_k, self.bias_v):
            if bias is not None:
                init.xavier_normal_(bias)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """Return the output, and the weights or None.

        True in a bool mask hides a key (``key_padding_mask``: (batch, time)) or a pair
        (``attn_mask``); a float mask is added to the scores.
        """
        masks = (attn_mask, key_padding_mask)
        hides = all(mask is None or mask.dtype is bool_ for mask in masks)
        if hides and query is key is value and fits(self, self, query):
            return attend(self, query, masks, need_weights, average_attn_weights)
        turned = self.batch_first and query.dim() == 3
        if turned:  # tensors that are one stay one: then one product projects them
            moved = {id(x): x.transpose(1, 0) for x in (query, key, value)}
            query, key, value = (moved[id(x)] for x in (query, key, value))
        output, weights = F.multi_head_attention_forward(
            query,
            key,
            value,
            self.embed_dim,
            self.num_heads,
            self.in_proj_weight,
            self.in_proj_bias,
            self.bias_k,
            self.bias_v,
            self.add_zero_attn,
            self.dropout,
            self.out_proj.weight,
            self.out_proj.bias,
            training=self.training,
            key_padding_mask=key_padding_mask,
            need_weights=need_weights,
            attn_mask=attn_mask,
            use_separate_proj_weight=not self._qkv_same_embed_dim,
            q_proj_weight=self.q_proj_weight,
            k_proj_weight=self.k_proj_weight,
            v_proj_weight=self.v_proj_weight,
            average_attn_weights=average_attn_weights,
            is_causal=is_causal,
        )
        return (output.transpose(1, 0) if turned else output), weights

    def merge_masks(
        self,
        attn_mask: Tensor | None,
        key_padding_mask: Tensor | None,
        query: Tensor,
    ) -> tuple[Tensor | None, int | None]:
        """Return one mask of four dimensions, and its kind: 1 padding alone, 2 not."""
        if attn_mask is None:
            return key_padding_mask, None if key_padding_mask is None else 1
        batch, steps, _ = query.shape
        if attn_mask.dim() == 3:
            merged = attn_mask.view(batch, -1, steps, steps)
        else:
            merged = attn_mask.view(1, 1, steps, steps)
            merged = merged.expand(batch, self.num_heads, -1, -1)
        if key_padding_mask is not None:
            wide = key_padding_mask.view(batch, 1, 1, steps)
            merged = merged + wide.expand(-1, self.num_heads, -1, -1)
        return merged, 2
