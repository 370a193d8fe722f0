"""A function run on every row of its arguments, as PyTorch's older vmap runs it."""

from __future__ import annotations

from collections.abc import Callable

from ..._random.generator import RANDOM_IN_VMAP
from ..._random.vmap import vmaps
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
