"""Batches of a plain TensorDataset: all rows at once, as fetching each is slow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...._tensor.tensor import Tensor
from ....ops.creation.from_data import tensor
from ....ops.memory.memory_format import strided
from ..dataset import Subset, TensorDataset
from .collate import collate_tensor_fn, default_collate, default_collate_fn_map


def rows_of(
    dataset: Any, keys: Any, collate_fn: Callable[..., Any]
) -> list[Tensor] | None:
    """Return ``default_collate([dataset[key] for key in keys])``, taken at once.

    None where that could come out differently: other datasets (subsets apart), another
    ``collate_fn``, tensors with a gradient or out of order, keys that are no ints.
    """
    if (
        type(keys) is not list
        or collate_fn is not default_collate
        or default_collate_fn_map.get(Tensor) is not collate_tensor_fn
    ):
        return None
    source, places = dataset, keys
    while type(source) is Subset:
        places = [source.indices[place] for place in places]
        source = source.dataset
    if type(source) is not TensorDataset or not all(map(_is_plain, source.tensors)):
        return None
    if not places or any(type(place) is not int for place in places):
        return None
    index = tensor(places)
    return [each[index] for each in source.tensors]


def _is_plain(each: Any) -> bool:
    return (
        type(each) is Tensor
        and each.layout is strided
        and not each.requires_grad
        and each.is_contiguous()
    )
