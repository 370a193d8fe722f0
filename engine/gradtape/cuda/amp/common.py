"""Whether mixed precision on CUDA is possible here."""

from __future__ import annotations

from ..._backend import cuda as _cuda

__all__ = ["amp_definitely_not_available"]


def amp_definitely_not_available() -> bool:
    """Tell whether there is no CUDA device."""
    return not _cuda.is_available()
