"""The sentences that say how far two values are apart, and where."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._dtypes import int64
from .._tensor.tensor import Tensor


def scalars_differ(actual: Any, expected: Any, rtol: float, atol: float) -> str:
    """Write how far two numbers are apart."""
    distance = abs(actual - expected)
    relative = float("inf") if expected == 0 else distance / abs(expected)
    return _sentences(
        "Scalars",
        f"Expected {expected} but got {actual}.",
        (distance, None, atol),
        (relative, None, rtol),
    )


def tensors_differ(
    actual: Tensor,
    expected: Tensor,
    matches: Tensor,
    rtol: float,
    atol: float,
    what: str,
) -> str:
    """Write how many elements of two tensors differ, and where they do so most."""
    count = matches.numel()
    wrong = count - int(matches.sum())
    a, b = actual.detach().flatten(), expected.detach().flatten()
    if not (actual.is_floating_point() or actual.is_complex()):
        a, b = a.to(int64), b.to(int64)
    fine = matches.flatten()
    distance = (a - b).abs()
    distance[fine] = 0
    relative = distance / b.abs()
    relative[fine] = 0
    return _sentences(
        what,
        f"Mismatched elements: {wrong} / {count} ({wrong / count:.1%})",
        (*_greatest(distance, matches.shape), atol),
        (*_greatest(relative, matches.shape), rtol),
    )


def _greatest(flat: Tensor, shape: tuple[int, ...]) -> tuple[float, tuple[int, ...]]:
    """Return the greatest value of a flat tensor and its index in ``shape``."""
    value, at = flat.max(0)
    return value.item(), tuple(map(int, np.unravel_index(int(at), shape)))


def _sentences(
    what: str,
    extra: str,
    absolute: tuple[float, tuple[int, ...] | None, float],
    relative: tuple[float, tuple[int, ...] | None, float],
) -> str:
    exact = relative[2] == 0 and absolute[2] == 0
    lines = [f"{what} are not {'equal' if exact else 'close'}!", "", extra]
    for kind, (value, index, allowed) in (
        ("absolute", absolute),
        ("relative", relative),
    ):
        line = (
            f"{kind.title()} difference: {value}"
            if index is None
            else f"Greatest {kind} difference: {value} at index {index}"
        )
        lines.append(line if exact else f"{line} (up to {allowed} allowed)")
    return "\n".join(lines)
