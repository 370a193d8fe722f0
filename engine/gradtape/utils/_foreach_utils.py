"""Which devices have kernels for lists of tensors, and how such lists are grouped."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._C._groups import fused_devices, grouped, other_backend
from .._tensor.tensor import Tensor

_foreach_supported_types = [Tensor]
_group_tensors_by_device_and_dtype = grouped
_get_fused_kernels_supported_devices = fused_devices


def _get_foreach_kernels_supported_devices() -> list[str]:
    return ["cuda", "xpu", "mtia", other_backend()]


def _device_has_foreach_support(device: Any) -> bool:
    return device.type in (*_get_foreach_kernels_supported_devices(), "cpu")


def _has_foreach_support(tensors: Sequence[Any], device: Any) -> bool:  # pyright: ignore[reportUnusedFunction]
    return _device_has_foreach_support(device) and all(
        t is None or type(t) in _foreach_supported_types for t in tensors
    )
