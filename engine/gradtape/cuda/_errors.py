"""What goes wrong on devices, by PyTorch's names."""

from __future__ import annotations


class OutOfMemoryError(RuntimeError):
    """A device has no memory left."""


class AcceleratorError(RuntimeError):
    """A device reports an error."""


for _error in (OutOfMemoryError, AcceleratorError):
    _error.__module__ = "torch"
