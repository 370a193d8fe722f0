"""The order of products in einsum(), which PyTorch can leave to opt_einsum."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from ._flags import flags_of, set_all

enabled = False
strategy: str | None = None


def is_available() -> bool:
    """Tell whether einsum() asks opt_einsum: it takes its operands as they come."""
    return False


def get_opt_einsum() -> Any:
    """Return the module: None."""
    return None


def set_flags(
    _enabled: bool | None = None, _strategy: str | None = None
) -> tuple[Any, ...]:
    """Set the flags that are given; return what all of them were.

    Raises ValueError for a flag that says to use what is not there.
    """
    if _enabled:
        raise ValueError(
            "opt_einsum is not available, so setting `enabled` to True will not reap "
            "the benefits of calculating an optimal path for einsum. torch.einsum will "
            "fall back to contracting from left to right. To enable this optimal path "
            "calculation, please install opt-einsum."
        )
    return set_all(globals(), {"enabled": _enabled, "strategy": _strategy})


@contextmanager
def flags(enabled: bool | None = None, strategy: str | None = None) -> Generator[None]:
    """Set the flags for the length of a block."""
    with flags_of(globals(), {"enabled": enabled, "strategy": strategy}):
        yield
