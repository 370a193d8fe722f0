"""Convolution weights in another memory format."""

from __future__ import annotations

from typing import Any

from ..modules.conv import Conv2d, Conv3d, ConvTranspose2d, ConvTranspose3d


def convert_conv2d_weight_memory_format(module: Any, memory_format: Any) -> Any:
    """Lay out the weights of all 2-d convolutions in a module in a memory format.

    >>> import gradtape as torch
    >>> conv = torch.nn.Conv2d(2, 4, 3)
    >>> _ = torch.nn.utils.convert_conv2d_weight_memory_format(
    ...     conv, torch.channels_last
    ... )
    >>> conv.weight.is_contiguous(memory_format=torch.channels_last)
    True
    """
    return _convert(module, memory_format, Conv2d | ConvTranspose2d)


def convert_conv3d_weight_memory_format(module: Any, memory_format: Any) -> Any:
    """Lay out the weights of all 3-d convolutions in a module in a memory format."""
    return _convert(module, memory_format, Conv3d | ConvTranspose3d)


def _convert(module: Any, memory_format: Any, kinds: Any) -> Any:
    for each in module.modules():
        if isinstance(each, kinds):
            weight = each.weight.detach()
            each.weight.data = weight.contiguous(memory_format=memory_format)
    return module
