"""Activations, and attention with several heads."""

from __future__ import annotations

import sys
import warnings
from typing import Any

from ..._dtypes import bool_
from ..._tensor.tensor import Tensor
from .. import functional as F
from .. import init
from .. import init as fill
from .._factory import parameter
from ._attention_fast_path import attend, can_attend
from ._function_layer import UnaryLayer
from .linear import NonDynamicallyQuantizableLinear
from .module import Module

__all__ = ["CELU", "ELU", "GELU", "GLU", "SELU", "Hardshrink", "Hardsigmoid"]
__all__ += ["Hardswish", "Hardtanh", "LeakyReLU", "LogSigmoid", "LogSoftmax", "Mish"]
__all__ += ["MultiheadAttention", "PReLU", "RReLU", "ReLU", "ReLU6", "SiLU", "Sigmoid"]
__all__ += ["Softmax", "Softmax2d", "Softmin", "Softplus", "Softshrink", "Softsign"]
__all__ += ["Tanh", "Tanhshrink", "Threshold"]

_library: Any = sys.modules[__name__.partition(".")[0]]
"""Whose functions announce their calls."""

_RENAMED = "keyword argument `{old}` is deprecated and renamed to `{new}`"


# ---- without options ----


class Sigmoid(Module):
    """Return ``1 / (1 + exp(-x))``."""

    def forward(self, input: Tensor) -> Tensor:
        """Apply it to each element."""
        return _library.sigmoid(input)


class Tanh(Module):
    """Return the hyperbolic tangent."""

    def forward(self, input: Tensor) -> Tensor:
        """Apply it to each element."""
        return _library.tanh(input)


class LogSigmoid(UnaryLayer):
    """Return ``log(sigmoid(x))``."""

    _function = "logsigmoid"


class Softsign(UnaryLayer):
    """Return ``x / (1 + |x|)``."""

    _function = "softsign"


class Tanhshrink(UnaryLayer):
    """Return ``x - tanh(x)``."""

    _function = "tanhshrink"


# ---- that can work in place ----


class _Inplace(UnaryLayer):
    """An activation without other options than ``inplace``."""

    _options = ("inplace",)

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def extra_repr(self) -> str:
        """Return the options, and "inplace=True" where it is."""
        shown = (super().extra_repr(), "inplace=True" if self.inplace else "")
        return ", ".join(filter(None, shown))


class ReLU(_Inplace):
    """Set what is negative to zero."""

    def forward(self, input: Tensor) -> Tensor:
        """Apply relu; written out, for it is called more often than any other."""
        return F.relu(input, self.inplace)


class SiLU(_Inplace):
    """Return ``x * sigmoid(x)``."""

    _function = "silu"


class Mish(_Inplace):
    """Return ``x * tanh(softplus(x))``."""

    _function = "mish"


class SELU(_Inplace):
    """Apply elu with constants that keep mean and variance through layers."""

    _function = "selu"


class _Unshown(_Inplace):
    """An activation of which PyTorch does not print that it works in place."""

    def extra_repr(self) -> str:
        """Return nothing, as PyTorch."""
        return ""


class Hardsigmoid(_Unshown):
    """Return ``clamp(x + 3, 0, 6) / 6``."""

    _function = "hardsigmoid"


class Hardswish(_Unshown):
    """Return ``x * clamp(x + 3, 0, 6) / 6``."""

    _function = "hardswish"


class Hardtanh(_Inplace):
    """Cut to the range from ``min_val`` to ``max_val``."""

    _function, _options = "hardtanh", ("min_val", "max_val", "inplace")
    _shown = ("min_val", "max_val")

    def __init__(
        self,
        min_val: float = -1.0,
        max_val: float = 1.0,
        inplace: bool = False,
        min_value: float | None = None,
        max_value: float | None = None,
    ) -> None:
        super().__init__(inplace)
        self.min_val = _renamed("min_value", "min_val", min_value, min_val)
        self.max_val = _renamed("max_value", "max_val", max_value, max_val)
        if self.max_val <= self.min_val:
            raise AssertionError(
                f"max_val ({self.max_val}) must be greater than min_val "
                f"({self.min_val})"
            )


def _renamed(old: str, new: str, given: float | None, value: float) -> float:
    if given is None:
        return value
    warnings.warn(_RENAMED.format(old=old, new=new), FutureWarning, stacklevel=3)
    return given


class ReLU6(Hardtanh):
    """Cut to the range from 0 to 6."""

    _shown = ()

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(0.0, 6.0, inplace)


