"""The flags of cuDNN, which nothing here uses."""

from __future__ import annotations

from contextlib import AbstractContextManager
from types import SimpleNamespace
from typing import Any

from .._tensor.tensor import Tensor
from ._flags import flags_of, set_all

enabled = True
benchmark = False
deterministic = False
benchmark_limit: int | None = None
allow_tf32 = True
fp32_precision = "none"
depthwise_kernel = "auto"
conv = SimpleNamespace(fp32_precision="none")
rnn = SimpleNamespace(fp32_precision="none")


def is_available() -> bool:
    """Tell whether cuDNN can be used: no.

    >>> import gradtape as torch
    >>> torch.backends.cudnn.is_available()
    False
    """
    return False


def version() -> int | None:
    """Return the version of cuDNN: there is none."""
    return None


def is_acceptable(tensor: Tensor) -> bool:
    """Tell whether cuDNN could compute with a tensor: no."""
    return False


def set_flags(
    _enabled: bool | None = None,
    _benchmark: bool | None = None,
    _benchmark_limit: int | None = None,
    _deterministic: bool | None = None,
    _allow_tf32: bool | None = None,
) -> tuple[Any, ...]:
    """Set the flags that are given; return what all of them were."""
    return set_all(
        globals(),
        {
            "enabled": _enabled,
            "benchmark": _benchmark,
            "benchmark_limit": _benchmark_limit,
            "deterministic": _deterministic,
            "allow_tf32": _allow_tf32,
        },
    )


def flags(
    enabled: bool = False,
    benchmark: bool = False,
    benchmark_limit: int = 10,
    deterministic: bool = False,
    allow_tf32: bool = True,
) -> AbstractContextManager[None]:
    """Set all flags for the length of a block."""
    return flags_of(
        globals(),
        {
            "enabled": enabled,
            "benchmark": benchmark,
            "benchmark_limit": benchmark_limit,
            "deterministic": deterministic,
            "allow_tf32": allow_tf32,
        },
    )
