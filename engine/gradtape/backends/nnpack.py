"""The flags of NNPACK, which nothing here uses."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from ._flags import flags_of, set_all

enabled = True


def is_available() -> bool:
    """Say that NNPACK is there, as PyTorch's packages do."""
    return True


def set_flags(_enabled: bool) -> tuple[Any, ...]:
    """Set the flag; return what it was."""
    return set_all(globals(), {"enabled": _enabled})


def flags(enabled: bool = False) -> AbstractContextManager[None]:
    """Set the flag for the length of a block."""
    return flags_of(globals(), {"enabled": enabled})
