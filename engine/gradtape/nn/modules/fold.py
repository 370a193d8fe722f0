"""Layers that list sliding windows, and add them up again."""

from __future__ import annotations

from typing import Any

from ._function_layer import UnaryLayer

__all__ = ["Fold", "Unfold"]


class Unfold(UnaryLayer):
    """List the windows of images as columns."""

    _function = "unfold"
    _options = ("kernel_size", "dilation", "padding", "stride")
    _shown = _options

    def __init__(
        self, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.dilation = dilation
        self.padding = padding
        self.stride = stride


class Fold(UnaryLayer):
    """Add up windows where they overlap."""

    _function = "fold"
    _options = ("output_size", "kernel_size", "dilation", "padding", "stride")
    _shown = _options

    def __init__(
        self,
        output_size: Any,
        kernel_size: Any,
        dilation: Any = 1,
        padding: Any = 0,
        stride: Any = 1,
    ) -> None:
        super().__init__()
        self.output_size = output_size
        self.kernel_size = kernel_size
        self.dilation = dilation
        self.padding = padding
        self.stride = stride
