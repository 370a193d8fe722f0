"""One pass over a loader's batches, in this process."""

from __future__ import annotations

import warnings
from typing import Any, Protocol

from ..._backend.cuda import is_available
from ...autograd.profiler import record_function
from ._utils.fetch import DatasetKind
from ._utils.pin_memory import pin_memory
from .sampler import draw_seed

_NO_ACCELERATOR = (
    "'pin_memory' argument is set as true but no accelerator is found, then device "
    "pinned memory won't be used."
)
_CONFIGURE_REPLICAS = (
    "For multiprocessing data-loading, this could be caused by not properly "
    "configuring the IterableDataset replica at each worker. Please see "
    "https://pytorch.org/docs/stable/data.html#torch.utils.data.IterableDataset for "
    "examples."
)


class Loader(Protocol):
    """What a pass asks of its loader."""

    dataset: Any
    drop_last: bool
    num_workers: int
    pin_memory: bool
    pin_memory_device: str
    timeout: float
    collate_fn: Any
    generator: Any
    persistent_workers: bool
    prefetch_factor: int | None
    in_order: bool
    worker_init_fn: Any
    multiprocessing_context: Any
    _dataset_kind: Any
    _IterableDataset_len_called: int | None

    @property
    def _auto_collation(self) -> bool: ...

    @property
    def _index_sampler(self) -> Any: ...


class _BaseDataLoaderIter:
    """What both kinds of passes share: the sampler, the seed, the count."""

    def __init__(self, loader: Loader) -> None:
        self._dataset = loader.dataset
        self._dataset_kind = loader._dataset_kind
        self._auto_collation = loader._auto_collation
        self._drop_last = loader.drop_last
        self._index_sampler: Any = loader._index_sampler
        self._num_workers = loader.num_workers
        self._pin_memory = _pins(loader)
        self._timeout = loader.timeout
        self._collate_fn = loader.collate_fn
        self._sampler_iter = iter(self._index_sampler)
        self._base_seed = draw_seed(loader.generator)
        self._persistent_workers = loader.persistent_workers
        self._num_yielded = 0
        self._length_promised = loader._IterableDataset_len_called
        self._profile_name = f"enumerate(DataLoader)#{type(self).__name__}.__next__"

    def __iter__(self) -> _BaseDataLoaderIter:
        return self

    def _reset(self, loader: Loader, first_iter: bool = False) -> None:
        """Begin another epoch."""
        self._sampler_iter = iter(self._index_sampler)
        self._num_yielded = 0
        self._length_promised = loader._IterableDataset_len_called

    def _next_index(self) -> Any:
        return next(self._sampler_iter)

    def _next_data(self) -> Any:
        raise NotImplementedError

    def __next__(self) -> Any:
        with record_function(self._profile_name):
            data = self._next_data()
        self._num_yielded += 1
        promised = self._length_promised
        if promised is not None and self._num_yielded > promised:
            message = (
                f"Length of IterableDataset {self._dataset} was reported to be "
                f"{promised}(when accessing len(dataloader)), but {self._num_yielded} "
                "samples have been fetched. "
            )
            if self._num_workers > 0:
                message += _CONFIGURE_REPLICAS
            warnings.warn(message, stacklevel=2)
        return pin_memory(data) if self._pin_memory else data

    def __len__(self) -> int:
        return len(self._index_sampler)

    def __getstate__(self) -> Any:
        raise NotImplementedError("{} cannot be pickled", type(self).__name__)


class _SingleProcessDataLoaderIter(_BaseDataLoaderIter):  # pyright: ignore[reportUnusedClass]
    """A pass that fetches where it is asked."""

    def __init__(self, loader: Loader) -> None:
        super().__init__(loader)
        if self._timeout != 0:
            raise AssertionError("_SingleProcessDataLoaderIter requires timeout == 0")
        self._dataset_fetcher = DatasetKind.create_fetcher(
            self._dataset_kind,
            self._dataset,
            self._auto_collation,
            self._collate_fn,
            self._drop_last,
        )

    def _next_data(self) -> Any:
        return self._dataset_fetcher.fetch(self._next_index())


def _pins(loader: Loader) -> bool:
    """Tell whether batches are pinned; warn where that was asked for in vain."""
    if loader.pin_memory and loader.pin_memory_device:
        warnings.warn(
            "pin_memory_device is deprecated, the current accelerator will be used as "
            f"the device,ignore pin_memory_device='{loader.pin_memory_device}'.",
            stacklevel=4,
        )
    if not loader.pin_memory:
        return False
    found = is_available()
    if not found:
        warnings.warn(_NO_ACCELERATOR, stacklevel=4)
    return found
