"""Reading pooling windows, and refusing those that cannot be."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..._tensor import Tensor
from ...ops._windows import Window, spread


def sizes(dims: int, name: str, **given: Any) -> list[tuple[int, ...]]:
    """Repeat each option per spatial dimension, or check how many were given."""
    return [spread(value, dims, key, name) for key, value in given.items()]


def check(
    input: Tensor,
    dims: int,
    name: str,
    window: Window,
    ceil_mode: bool,
) -> None:
    """Refuse windows that do not fit, in PyTorch's words."""
    kernel, stride, padding, dilation = window
    if input.dim() not in (dims + 1, dims + 2):
        raise _rank_error(input, dims, name)
    if any(k <= 0 for k in kernel):
        raise RuntimeError(
            "kernel size should be greater than zero, but got "
            + _list("kernel", kernel)
        )
    if any(s <= 0 for s in stride):
        raise RuntimeError(
            "stride should not be zero"
            if dims > 1
            else "stride must be greater than zero"
        )
    for pad, size, reach in zip(padding, kernel, window.reach, strict=True):
        if pad < 0 or pad > reach // 2 or pad > size * reach:
            raise RuntimeError(
                "pad should be at most half of effective kernel size, but got pad="
                f"{pad}, kernel_size={size} and dilation={dilation[0]}"
                if pad >= 0
                else f"pad must be non-negative, but got pad: {pad}"
            )
    outputs = window.outputs(tuple(input.shape[-dims:]), ceil_mode)
    if any(n < 1 for n in outputs):
        before = "x".join(map(str, input.shape[-dims - 1 :]))
        after = "x".join(map(str, (input.shape[-dims - 1], *outputs)))
        raise RuntimeError(
            f"Given input size: ({before}). Calculated output size: ({after}). Output "
            "size is too small"
        )


def _rank_error(input: Tensor, dims: int, name: str) -> Exception:
    shown = f"[{', '.join(map(str, input.shape))}]"
    if dims == 1:
        return RuntimeError(f"{name}() Expected 2D or 3D input tensor, but got {shown}")
    if name.startswith("avg"):
        ndim = max(input.dim(), 1)
        if input.dim() < dims:
            return IndexError(
                "Dimension out of range (expected to be in range of "
                f"[{-ndim}, {ndim - 1}], but got {-dims - 1})"
            )
    return RuntimeError(
        f"non-empty {dims + 1}D or {dims + 2}D (batch mode) tensor expected for input"
    )


def _list(name: str, sizes: Sequence[int]) -> str:
    axes = ("T", "H", "W")[-len(sizes) :]
    return " ".join(f"{name}{a}: {s}" for a, s in zip(axes, sizes, strict=True))
