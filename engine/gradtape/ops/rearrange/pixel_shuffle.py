"""Channels spread over pixels and back, and channels taken from each group in turn."""

from __future__ import annotations

from typing import Any

from ..._dispatch.declare import Array
from .._support.memory_formats import keeps_format
from .._support.operands import hidden_op


def _rearranged(xp: Any, array: Any, split: Any, order: Any, shape: Any) -> Any:
    """Split dimensions, put them into another order and join them; always a copy."""
    turned = array.reshape(split).transpose(order)
    found = xp.empty(turned.shape, array.dtype)
    found[...] = turned
    return found.reshape(shape)


@hidden_op(
    {"self": lambda F, grad, upscale_factor: F.pixel_unshuffle(grad, upscale_factor)}
)
@keeps_format(0, ranks=(4,))
def pixel_shuffle(xp: Any, self: Array, upscale_factor: int) -> Any:
    """Turn (…, C r², H, W) into (…, C, H r, W r)."""
    r, n = upscale_factor, self.ndim - 3
    *lead, channels, height, width = self.shape
    channels //= r * r
    split = (*lead, channels, r, r, height, width)
    order = (*range(n + 1), n + 3, n + 1, n + 4, n + 2)
    shape = (*lead, channels, height * r, width * r)
    return _rearranged(xp, self, split, order, shape)


@hidden_op(
    {"self": lambda F, grad, downscale_factor: F.pixel_shuffle(grad, downscale_factor)}
)
@keeps_format(0, ranks=(4,))
def pixel_unshuffle(xp: Any, self: Array, downscale_factor: int) -> Any:
    """Turn (…, C, H r, W r) into (…, C r², H, W)."""
    r, n = downscale_factor, self.ndim - 3
    *lead, channels, height, width = self.shape
    height, width = height // r, width // r
    split = (*lead, channels, height, r, width, r)
    order = (*range(n + 1), n + 2, n + 4, n + 1, n + 3)
    return _rearranged(xp, self, split, order, (*lead, channels * r * r, height, width))


@hidden_op(
    {
        "self": lambda F, grad, self_shape, groups: F.channel_shuffle(
            grad, self_shape[1] // groups if groups else 1
        )
    }
)
@keeps_format(0, ranks=(4,))
def channel_shuffle(xp: Any, self: Array, groups: int) -> Any:
    """Take channels from each group in turn."""
    samples, channels, *rest = self.shape
    split = (samples, groups, channels // groups, *rest)
    order = (0, 2, 1, *range(3, self.ndim + 1))
    return _rearranged(xp, self, split, order, self.shape)
