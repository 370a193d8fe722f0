"""The transformer: its layers, and stacks of them."""

from __future__ import annotations

import copy
import inspect
import warnings
from collections.abc import Callable
from typing import Any

from ..._common.site import user_stacklevel
from ..._modes.grad_mode import is_grad_enabled
from ..._tensor.tensor import Tensor
from .. import functional as F
from .. import init
from .._functional.attention import (
    canonical_mask,
    none_or_dtype,
    square_subsequent_mask,
)
from ._attention_fast_path import can_encode, encode
from .activation import GELU, MultiheadAttention, ReLU
from .container import ModuleList
from .dropout import Dropout
from .linear import Linear
from .module import Module
from .normalization import LayerNorm

__all__ = ["Transformer", "TransformerDecoder", "TransformerDecoderLayer"]
__all__ += ["TransformerEncoder", "TransformerEncoderLayer"]

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
        chosen = _get_activation_fn(activation)
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
        if can_encode(self, src, (mask, padding)):
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
        self.activation = _get_activation_fn(activation)

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


def _get_activation_fn(activation: Activation) -> Callable[[Tensor], Tensor]:
    """Return the function of a name; a function as it is."""
    if not isinstance(activation, str):
        return activation
    found = {"relu": F.relu, "gelu": F.gelu}.get(activation)
    if found is None:
        raise RuntimeError(f"activation should be relu/gelu, not {activation}")
    return found


_NOT_BATCH_FIRST = (
    ".self_attn.batch_first was not True(use batch_first for better inference "
    "performance)"
)


