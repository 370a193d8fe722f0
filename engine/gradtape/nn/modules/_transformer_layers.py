"""The layers that transformers stack: attention, then a network step by step."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from ..._tensor.tensor import Tensor
from .. import functional as F
from .._functional.attention import canonical_mask, none_or_dtype
from ._activation import ReLU
from ._activation_options import GELU
from ._attention import MultiheadAttention
from ._dropout import Dropout
from ._fast_path import encode, suits
from ._linear import Linear
from ._module import Module
from ._norm import LayerNorm

Activation = str | Callable[[Tensor], Tensor]


class _Layer(Module):
    """What both kinds of layers have besides attention, in PyTorch's order."""

    linear1: Linear
    linear2: Linear
    dropout: Dropout

    def _add_rest(
        self,
        sizes: tuple[int, int],
        dropout: float,
        eps: float,
        norm_first: bool,
        bias: bool,
        parts: tuple[str, ...],
        where: dict[str, Any],
    ) -> None:
        wide, inner = sizes
        self.linear1 = Linear(wide, inner, bias, **where)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(inner, wide, bias, **where)
        self.norm_first = norm_first
        for part in parts:
            setattr(self, f"norm{part}", LayerNorm(wide, eps, bias=bias, **where))
        for part in parts:
            setattr(self, f"dropout{part}", Dropout(dropout))

    def _inner(self, x: Tensor) -> Tensor:
        return self.linear2(self.dropout(self.activation(self.linear1(x))))

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self.__dict__.setdefault("activation", F.relu)


class TransformerEncoderLayer(_Layer):
    """Self-attention and a two-layer network, each added to its input and normed.

    With ``norm_first`` inputs are normed instead of sums.
    """

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Activation = F.relu,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        where = {"device": device, "dtype": dtype}
        self.self_attn = MultiheadAttention(
            d_model, nhead, dropout, bias, batch_first=batch_first, **where
        )
        sizes = (d_model, dim_feedforward)
        options = (dropout, layer_norm_eps, norm_first, bias)
        self._add_rest(sizes, *options, ("1", "2"), where)
        chosen = activation_fn(activation)
        self.activation_relu_or_gelu = 0
        made = inspect.unwrap(chosen)  # who watches a run stands in for functions
        if made is inspect.unwrap(F.relu) or isinstance(chosen, ReLU):
            self.activation_relu_or_gelu = 1
        elif made is inspect.unwrap(F.gelu) or isinstance(chosen, GELU):
            self.activation_relu_or_gelu = 2
        self.activation = chosen

    def forward(
        self,
        src: Tensor,
        src_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool = False,
    ) -> Tensor:
        """Return the layer's output, of the input's shape."""
        other = none_or_dtype(src_mask)
        padding = canonical_mask(
            src_key_padding_mask, "src_key_padding_mask", other, "src_mask", src.dtype
        )
        mask = canonical_mask(src_mask, "src_mask", None, "", src.dtype, False)
        if suits(self, src, (mask, padding)):
            return encode(self, src, (mask, padding))
        if self.norm_first:
            src = src + self._sa_block(self.norm1(src), mask, padding, is_causal)
            return src + self._ff_block(self.norm2(src))
        src = self.norm1(src + self._sa_block(src, mask, padding, is_causal))
        return self.norm2(src + self._ff_block(src))

    def _sa_block(
        self,
        x: Tensor,
        attn_mask: Tensor | None,
        key_padding_mask: Tensor | None,
        is_causal: bool = False,
    ) -> Tensor:
        found, _ = self.self_attn(
            x,
            x,
            x,
            attn_mask=attn_mask,
            key_padding_mask=key_padding_mask,
            need_weights=False,
            is_causal=is_causal,
        )
        return self.dropout1(found)

    def _ff_block(self, x: Tensor) -> Tensor:
        return self.dropout2(self._inner(x))


class TransformerDecoderLayer(_Layer):
    """Self-attention, attention to a memory, and a two-layer network."""

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Activation = F.relu,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        where = {"device": device, "dtype": dtype}
        for name in ("self_attn", "multihead_attn"):
            attention = MultiheadAttention(
                d_model, nhead, dropout, bias, batch_first=batch_first, **where
            )
            setattr(self, name, attention)
        sizes = (d_model, dim_feedforward)
        options = (dropout, layer_norm_eps, norm_first, bias)
        self._add_rest(sizes, *options, ("1", "2", "3"), where)
        self.activation = activation_fn(activation)

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """Return the layer's output, of the target's shape."""
        own = (tgt_mask, tgt_key_padding_mask, tgt_is_causal)
        other = (memory, memory_mask, memory_key_padding_mask, memory_is_causal)
        x = tgt
        if self.norm_first:
            x = x + self._sa_block(self.norm1(x), *own)
            x = x + self._mha_block(self.norm2(x), *other)
            return x + self._ff_block(self.norm3(x))
        x = self.norm1(x + self._sa_block(x, *own))
        x = self.norm2(x + self._mha_block(x, *other))
        return self.norm3(x + self._ff_block(x))

    def _sa_block(
        self,
        x: Tensor,
        attn_mask: Tensor | None,
        key_padding_mask: Tensor | None,
        is_causal: bool = False,
    ) -> Tensor:
        found, _ = self.self_attn(
            x,
            x,
            x,
            attn_mask=attn_mask,
            key_padding_mask=key_padding_mask,
            is_causal=is_causal,
            need_weights=False,
        )
        return self.dropout1(found)

    def _mha_block(
        self,
        x: Tensor,
        mem: Tensor,
        attn_mask: Tensor | None,
        key_padding_mask: Tensor | None,
        is_causal: bool = False,
    ) -> Tensor:
        found, _ = self.multihead_attn(
            x,
            mem,
            mem,
            attn_mask=attn_mask,
            key_padding_mask=key_padding_mask,
            is_causal=is_causal,
            need_weights=False,
        )
        return self.dropout2(found)

    def _ff_block(self, x: Tensor) -> Tensor:
        return self.dropout3(self._inner(x))


def activation_fn(activation: Activation) -> Callable[[Tensor], Tensor]:
    """Return the function of a name; a function as it is."""
    if not isinstance(activation, str):
        return activation
    found = {"relu": F.relu, "gelu": F.gelu}.get(activation)
    if found is None:
        raise RuntimeError(f"activation should be relu/gelu, not {activation}")
    return found