class Threshold(_Inplace):
    """Replace what is not above a threshold by a value."""

    _function, _options = "threshold", ("threshold", "value", "inplace")
    _shown = ("threshold", "value")

    def __init__(self, threshold: float, value: float, inplace: bool = False) -> None:
        super().__init__(inplace)
        self.threshold = threshold
        self.value = value


class LeakyReLU(_Inplace):
    """Multiply what is negative by a slope."""

    _function, _options = "leaky_relu", ("negative_slope", "inplace")
    _shown = ("negative_slope",)

    def __init__(self, negative_slope: float = 0.01, inplace: bool = False) -> None:
        super().__init__(inplace)
        self.negative_slope = negative_slope


class RReLU(_Inplace):
    """Multiply what is negative by random slopes, in evaluation by their mean."""

    _function, _options = "rrelu", ("lower", "upper", "training", "inplace")
    _shown = ("lower", "upper")

    def __init__(
        self, lower: float = 1.0 / 8, upper: float = 1.0 / 3, inplace: bool = False
    ) -> None:
        super().__init__(inplace)
        self.lower = lower
        self.upper = upper


class _Bent(_Inplace):
    """An activation whose negative side has a scale ``alpha``."""

    _options, _shown = ("alpha", "inplace"), ("alpha",)

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__(inplace)
        self.alpha = alpha


class ELU(_Bent):
    """Bend what is negative to ``alpha * (exp(x) - 1)``."""

    _function = "elu"


class CELU(_Bent):
    """Bend what is negative to ``alpha * (exp(x / alpha) - 1)``."""

    _function = "celu"


# ---- with other options ----


class GLU(UnaryLayer):
    """Multiply one half along a dimension by the sigmoid of the other half."""

    _function, _options = "glu", ("dim",)
    _shown = _options

    def __init__(self, dim: int = -1) -> None:
        super().__init__()
        self.dim = dim


class GELU(UnaryLayer):
    """Multiply by the chance that a normal number is smaller."""

    _function = "gelu"

    def __init__(self, approximate: str = "none") -> None:
        super().__init__()
        self.approximate = approximate

    def forward(self, input: Tensor) -> Tensor:
        """Apply it to each element."""
        return self._call(input, approximate=self.approximate)

    def extra_repr(self) -> str:
        """Return how it is computed."""
        return f"approximate={self.approximate!r}"


class _Shrink(UnaryLayer):
    """An activation with a threshold ``lambd``."""

    _options = ("lambd",)

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def extra_repr(self) -> str:
        """Return lambd."""
        return f"{self.lambd}"


class Hardshrink(_Shrink):
    """Set what is between -lambd and lambd to zero."""

    _function = "hardshrink"


class Softshrink(_Shrink):
    """Move values towards zero by lambd, not past it."""

    _function = "softshrink"


class Softplus(UnaryLayer):
    """Return ``log(1 + exp(beta * x)) / beta``."""

    _function, _options = "softplus", ("beta", "threshold")
    _shown = _options

    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        super().__init__()
        self.beta = beta
        self.threshold = threshold


class PReLU(UnaryLayer):
    """Multiply what is negative by a learned slope, one for all or one per channel."""

    _function, _options, _shown = "prelu", ("weight",), ("num_parameters",)
    weight: Tensor

    def __init__(
        self,
        num_parameters: int = 1,
        init: float = 0.25,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.num_parameters = num_parameters
        self.init = init
        self.weight = parameter(num_parameters, device, dtype)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set all slopes to the first value."""
        fill.constant_(self.weight, self.init)


# ---- softmax ----


class _AlongDim(UnaryLayer):
    """A function along one dimension."""

    _options, _shown = ("dim",), ("dim",)

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        """Apply it along the dimension."""
        return self._call(input, _stacklevel=5)


class Softmax(_AlongDim):
    """Return values in (0, 1) that sum to 1 along a dimension."""

    _function = "softmax"


class Softmin(_AlongDim):
    """Return ``softmax(-x)`` along a dimension."""

    _function = "softmin"


class LogSoftmax(_AlongDim):
    """Return the logarithm of softmax along a dimension."""

    _function = "log_softmax"


class Softmax2d(Module):
    """Return softmax over the channels of images."""

    def forward(self, input: Tensor) -> Tensor:
        """Apply it to (C, H, W) or (N, C, H, W)."""
        if input.dim() not in (3, 4):
            raise ValueError(
                f"Softmax2d: expected input to be 3D or 4D, got {input.dim()}D instead"
            )
        return F.softmax(input, -3, _stacklevel=5)


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
        if hides and query is key is value and can_attend(self, self, query):
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
