"""What a worker process does: seed itself, fetch what it is asked for, send it."""

from __future__ import annotations

import multiprocessing
import pickle
import random
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from ....ops.creation.random import manual_seed
from ....ops.tensor.settings import set_num_threads
from . import worker
from .channel import Sender, packed
from .errors import ExceptionWrapper
from .fetch import DatasetKind


@dataclass(frozen=True)
class Job:
    """What all workers of one loader are told."""

    dataset_kind: int
    dataset: Any
    auto_collation: bool
    collate_fn: Callable[[Any], Any]
    drop_last: bool
    base_seed: int
    worker_init_fn: Callable[[int], Any] | None
    num_workers: int


def worker_loop(
    job: Job, worker_id: int, tasks: Connection, results: Connection
) -> None:
    """Answer tasks ``(number, keys)`` with ``(number, batch)`` until they end."""
    try:
        set_num_threads(1)  # the workers are what runs side by side
        seed = job.base_seed + worker_id
        random.seed(seed)
        manual_seed(seed)
        np.random.seed(worker._generate_state(job.base_seed, worker_id))
        info = worker.WorkerInfo(worker_id, job.num_workers, seed, job.dataset)
        worker._worker_info = info
        mine = _Worker(job, worker_id, Sender(results))
        for task in _incoming(tasks):
            mine.handle(task)
    except KeyboardInterrupt:
        pass  # the main process is interrupted too, and says so


def _incoming(tasks: Connection) -> Iterator[Any]:
    """Yield what is asked until the loader closes its end, which drops what waits."""
    waiting: deque[Any] = deque()
    loader = multiprocessing.parent_process()
    try:
        while True:
            while not waiting or tasks.poll():
                if tasks.poll(worker.MP_STATUS_CHECK_INTERVAL):
                    waiting.append(tasks.recv())
                elif loader is not None and not loader.is_alive():
                    return
            yield waiting.popleft()
    except (EOFError, OSError):
        return


class _Worker:
    """One worker's dataset, and where its answers go."""

    def __init__(self, job: Job, worker_id: int, sender: Any) -> None:
        self._job = job
        self._id = worker_id
        self._sender = sender
        self._failure: ExceptionWrapper | None = None
        self._fetcher: Any = None
        self._ended = False
        self._begin(job.worker_init_fn)

    def handle(self, task: Any) -> None:
        """Answer one task; once the stream has ended, none until the next epoch."""
        if isinstance(task, worker._ResumeIteration):
            self._send(task, None)
            self._ended = False
            self._begin(None)
        elif not self._ended:
            number, keys = task
            self._send(number, self._answer(keys))

    def _begin(self, init_fn: Callable[[int], Any] | None) -> None:
        """Go to the beginning of the dataset; keep an error for the first task."""
        job = self._job
        try:
            if init_fn is not None:
                init_fn(self._id)
            self._fetcher = DatasetKind.create_fetcher(
                job.dataset_kind,
                job.dataset,
                job.auto_collation,
                job.collate_fn,
                job.drop_last,
            )
        except Exception:
            self._failure = self._caught()

    def _answer(self, keys: Any) -> Any:
        if self._failure is not None:
            return self._failure
        try:
            return self._fetcher.fetch(keys)
        except StopIteration:
            if self._job.dataset_kind != DatasetKind.Iterable:
                return self._caught()
            self._ended = True
            return worker._IterableDatasetStopIteration(self._id)
        except Exception:
            return self._caught()

    def _caught(self) -> ExceptionWrapper:
        found = ExceptionWrapper(where=f"in DataLoader worker process {self._id}")
        try:
            pickle.dumps(found.exc_type)
        except Exception:
            found.exc_type = RuntimeError  # its own type cannot be sent
        return found

    def _send(self, number: Any, answer: Any) -> None:
        try:
            message = packed((number, answer))
        except Exception:
            message = packed((number, self._caught()))
        self._sender.put(message)
