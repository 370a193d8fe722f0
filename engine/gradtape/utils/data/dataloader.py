"""`DataLoader`: batches of a dataset, epoch after epoch."""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, TypeVar

from ..._common.warn import warn_once
from ..._random.generator import Generator
from ...multiprocessing.spawn import has_processes
from ._iterators import _BaseDataLoaderIter as _BaseDataLoaderIter
from ._iterators import _SingleProcessDataLoaderIter as _SingleProcessDataLoaderIter
from ._utils.collate import default_collate as default_collate
from ._utils.collate import default_convert as default_convert
from ._utils.fetch import DatasetKind
from ._utils.worker import get_worker_info as get_worker_info
from .dataset import IterableDataset
from .sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler

__all__ = ["DataLoader", "default_collate", "default_convert", "get_worker_info"]

T_co = TypeVar("T_co", covariant=True)

_DatasetKind = DatasetKind
_FIXED = frozenset(
    (
        *("batch_size", "batch_sampler", "sampler", "drop_last", "dataset"),
        "persistent_workers",
    )
)
_NO_PROCESSES = (
    "This Python cannot start processes, as in a browser: DataLoader fetches without "
    "workers."
)


class _InfiniteConstantSampler(Sampler[None]):
    """Stands for the keys of a stream, which has none."""

    def __iter__(self) -> Iterator[None]:
        while True:
            yield None


class DataLoader(Generic[T_co]):
    """Go through a dataset in batches, in this process or with worker processes.

    - ``batch_size`` samples make a batch; with None each sample comes by itself.
    - ``shuffle``, ``sampler`` or ``batch_sampler`` say which samples and when;
      ``drop_last`` leaves a shorter last batch out.
    - ``collate_fn`` makes a batch of a list of samples: :func:`default_collate`, or
      :func:`default_convert` for single samples.
    - ``num_workers`` processes fetch ``prefetch_factor`` batches each ahead, started
      as ``multiprocessing_context`` says. ``worker_init_fn(id)`` runs in each first.
      Where Python has no processes, as in a browser, there are no workers: it warns.
      With ``persistent_workers`` they outlive an epoch; with ``in_order=False`` batches
      come as they are ready. After ``timeout`` seconds without a batch (0: never)
      RuntimeError is raised.
    - ``generator`` draws the shuffles and the workers' seeds.
    - ``pin_memory`` asks what it can in a batch to pin its memory.

    Raises ValueError for options that contradict each other. Errors of a worker are
    raised here, with the worker's traceback.

    >>> list(DataLoader(range(5), batch_size=2))
    [tensor([0, 1]), tensor([2, 3]), tensor([4])]
    """

    dataset: Any
    batch_size: int | None
    num_workers: int
    pin_memory: bool
    drop_last: bool
    timeout: float
    sampler: Any
    pin_memory_device: str
    prefetch_factor: int | None
    _iterator: Any
    __initialized = False

    def __init__(
        self,
        dataset: Any,
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Iterable[Any] | None = None,
        batch_sampler: Iterable[Any] | None = None,
        num_workers: int = 0,
        collate_fn: Callable[[Any], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], Any] | None = None,
        multiprocessing_context: Any = None,
        generator: Generator | None = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
    ) -> None:
        check_counts(num_workers, timeout, prefetch_factor, persistent_workers)
        if num_workers and not has_processes():
            warn_once(_NO_PROCESSES)
            num_workers, timeout, multiprocessing_context = 0, 0, None
        if num_workers > 0 and prefetch_factor is None:
            prefetch_factor = 2
        self.dataset = dataset
        self.num_workers = num_workers
        self.prefetch_factor = prefetch_factor
        self.pin_memory = pin_memory
        self.pin_memory_device = pin_memory_device
        self.timeout = timeout
        self.worker_init_fn = worker_init_fn
        self.multiprocessing_context = multiprocessing_context
        self.in_order = in_order
        self.generator = generator
        self._dataset_kind = DatasetKind.Map
        if isinstance(dataset, IterableDataset):
            self._dataset_kind = DatasetKind.Iterable
            check_iterable(shuffle, sampler, batch_sampler)
        check_samplers(batch_size, shuffle, sampler, batch_sampler, drop_last)
        if batch_sampler is not None:
            batch_size = None
        if sampler is None:
            sampler = self._default_sampler(bool(shuffle))
        if batch_size is not None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.batch_size = batch_size
        self.drop_last = drop_last
        self.sampler = sampler
        self.batch_sampler: Any = batch_sampler
        if collate_fn is None:
            collate_fn = default_collate if self._auto_collation else default_convert
        self.collate_fn = collate_fn
        self.persistent_workers = persistent_workers
        self.__initialized = True
        self._IterableDataset_len_called: int | None = None
        self._iterator = None
        self.check_worker_number_rationality()

    def _default_sampler(self, shuffle: bool) -> Sampler[Any]:
        if self._dataset_kind == DatasetKind.Iterable:
            return _InfiniteConstantSampler()
        if shuffle:
            return RandomSampler(self.dataset, generator=self.generator)
        return SequentialSampler(self.dataset)

    @property
    def multiprocessing_context(self) -> Any:
        """How workers are started: a context of `multiprocessing`, None for its own.

        Setting it takes a context or the name of a start method, with workers only.
        """
        return self.__multiprocessing_context

    @multiprocessing_context.setter
    def multiprocessing_context(self, multiprocessing_context: Any) -> None:
        self.__multiprocessing_context = context_of(
            multiprocessing_context, self.num_workers
        )

    def __setattr__(self, attr: str, val: Any) -> None:
        if self.__initialized and attr in _FIXED:
            raise ValueError(
                f"{attr} attribute should not be set after {type(self).__name__} is "
                "initialized"
            )
        super().__setattr__(attr, val)

    def __iter__(self) -> Any:
        if not self.persistent_workers or self.num_workers == 0:
            return self._get_iterator()
        if self._iterator is None:
            self._iterator = self._get_iterator()
        else:
            self._iterator._reset(self)
        return self._iterator

    def _get_iterator(self) -> _BaseDataLoaderIter:
        if self.num_workers == 0:
            return _SingleProcessDataLoaderIter(self)
        from ._worker_iterator import _MultiProcessingDataLoaderIter

        self.check_worker_number_rationality()
        return _MultiProcessingDataLoaderIter(self)

    @property
    def _auto_collation(self) -> bool:
        return self.batch_sampler is not None

    @property
    def _index_sampler(self) -> Any:
        """What gives the keys of one fetch: a list of them with auto-collation."""
        return self.batch_sampler if self._auto_collation else self.sampler

    def __len__(self) -> int:
        """Return the number of batches.

        For a stream this is computed from the length that it claims; a pass that finds
        more samples warns.
        """
        if self._dataset_kind != DatasetKind.Iterable:
            return len(self._index_sampler)
        length = self._IterableDataset_len_called = len(self.dataset)
        if self.batch_size is None:
            return length
        if self.drop_last:
            return length // self.batch_size
        return math.ceil(length / self.batch_size)

    def check_worker_number_rationality(self) -> None:
        """Warn where there are more workers than processors to run them."""
        if not self.num_workers:
            return
        knows_cpuset = hasattr(os, "sched_getaffinity")
        count = len(os.sched_getaffinity(0)) if knows_cpuset else os.cpu_count()
        if count is None:
            advice = (
                "DataLoader is not able to compute a suggested max number of worker in "
                "current system."
            )
        elif self.num_workers > count:
            note = "" if knows_cpuset else " (`cpuset` is not taken into account)"
            advice = (
                "Our suggested max number of worker in current system is "
                f"{count}{note}, which is smaller than what this DataLoader is going "
                "to create."
            )
        else:
            return
        warnings.warn(
            f"This DataLoader will create {self.num_workers} worker processes in "
            f"total. {advice} Please be aware that excessive worker creation might get "
            "DataLoader running slow or even freeze, lower the worker number to avoid "
            "potential slowness/freeze if necessary.",
            stacklevel=2,
        )


