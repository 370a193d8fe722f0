"""Choosing elements by a mask: faster than ``where`` where the alternative is zero."""

from __future__ import annotations

from typing import Any

from ._product import scalar_name

_BITS = {2: "int16", 4: "int32", 8: "int64"}


def keep(xp: Any, mask: Any, array: Any) -> Any:
    """Return ``array`` where the mask holds and 0 elsewhere, also in place of NaN.

    The mask is widened to all-ones integers and joined bit by bit: a sixth of what
    ``where`` takes. Multiplying would let NaN and infinity through.
    """
    bits = _BITS.get(array.itemsize)
    if (
        array.dtype.kind != "f"
        or bits is None
        or mask.shape != array.shape
        or not array.ndim
    ):
        return xp.where(mask, array, array.dtype.type(0))
    ones = xp.negative(mask.view(xp.int8)).astype(bits)
    return xp.bitwise_and(ones, array.view(bits), ones).view(array.dtype)


def check_floating(array: Any, name: str) -> None:
    """Refuse integers in PyTorch's words for a kernel that has no version for them."""
    if array.dtype.kind in "iub":
        raise NotImplementedError(
            f"\"{name}\" not implemented for '{scalar_name(array)}'"
        )
