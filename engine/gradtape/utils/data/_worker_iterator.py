"""One pass over a loader's batches, fetched by worker processes."""

from __future__ import annotations

import itertools
import multiprocessing
import warnings
import weakref
from typing import Any, Protocol

from ..._backend.cuda import is_available
from ...autograd.profiler import record_function
from ._utils.errors import ExceptionWrapper
from ._utils.fetch import DatasetKind
from ._utils.pin_memory import pin_memory
from ._utils.pool import Job, WorkerPool, WorkerProcess
from ._utils.worker import _IterableDatasetStopIteration, _ResumeIteration
from .sampler import draw_seed

# ---- one pass over a loader's batches, in this process -----------------------

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


# ---- one pass over a loader's batches, fetched by worker processes -----------


class _MultiProcessingDataLoaderIter(_BaseDataLoaderIter):  # pyright: ignore[reportUnusedClass]
    """A pass that hands keys to workers in turn and gives out batches in that order.

    So that workers never wait, ``prefetch_factor`` tasks for each are on their way. One
    worker answers in order; with ``in_order`` only the worker of the oldest task is
    listened to, so order is kept without storing anything.
    """

    def __init__(self, loader: Loader) -> None:
        super().__init__(loader)
        if not loader.prefetch_factor or loader.prefetch_factor < 0:
            raise AssertionError(
                "prefetch_factor must be greater than 0 for "
                "MultiProcessingDataLoaderIter"
            )
        self._prefetch_factor = loader.prefetch_factor
        self._in_order = loader.in_order
        job = Job(
            self._dataset_kind,
            self._dataset,
            self._auto_collation,
            self._collate_fn,
            self._drop_last,
            self._base_seed,
            loader.worker_init_fn,
            self._num_workers,
        )
        context = loader.multiprocessing_context or multiprocessing.get_context()
        self._pool = WorkerPool(context, job)
        self._workers = [each.process for each in self._pool.workers]
        self._finalizer = weakref.finalize(self, self._pool.stop)
        # At exit multiprocessing ends its daemons itself, without waiting for them.
        self._finalizer.atexit = False
        self._reset(loader, first_iter=True)

    def _reset(self, loader: Loader, first_iter: bool = False) -> None:
        super()._reset(loader, first_iter)
        self._numbers = itertools.count()
        self._tasks: dict[int, WorkerProcess] = {}  # not yet answered, oldest first
        self._turns = itertools.cycle(self._pool.workers)
        if not first_iter:
            self._resume()
        self._top_up()

    def _resume(self) -> None:
        """Begin the next epoch with the same workers; answers to the last are lost."""
        for worker in self._pool.workers:
            worker.ask(_ResumeIteration())
        for worker in self._pool.workers:
            while not isinstance(self._receive([worker])[1], _ResumeIteration):
                pass
            worker.active, worker.outstanding = True, 0

    # ---- tasks ----

    def _top_up(self) -> None:
        while len(self._tasks) < self._prefetch_factor * self._num_workers:
            if not self._ask_next():
                return

    def _ask_next(self) -> bool:
        """Hand the next keys to a worker; False where there are none, or no worker."""
        worker = self._worker_in_turn()
        if worker is None:
            return False
        try:
            keys = self._next_index()
        except StopIteration:
            return False
        number = next(self._numbers)
        self._tasks[number] = worker
        worker.outstanding += 1
        worker.ask((number, keys))
        return True

    def _worker_in_turn(self) -> WorkerProcess | None:
        active = sum(each.active for each in self._pool.workers)
        for worker in itertools.islice(self._turns, self._num_workers):
            if not worker.active:
                continue
            share = self._prefetch_factor * self._num_workers // active
            if self._in_order or worker.outstanding < share:
                return worker
        return None

    # ---- answers ----

    def _next_data(self) -> Any:
        while self._tasks:
            oldest = next(iter(self._tasks.values()))
            listened = [oldest] if self._in_order else list(set(self._tasks.values()))
            worker, number, data = self._receive(listened)
            if isinstance(data, _IterableDatasetStopIteration):
                self._set_aside(worker)
                if not self._persistent_workers:
                    worker.close()
                self._top_up()
                continue
            del self._tasks[number]
            worker.outstanding -= 1
            self._top_up()
            if isinstance(data, ExceptionWrapper):
                data.reraise()
            return data
        if not self._persistent_workers:
            self._shutdown_workers()
        raise StopIteration

    def _receive(self, listened: list[WorkerProcess]) -> tuple[WorkerProcess, Any, Any]:
        """Wait for an answer; return who gave it, the task's number and the batch."""
        try:
            worker = self._pool.wait(listened, self._timeout)
            return worker, *worker.answer()
        except (EOFError, OSError):
            error = self._pool.death(listened)
            for each in listened:
                if not each.active:
                    self._set_aside(each)
            raise error from error.__cause__

    def _set_aside(self, worker: WorkerProcess) -> None:
        """Expect nothing more of a worker in this epoch."""
        worker.active = False
        self._tasks = {n: each for n, each in self._tasks.items() if each is not worker}

    def _shutdown_workers(self) -> None:
        self._finalizer()