def __getattr__(name: str) -> Any:
    # Workers need `multiprocessing`, which takes its time to load; most programs don't.
    if name == "_MultiProcessingDataLoaderIter":
        from ._worker_iterator import _MultiProcessingDataLoaderIter

        return _MultiProcessingDataLoaderIter
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


# ---- which options of a loader go together; the sentences are PyTorch's ------


def check_counts(
    num_workers: int,
    timeout: float,
    prefetch_factor: int | None,
    persistent_workers: bool,
) -> None:
    """Refuse negative numbers, and options of workers where there are none."""
    if num_workers < 0:
        raise ValueError(
            "num_workers option should be non-negative; use num_workers=0 to disable "
            "multiprocessing."
        )
    if timeout < 0:
        raise ValueError("timeout option should be non-negative")
    if prefetch_factor is not None:
        if num_workers == 0:
            raise ValueError(
                "prefetch_factor option could only be specified in multiprocessing."
                "let num_workers > 0 to enable multiprocessing, otherwise set "
                "prefetch_factor to None."
            )
        if prefetch_factor < 0:
            raise ValueError("prefetch_factor option should be non-negative")
    if persistent_workers and num_workers == 0:
        raise ValueError("persistent_workers option needs num_workers > 0")


def check_iterable(
    shuffle: bool | None,
    sampler: Iterable[Any] | None,
    batch_sampler: Iterable[Any] | None,
) -> None:
    """Refuse to choose samples from a stream."""
    given = {
        "shuffle": shuffle or None,
        "sampler": sampler,
        "batch_sampler": batch_sampler,
    }
    for name, value in given.items():
        if value is not None:
            raise ValueError(
                f"DataLoader with IterableDataset: expected unspecified {name} option, "
                f"but got {name}={value}"
            )


def check_samplers(
    batch_size: int | None,
    shuffle: bool | None,
    sampler: Iterable[Any] | None,
    batch_sampler: Iterable[Any] | None,
    drop_last: bool,
) -> None:
    """Refuse two answers to one question."""
    if sampler is not None and shuffle:
        raise ValueError("sampler option is mutually exclusive with shuffle")
    if batch_sampler is not None:
        if batch_size != 1 or shuffle or sampler is not None or drop_last:
            raise ValueError(
                "batch_sampler option is mutually exclusive with batch_size, shuffle, "
                "sampler, and drop_last"
            )
    elif batch_size is None and drop_last:
        raise ValueError(
            "batch_size=None option disables auto-batching and is mutually exclusive "
            "with drop_last"
        )


def context_of(given: Any, num_workers: int) -> Any:
    """Return the context of `multiprocessing` that an option means; None for none."""
    if given is None:
        return None
    if num_workers <= 0:
        raise ValueError(
            "multiprocessing_context can only be used with multi-process loading "
            f"(num_workers > 0), but got num_workers={num_workers}"
        )
    import multiprocessing
    from multiprocessing.context import BaseContext

    if isinstance(given, str):
        methods = multiprocessing.get_all_start_methods()
        if given not in methods:
            raise ValueError(
                "multiprocessing_context option should specify a valid start method in "
                f"{methods!r}, but got multiprocessing_context={given!r}"
            )
        return multiprocessing.get_context(given)
    if not isinstance(given, BaseContext):
        raise TypeError(
            "multiprocessing_context option should be a valid context object or a "
            "string specifying the start method, but got "
            f"multiprocessing_context={given}"
        )
    return given