class TransformerEncoder(Module):
    """A stack of copies of one encoder layer, with a norm at the end if given."""

    def __init__(
        self,
        encoder_layer: Module,
        num_layers: int,
        norm: Module | None = None,
        enable_nested_tensor: bool = True,
        mask_check: bool = True,
    ) -> None:
        super().__init__()
        self.layers = _copies(encoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm
        self.enable_nested_tensor = enable_nested_tensor
        self.use_nested_tensor = enable_nested_tensor
        self.mask_check = mask_check
        reason = _why_not_nested(encoder_layer)
        if enable_nested_tensor and reason:
            warnings.warn(
                "enable_nested_tensor is True, but self.use_nested_tensor is False "
                f"because {reason}",
                UserWarning,
                stacklevel=user_stacklevel(),
            )
            self.use_nested_tensor = False

    def forward(
        self,
        src: Tensor,
        mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool | None = None,
    ) -> Tensor:
        """Return the last layer's output.

        In evaluation without gradients, steps at the end that the padding mask hides
        come out as zeros, as PyTorch's fast path leaves them.
        """
        padding = canonical_mask(
            src_key_padding_mask,
            "src_key_padding_mask",
            none_or_dtype(mask),
            "mask",
            src.dtype,
        )
        mask = canonical_mask(mask, "mask", None, "", src.dtype, False)
        causal = _is_causal(mask, is_causal, _steps(src, self.layers[0]))
        output = src
        for layer in self.layers:
            output = layer(
                output,
                src_mask=mask,
                is_causal=causal,
                src_key_padding_mask=padding,
            )
        if padding is not None and mask is None and self._drops_padding(src, padding):
            output = output.masked_fill(padding.bool().unsqueeze(-1), 0.0)
        return output if self.norm is None else self.norm(output)

    def _drops_padding(self, src: Tensor, padding: Tensor) -> bool:
        """Tell whether PyTorch would compute without the padding."""
        if not self.use_nested_tensor or self.layers[0].training or src.dim() != 3:
            return False
        used = (src, *self.layers[0].parameters())
        if is_grad_enabled() and any(x.requires_grad for x in used):
            return False
        hidden = padding.bool().int()
        return not self.mask_check or bool((hidden.diff(dim=1) >= 0).all())


class TransformerDecoder(Module):
    """A stack of copies of one decoder layer, with a norm at the end if given."""

    def __init__(
        self, decoder_layer: Module, num_layers: int, norm: Module | None = None
    ) -> None:
        super().__init__()
        self.layers = _copies(decoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """Return the last layer's output for a target that looks at ``memory``."""
        causal = _is_causal(tgt_mask, tgt_is_causal, _steps(tgt, self.layers[0]))
        output = tgt
        for layer in self.layers:
            output = layer(
                output,
                memory,
                tgt_mask=tgt_mask,
                memory_mask=memory_mask,
                tgt_key_padding_mask=tgt_key_padding_mask,
                memory_key_padding_mask=memory_key_padding_mask,
                tgt_is_causal=causal,
                memory_is_causal=memory_is_causal,
            )
        return output if self.norm is None else self.norm(output)


class Transformer(Module):
    """An encoder and a decoder that looks at what the encoder made of the source.

    >>> import gradtape as torch
    >>> model = torch.nn.Transformer(4, 2, 1, 1, 8, batch_first=True)
    >>> model(torch.ones(1, 3, 4), torch.ones(1, 2, 4)).shape
    torch.Size([1, 2, 4])
    """

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str | Callable[[Tensor], Tensor] = F.relu,
        custom_encoder: Any | None = None,
        custom_decoder: Any | None = None,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        where = {"device": device, "dtype": dtype}
        how = (
            *(d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps),
            *(batch_first, norm_first, bias),
        )

        def norm() -> LayerNorm:
            return LayerNorm(d_model, layer_norm_eps, bias=bias, **where)

        self.encoder: Any = custom_encoder
        if custom_encoder is None:
            layer = TransformerEncoderLayer(*how, **where)
            self.encoder = TransformerEncoder(layer, num_encoder_layers, norm())
        self.decoder: Any = custom_decoder
        if custom_decoder is None:
            layer = TransformerDecoderLayer(*how, **where)
            self.decoder = TransformerDecoder(layer, num_decoder_layers, norm())
        self._reset_parameters()
        self.d_model = d_model
        self.nhead = nhead
        self.batch_first = batch_first

    def forward(
        self,
        src: Tensor,
        tgt: Tensor,
        src_mask: Tensor | None = None,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        src_is_causal: bool | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """Return what the decoder makes of source and target.

        Raises RuntimeError where batches or features differ.
        """
        batch = 0 if self.batch_first else 1
        if src.dim() == 3 and src.size(batch) != tgt.size(batch):
            raise RuntimeError("the batch number of src and tgt must be equal")
        if src.size(-1) != self.d_model or tgt.size(-1) != self.d_model:
            raise RuntimeError(
                "the feature number of src and tgt must be equal to d_model"
            )
        memory = self.encoder(
            src,
            mask=src_mask,
            src_key_padding_mask=src_key_padding_mask,
            is_causal=src_is_causal,
        )
        return self.decoder(
            tgt,
            memory,
            tgt_mask=tgt_mask,
            memory_mask=memory_mask,
            tgt_key_padding_mask=tgt_key_padding_mask,
            memory_key_padding_mask=memory_key_padding_mask,
            tgt_is_causal=tgt_is_causal,
            memory_is_causal=memory_is_causal,
        )

    @staticmethod
    def generate_square_subsequent_mask(
        sz: int, device: Any = None, dtype: Any = None
    ) -> Tensor:
        """Return a mask, (sz, sz), under which no step looks ahead."""
        return square_subsequent_mask(sz, device, dtype)

    def _reset_parameters(self) -> None:
        for weight in self.parameters():
            if weight.dim() > 1:
                init.xavier_uniform_(weight)


def _copies(layer: Module, count: int) -> ModuleList:
    return ModuleList([copy.deepcopy(layer) for _ in range(count)])


def _steps(src: Tensor, layer: Any) -> int:
    return src.shape[0 if src.dim() == 2 or not layer.self_attn.batch_first else 1]


def _is_causal(mask: Tensor | None, hint: bool | None, steps: int) -> bool:
    """Tell whether a mask hides exactly what lies ahead, if no hint was given."""
    if hint is not None or mask is None:
        return hint is True
    causal = square_subsequent_mask(steps, mask.device, mask.dtype)
    return mask.size() == causal.size() and bool((mask == causal).all())


def _why_not_nested(layer: Any) -> str:
    """Return what keeps PyTorch from computing without padding; "" if nothing."""
    if not isinstance(layer, TransformerEncoderLayer):
        return "encoder_layer was not TransformerEncoderLayer"
    attention = layer.self_attn
    reasons = (
        (layer.norm_first, ".norm_first was True"),
        (
            not attention.batch_first,
            _NOT_BATCH_FIRST,
        ),
        (
            not attention._qkv_same_embed_dim,
            ".self_attn._qkv_same_embed_dim was not True",
        ),
        (attention.in_proj_bias is None, ".self_attn was passed bias=False"),
        (not layer.activation_relu_or_gelu, ".activation_relu_or_gelu was not True"),
        (
            layer.norm1.eps != layer.norm2.eps,
            ".norm1.eps was not equal to encoder_layer.norm2.eps",
        ),
        (attention.num_heads % 2 == 1, ".self_attn.num_heads is odd"),
    )
    return next((f"encoder_layer{text}" for holds, text in reasons if holds), "")
