"""The flags of oneDNN; ``enabled`` says whether an LSTM layer is one op."""

from __future__ import annotations

from contextlib import AbstractContextManager
from types import SimpleNamespace
from typing import Any

from ..ops.tensor.settings import onednn
from ._flags import flags_of, set_all

enabled = True
onednn.is_enabled = lambda: enabled
deterministic = False
allow_tf32: bool | None = None
fp32_precision = "none"
conv = SimpleNamespace(fp32_precision="none")
matmul = SimpleNamespace(fp32_precision="none")
rnn = SimpleNamespace(fp32_precision="none")


def is_available() -> bool:
    """Say that oneDNN is there, as PyTorch's packages do."""
    return True


def is_acl_available() -> bool:
    """Tell whether the library of ARM is there: no."""
    return False


def set_flags(
    _enabled: bool | None = None,
    _deterministic: bool | None = None,
    _allow_tf32: bool | None = None,
) -> tuple[Any, ...]:
    """Set the flags that are given; return what all of them were."""
    return set_all(
        globals(),
        {
            "enabled": _enabled,
            "deterministic": _deterministic,
            "allow_tf32": _allow_tf32,
        },
    )


def flags(
    enabled: bool = False, deterministic: bool = False, allow_tf32: bool = True
) -> AbstractContextManager[None]:
    """Set all flags for the length of a block."""
    return flags_of(
        globals(),
        {
            "enabled": enabled,
            "deterministic": deterministic,
            "allow_tf32": allow_tf32,
        },
    )


class verbose:
    """A block in which PyTorch prints what oneDNN does; here nothing is printed."""

    def __init__(self, level: int) -> None:
        self.level = level

    def __enter__(self) -> verbose:
        return self

    def __exit__(self, *exc: object) -> None: ...
