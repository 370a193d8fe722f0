"""One pass over a loader's batches, fetched by worker processes."""

from __future__ import annotations

import itertools
import multiprocessing
import weakref
from typing import Any

from ._iterators import Loader, _BaseDataLoaderIter
from ._utils.pool import Job, WorkerPool, WorkerProcess
from ._utils.worker import (
    ExceptionWrapper,
    _IterableDatasetStopIteration,
    _ResumeIteration,
)


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
