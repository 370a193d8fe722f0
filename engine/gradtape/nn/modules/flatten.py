"""Layers that flatten dimensions into one, and undo it."""

from __future__ import annotations

from typing import Any

from ..._tensor.tensor import Tensor
from .module import Module

__all__ = ["Flatten", "Unflatten"]


class Flatten(Module):
    """Flatten a range of dimensions; by default all but the first."""

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim = start_dim
        self.end_dim = end_dim

    def forward(self, input: Tensor) -> Tensor:
        """Return the input with fewer dimensions."""
        return input.flatten(self.start_dim, self.end_dim)

    def extra_repr(self) -> str:
        """Return the range as PyTorch prints it."""
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Unflatten(Module):
    """Split one dimension into several."""

    def __init__(self, dim: int | str, unflattened_size: Any) -> None:
        super().__init__()
        _require_ints(unflattened_size)
        self.dim = dim
        self.unflattened_size = unflattened_size

    def forward(self, input: Tensor) -> Tensor:
        """Return the input with more dimensions."""
        return input.unflatten(self.dim, self.unflattened_size)

    def extra_repr(self) -> str:
        """Return the sizes as PyTorch prints them."""
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"


def _require_ints(sizes: Any) -> None:
    if not isinstance(sizes, (tuple, list)):
        raise TypeError(
            "unflattened_size must be a tuple of ints, but found type "
            f"{type(sizes).__name__}"
        )
    for position, size in enumerate(sizes):
        if not isinstance(size, int):
            raise TypeError(
                "unflattened_size must be tuple of ints, but found element of type "
                f"{type(size).__name__} at pos {position}"
            )
