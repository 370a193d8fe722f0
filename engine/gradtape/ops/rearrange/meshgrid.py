"""Every combination of the elements of vectors: grids, products, choices."""

from __future__ import annotations

import itertools
from typing import Any

from ..._backend import backend_of
from ..._common.warn import warn_once
from ..._dispatch.declare import public, tensor_ops
from ..._tensor.tensor import Tensor, wrap
from .._support.arguments import check_tensor, tensor_list
from ..views.reshape import expand
from .cat import stack


@public
def meshgrid(*tensors: Any, indexing: str | None = None) -> tuple[Tensor, ...]:
    """Return, for each vector, a grid that varies with it along its own dimension.

    ``indexing`` is "ij" (the default, with a warning) or "xy".
    """
    if indexing is None:
        warn_once(
            "torch.meshgrid: in an upcoming release, it will be required to pass the "
            "indexing argument."
        )
        indexing = "ij"
    if indexing not in ("ij", "xy"):
        raise RuntimeError(
            'torch.meshgrid: indexing must be one of "xy" or "ij", but received: '
            f"{indexing}"
        )
    given = (
        tensors[0]
        if len(tensors) == 1 and not isinstance(tensors[0], Tensor)
        else tensors
    )
    vectors = tensor_list(tuple(given), "meshgrid")
    if not vectors:
        raise RuntimeError("meshgrid expects a non-empty TensorList")
    for vector in vectors:
        if vector.dim() > 1:
            raise RuntimeError(
                "torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: "
                f"{vector}"
            )
        if vector.dtype is not vectors[0].dtype:
            raise RuntimeError("meshgrid expects all tensors to have the same dtype")
        if vector.device != vectors[0].device:
            raise RuntimeError("meshgrid expects all tensors to have the same device")
    swap = indexing == "xy" and len(vectors) > 1
    if swap:
        vectors[0], vectors[1] = vectors[1], vectors[0]
    shape = tuple(v.numel() for v in vectors)
    grids = [
        expand(v.view((1,) * i + (-1,) + (1,) * (len(vectors) - i - 1)), shape)
        for i, v in enumerate(vectors)
    ]
    if swap:
        grids[0], grids[1] = grids[1], grids[0]
    return tuple(grids)


@public
def cartesian_prod(*tensors: Tensor) -> Tensor:
    """Return every combination of one element from each vector, one per row."""
    for tensor in tensor_list(tensors, "cartesian_prod"):
        _check_vector(tensor)
    if len(tensors) == 1:
        return tensors[0]
    grids = meshgrid(*tensors, indexing="ij")
    return stack([g.flatten() for g in grids], 1)


def _check_vector(input: Tensor) -> None:
    if input.dim() != 1:
        raise RuntimeError(
            f"Expect a 1D vector, but got shape {list(input._data.shape)}"
        )


@public
def combinations(
    input: Tensor,
    r: int = 2,
    with_replacement: bool = False,
) -> Tensor:
    """Return every choice of ``r`` elements of a vector, one per row."""
    check_tensor(input, "combinations")
    _check_vector(input)
    if r < 0:
        raise RuntimeError(f"Expect a non-negative number, but got {r}")
    if not r:
        return input.new_empty(0)
    xp = backend_of(input._data).xp
    places = xp.meshgrid(*[xp.arange(input.numel())] * r, indexing="ij")
    mask = xp.ones((input.numel(),) * r, bool)
    for before, after in itertools.pairwise(places):
        mask &= before <= after if with_replacement else before < after
    grids = meshgrid(*[input] * r, indexing="ij")
    return stack([tensor_ops.masked_select(g, wrap(mask)) for g in grids], 1)
