"""Which devices have kernels for lists of tensors, and how such lists are grouped."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._tensor.tensor import Tensor

_foreach_supported_types = [Tensor]


def grouped(
    lists: Sequence[Sequence[Any]], with_indices: bool = False
) -> dict[tuple[Any, Any], tuple[list[list[Any]], list[int]]]:
    """Return, by device and dtype, what stands together in all lists, and where.

    Empty lists stay empty; places are left out where they are not asked for.
    """
    found: dict[tuple[Any, Any], tuple[list[list[Any]], list[int]]] = {}
    for place, first in enumerate(lists[0]):
        rows, places = found.setdefault(
            (first.device, first.dtype), ([[] for _ in lists], [])
        )
        for row, each in zip(rows, lists, strict=True):
            if each:
                row.append(each[place])
        if with_indices:
            places.append(place)
    return found


def other_backend() -> str:
    """Return the name of the backend that a program may bring itself."""
    return "privateuseone"


def fused_devices() -> list[str]:
    """Return the kinds of devices on which optimizers may be fused."""
    return ["mps", "cuda", "xpu", "hpu", "cpu", "mtia", other_backend()]


# The names that optimizers written elsewhere import.
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
