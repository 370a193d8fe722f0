"""OpenMP, which nothing here uses."""

from __future__ import annotations


def is_available() -> bool:
    """Say that OpenMP is there, as PyTorch's packages do."""
    return True
