"""Lists of tensors, split by the device and dtype of the first list's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


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
