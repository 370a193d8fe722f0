"""Fetch the samples of one batch from a dataset and hand them to ``collate_fn``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...._tensor.tensor import Tensor
from ....ops.creation.from_data import tensor
from ....ops.memory.memory_format import strided
from ..dataset import Subset, TensorDataset
from .collate import collate_tensor_fn, default_collate, default_collate_fn_map


class _BaseDatasetFetcher:
    """Fetches what a sampler names: a list of keys with ``auto_collation``, or one."""

    def __init__(
        self,
        dataset: Any,
        auto_collation: bool,
        collate_fn: Callable[[Any], Any],
        drop_last: bool,
    ) -> None:
        self.dataset = dataset
        self.auto_collation = auto_collation
        self.collate_fn = collate_fn
        self.drop_last = drop_last

    def fetch(self, possibly_batched_index: Any) -> Any:
        """Return a batch, or a converted sample."""
        raise NotImplementedError


class _IterableDatasetFetcher(_BaseDatasetFetcher):
    """Takes the next samples of a stream, as many as there are keys."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.dataset_iter = iter(self.dataset)
        self.ended = False

    def fetch(self, possibly_batched_index: Any) -> Any:
        """Return the next batch or sample; StopIteration where the stream has ended."""
        if self.ended:
            raise StopIteration
        if not self.auto_collation:
            return self.collate_fn(next(self.dataset_iter))
        data: list[Any] = []
        wanted = len(possibly_batched_index)
        for _ in range(wanted):
            try:
                data.append(next(self.dataset_iter))
            except StopIteration:
                self.ended = True
                break
        if not data or (self.drop_last and len(data) < wanted):
            raise StopIteration
        return self.collate_fn(data)


class _MapDatasetFetcher(_BaseDatasetFetcher):
    """Asks a dataset for keys, all at once where it has ``__getitems__``."""

    def fetch(self, possibly_batched_index: Any) -> Any:
        """Return the batch of these keys, or the sample of this one."""
        if not self.auto_collation:
            return self.collate_fn(self.dataset[possibly_batched_index])
        rows = rows_of(self.dataset, possibly_batched_index, self.collate_fn)
        if rows is not None:
            return rows
        if getattr(self.dataset, "__getitems__", None):
            data = self.dataset.__getitems__(possibly_batched_index)
        else:
            data = [self.dataset[key] for key in possibly_batched_index]
        return self.collate_fn(data)


class DatasetKind:
    """Maps, which are asked for keys, and streams."""

    Map = 0
    Iterable = 1

    @staticmethod
    def create_fetcher(kind: int, *given: Any) -> _BaseDatasetFetcher:
        """Return what fetches from a dataset of this kind."""
        if kind == DatasetKind.Map:
            return _MapDatasetFetcher(*given)
        return _IterableDatasetFetcher(*given)


# ---- batches of a plain TensorDataset: all rows at once, as fetching each is slow ----


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
