"""How PyTorch cuts `linear_cross_entropy` into pieces."""

from __future__ import annotations

from dataclasses import dataclass

from ..._dtypes import bfloat16, dtype, float16, float32, float64

__all__ = ["LinearCrossEntropyOptions"]

_POLICIES = {"auto", "accurate", "balanced", "compact"}
_KINDS = {None, float16, bfloat16, float32, float64}


@dataclass(slots=True, frozen=True)
class LinearCrossEntropyOptions:
    """What to trade for memory; checked, though the loss here is computed whole.

    >>> import gradtape as torch
    >>> torch.nn.LinearCrossEntropyOptions(batch_chunk_size=64).batch_chunk_size
    64
    """

    allow_retain_graph: bool = False
    batch_chunk_size: int | None = None
    chunking_method: str | None = "auto"
    acc_policy: str = "auto"
    acc_dtype: dtype | None = None

    def __post_init__(self) -> None:
        if self.acc_policy not in _POLICIES:
            raise ValueError(f"invalid acc_policy: {self.acc_policy!r}")
        if self.chunking_method not in (None, "auto"):
            name, colon, factor = self.chunking_method.partition(":")
            factor = factor if colon else "1"
            if name != "aspect_ratio" or not factor.isdigit() or int(factor) < 1:
                raise ValueError(f"invalid chunking_method: {self.chunking_method!r}")
        size = self.batch_chunk_size
        if size is not None and not (isinstance(size, int) and size > 0):
            raise ValueError(
                f"batch_chunk_size must be positive int or None, got {size!r}"
            )
        if self.acc_dtype not in _KINDS:
            raise ValueError(
                "acc_dtype must be one of {None, torch.float16, torch.bfloat16, "
                f"torch.float32, torch.float64}}, got {self.acc_dtype!r}. Pass "
                "acc_dtype=None to let the op pick automatically."
            )
