"""A function run on every row of its arguments, as PyTorch's older vmap runs it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..._dispatch.declare import FUNCTIONS
from ..._random.generator import RANDOM_IN_VMAP
from ..._random.vmap import vmaps
from ..._sparse.array import refused
from ..._tensor.tensor import Tensor
from ...ops.rearrange.cat import stack

# func.vmap has other words for this; derivatives still go through the older one.
RANDOM = (
    "vmap: We do not yet support calling random operations inside of vmap. Please "
    "perform random operations outside of vmap as a workaround"
)


def by_rows(
    func: Callable[..., tuple[Tensor, ...]], *args: Tensor
) -> tuple[Tensor, ...]:
    """Call ``func`` on every row of the arguments and stack each of its results.

    Raises RuntimeError where the function draws random numbers: one batched call, of
    which this gives the results, would draw others.
    """
    vmaps.refusing += 1
    try:
        results = [
            func(*(each[row] for each in args)) for row in range(args[0].shape[0])
        ]
    except RuntimeError as error:
        if str(error) == RANDOM_IN_VMAP:
            raise RuntimeError(RANDOM) from error
        raise
    finally:
        vmaps.refusing -= 1
    return tuple(stack(each) for each in zip(*results, strict=True))


# ---- ``autograd.grad`` for a batch of incoming gradients ---------------------

_SCALAR = (
    "vmap(vjp, in_dims=0, ...)(<inputs>): Got in_dim=0 for some input, but that input "
    "is a Tensor of dimensionality 0 so expected in_dim to satisfy 0 <= in_dim < 0."
)


def batched_grad(
    once: Callable[[Sequence[Any], bool], list[Tensor | None]],
    gradients: Sequence[Tensor | None],
    keep: bool,
) -> list[Tensor | None]:
    """Call ``once`` for each entry along the gradients' first dimension, and stack.

    ``once(gradients, keep)`` walks the graph, which only the last walk may free.
    """
    given = [g for g in gradients if g is not None]
    if any(g.dim() == 0 for g in given):
        raise ValueError(_SCALAR)
    lengths = [g.shape[0] for g in given]
    if len(set(lengths)) != 1:
        raise ValueError(
            "vmap: Expected all tensors to have the same size in the mapped dimension, "
            f"got sizes {lengths} for the mapped dimension"
        )
    count = lengths[0]
    if not count:
        raise IndexError("index 0 is out of bounds for dimension 0 with size 0")
    rows = [
        once([None if g is None else g[i] for g in gradients], keep or i < count - 1)  # type: ignore[index]
        for i in range(count)
    ]
    if any(each is not None and each.is_sparse for each in rows[0]):
        raise refused("view")
    return [
        None if column[0] is None else FUNCTIONS["stack"](list(column))
        for column in zip(*rows, strict=True)
    ]
