"""Layers that surround their input with a border."""

from __future__ import annotations

from typing import Any

from ..._tensor.tensor import Tensor
from .. import functional as F
from .module import Module
from .utils import ntuple

__all__ = ["CircularPad1d", "CircularPad2d", "CircularPad3d", "ConstantPad1d"]
__all__ += ["ConstantPad2d", "ConstantPad3d", "ReflectionPad1d", "ReflectionPad2d"]
__all__ += ["ReflectionPad3d", "ReplicationPad1d", "ReplicationPad2d"]
__all__ += ["ReplicationPad3d", "ZeroPad1d", "ZeroPad2d", "ZeroPad3d"]


class _Pad(Module):
    """A border of one kind around the last ``dims`` dimensions."""

    dims: int
    mode: str

    def __init__(self, padding: Any) -> None:
        super().__init__()
        self.padding = ntuple(padding, 2 * self.dims)

    def forward(self, input: Tensor) -> Tensor:
        """Return the input with its border."""
        return F.pad(input, self.padding, self.mode)

    def extra_repr(self) -> str:
        """Return the widths."""
        return f"{self.padding}"


class _ConstantPad(Module):
    dims: int

    def __init__(self, padding: Any, value: float) -> None:
        super().__init__()
        self.padding = ntuple(padding, 2 * self.dims)
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        """Return the input with its border."""
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self) -> str:
        """Return widths and value."""
        return f"padding={self.padding}, value={self.value}"


class ConstantPad1d(_ConstantPad):
    """Surround the last dimension with a value."""

    dims = 1


class ConstantPad2d(_ConstantPad):
    """Surround the last two dimensions with a value."""

    dims = 2


class ConstantPad3d(_ConstantPad):
    """Surround the last three dimensions with a value."""

    dims = 3


class _ZeroPad(_ConstantPad):
    def __init__(self, padding: Any) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        """Return the widths."""
        return f"{self.padding}"


class ZeroPad1d(_ZeroPad):
    """Surround the last dimension with zeros."""

    dims = 1


class ZeroPad2d(_ZeroPad):
    """Surround the last two dimensions with zeros."""

    dims = 2


class ZeroPad3d(_ZeroPad):
    """Surround the last three dimensions with zeros."""

    dims = 3


class ReflectionPad1d(_Pad):
    """Mirror the last dimension at its ends."""

    dims, mode = 1, "reflect"


class ReflectionPad2d(_Pad):
    """Mirror the last two dimensions at their ends."""

    dims, mode = 2, "reflect"


class ReflectionPad3d(_Pad):
    """Mirror the last three dimensions at their ends."""

    dims, mode = 3, "reflect"


class ReplicationPad1d(_Pad):
    """Repeat the ends of the last dimension."""

    dims, mode = 1, "replicate"


class ReplicationPad2d(_Pad):
    """Repeat the ends of the last two dimensions."""

    dims, mode = 2, "replicate"


class ReplicationPad3d(_Pad):
    """Repeat the ends of the last three dimensions."""

    dims, mode = 3, "replicate"


class _CircularPad(_Pad):
    mode = "circular"

    def forward(self, input: Tensor) -> Tensor:
        """Return the input with its border; raise ValueError for another rank."""
        least = self.dims + 1
        if input.dim() not in (least, least + 1):
            raise ValueError(
                f"expected {least}D or {least + 1}D input (got {input.dim()}D input)"
            )
        return super().forward(input)


class CircularPad1d(_CircularPad):
    """Continue the last dimension with its other end."""

    dims = 1


class CircularPad2d(_CircularPad):
    """Continue the last two dimensions with their other ends."""

    dims = 2


class CircularPad3d(_CircularPad):
    """Continue the last three dimensions with their other ends."""

    dims = 3
