"""``autograd.grad`` for a batch of incoming gradients."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .._define import FUNCTIONS
from .._tensor import Tensor


def batched_grad(
    once: Callable[[Sequence[Any], bool], list[Tensor | None]],
    gradients: Sequence[Tensor | None],
    keep: bool,
) -> list[Tensor | None]:
    """Call ``once`` for each entry along the gradients' first dimension, and stack.

    ``once(gradients, keep)`` walks the graph, which only the last walk may free.
    """
    lengths = {g.shape[0] for g in gradients if g is not None}
    if len(lengths) != 1:
        raise ValueError(
            "vmap: Expected all tensors to have the same size in the mapped dimension, "
            f"got sizes {sorted(lengths)} for the mapped dimension"
        )
    count = lengths.pop()
    rows = [
        once([None if g is None else g[i] for g in gradients], keep or i < count - 1)  # type: ignore[index]
        for i in range(count)
    ]
    return [
        None
        if None in [None if g is None else 0 for g in column]
        else FUNCTIONS["stack"](list(column))
        for column in zip(*rows, strict=True)
    ]
