"""Layers that trade channels for pixels."""

from __future__ import annotations

from ._function_layer import UnaryLayer

__all__ = ["PixelShuffle", "PixelUnshuffle"]


class PixelShuffle(UnaryLayer):
    """Turn (…, C r², H, W) into (…, C, H r, W r)."""

    _function = "pixel_shuffle"
    _options = ("upscale_factor",)
    _shown = _options

    def __init__(self, upscale_factor: int) -> None:
        super().__init__()
        self.upscale_factor = upscale_factor


class PixelUnshuffle(UnaryLayer):
    """Turn (…, C, H r, W r) into (…, C r², H, W)."""

    _function = "pixel_unshuffle"
    _options = ("downscale_factor",)
    _shown = _options

    def __init__(self, downscale_factor: int) -> None:
        super().__init__()
        self.downscale_factor = downscale_factor
