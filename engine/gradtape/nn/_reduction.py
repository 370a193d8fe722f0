"""How losses are reduced: as a number, and as older switches said it."""

from __future__ import annotations

import warnings

from .._common.site import user_stacklevel

_REDUCTIONS = {"none": 0, "mean": 1, "sum": 2}


def get_enum(reduction: str) -> int:
    """Return PyTorch's number for a reduction; raise ValueError for others."""
    found = _REDUCTIONS.get(reduction)
    if found is None:
        if reduction == "elementwise_mean":
            warnings.warn(
                "reduction='elementwise_mean' is deprecated. Please use "
                "reduction='mean' instead.",
                UserWarning,
                stacklevel=user_stacklevel(),
            )
            return 1
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return found


def legacy_get_string(
    size_average: bool | None, reduce: bool | None, emit_warning: bool = True
) -> str:
    """Translate the switches from before ``reduction``, with PyTorch's warning."""
    averaged = size_average is None or size_average
    kept = reduce is not None and not reduce
    found = "none" if kept else "mean" if averaged else "sum"
    if emit_warning:
        warnings.warn(
            "size_average and reduce args will be deprecated, please use "
            f"reduction='{found}' instead.",
            UserWarning,
            stacklevel=user_stacklevel(),
        )
    return found


def legacy_get_enum(
    size_average: bool | None, reduce: bool | None, emit_warning: bool = True
) -> int:
    """Return PyTorch's number for what the switches from before ``reduction`` say."""
    return get_enum(legacy_get_string(size_average, reduce, emit_warning))
