"""Causal biases for attention, known by their sizes: ``attn_mask`` takes them."""

from __future__ import annotations

import warnings
from enum import IntEnum, auto
from typing import Any

from ..._common.site import user_stacklevel
from ..._dispatch.declare import FUNCTIONS
from ..._dtypes import bool_
from ..._tensor.tensor import Tensor

__all__ = ["CausalBias", "CausalVariant", "causal_lower_right", "causal_upper_left"]


class CausalVariant(IntEnum):
    """To which corner of the scores the diagonal of a causal bias is aligned."""

    UPPER_LEFT = auto()
    LOWER_RIGHT = auto()


class CausalBias(Tensor):
    """Lets each query attend to the keys before it; made when attention asks for it."""

    def __init__(self, variant: CausalVariant, seq_len_q: int, seq_len_kv: int) -> None:
        if not isinstance(variant, CausalVariant):
            raise AssertionError(
                f"variant must be a CausalVariant, got {type(variant).__name__}"
            )
        super().__init__()
        self.variant = variant
        self.seq_len_q = seq_len_q
        self.seq_len_kv = seq_len_kv
        if seq_len_q > seq_len_kv and variant is CausalVariant.LOWER_RIGHT:
            warnings.warn(
                "Lower right causal bias will produce NaNs in the output when "
                "seq_len_q > seq_len_kv!",
                UserWarning,
                stacklevel=user_stacklevel(),
            )

    def _materialize(self, device: Any = None) -> Tensor:
        """Return the bias as a matrix of truths: which query sees which key."""
        lower = self.variant is CausalVariant.LOWER_RIGHT
        sizes = self.seq_len_q, self.seq_len_kv
        seen = FUNCTIONS["ones"](sizes, dtype=bool_, device=device)
        return seen.tril(self.seq_len_kv - self.seq_len_q if lower else 0)

    def _as_arguments(self, device: Any, is_causal: bool) -> tuple[Tensor | None, bool]:
        """Return what attention takes instead: a mask, or to be causal by itself."""
        if is_causal:
            raise ValueError("CausalBias should not be used with causal=True")
        square = self.seq_len_q == self.seq_len_kv
        if square or self.variant is CausalVariant.UPPER_LEFT:
            return None, True
        return self._materialize(device), False

    def __repr__(self) -> str:  # pyright: ignore[reportIncompatibleMethodOverride]
        return repr(self._materialize())


def causal_upper_left(*size: int) -> CausalBias:
    """Return the bias of ``is_causal=True`` for a number of queries and of keys.

    >>> from gradtape.nn.attention.bias import causal_upper_left
    >>> causal_upper_left(2, 3)
    tensor([[ True, False, False],
            [ True,  True, False]])
    """
    return _made(causal_upper_left.__name__, CausalVariant.UPPER_LEFT, size)


def causal_lower_right(*size: int) -> CausalBias:
    """Return the bias whose last query sees all keys.

    >>> from gradtape.nn.attention.bias import causal_lower_right
    >>> causal_lower_right(2, 3)
    tensor([[ True,  True, False],
            [ True,  True,  True]])
    """
    return _made(causal_lower_right.__name__, CausalVariant.LOWER_RIGHT, size)


def _made(name: str, variant: CausalVariant, size: tuple[int, ...]) -> CausalBias:
    if len(size) != 2:
        raise AssertionError(f"{name} only supports 2D tensors")
    return CausalBias(variant, *size)
