"""The loader's side of its worker processes: start them, ask, wait, end them."""

from __future__ import annotations

import contextlib
import io
import multiprocessing
import os
import pickle
import queue
import random
import signal
import threading
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing import connection, reduction, util
from multiprocessing.connection import Connection
from multiprocessing.context import BaseContext
from multiprocessing.process import BaseProcess
from typing import Any, NamedTuple

import numpy as np

from ...._tensor.tensor import Tensor, wrap
from ....ops.creation.random import manual_seed
from ....ops.memory.memory_format import strided
from ....ops.tensor.settings import set_num_threads
from . import worker
from .fetch import DatasetKind
from .worker import ExceptionWrapper

_PICKLE_ERROR = (
    "Got pickle error when attempting to start a worker Process. This might be because "
    "the worker Process arguments are not picklable. Python 3.14+ changed the "
    "multiprocessing start method in non-Mac POSIX platforms to 'forkserver', which "
    "requires the worker Process arguments to be picklable. You can also try "
    "multiprocessing.set_start_method('fork')."
)
_NO_DETAILS = (
    "DataLoader worker (pid {}) exited unexpectedly with exit code {}. Details are "
    "lost due to multiprocessing. Rerunning with num_workers=0 may give better error "
    "trace."
)


class WorkerProcess:
    """One worker: its process and the loader's ends of the two ways to it."""

    def __init__(self, context: BaseContext, job: Job, worker_id: int) -> None:
        tasks, self._tasks = context.Pipe(duplex=False)
        # Descriptors travel through sockets only, and those go both ways.
        self.results, results = context.Pipe(duplex=True)
        for mine in (self._tasks, self.results):
            # Other workers must not hold these open: closing them ends this worker.
            util.register_after_fork(mine, type(mine).close)
        self.process: BaseProcess = context.Process(  # type: ignore[attr-defined] - every context has it
            target=worker_loop,
            args=(job, worker_id, tasks, results),
            daemon=True,
        )
        try:
            self.process.start()
        except (TypeError, AttributeError, pickle.PicklingError):
            warnings.warn(_PICKLE_ERROR, stacklevel=5)
            raise
        finally:
            tasks.close()
            results.close()
        self.active = True
        self.outstanding = 0

    def ask(self, task: Any) -> None:
        """Send a task. A worker that is gone is noticed where its answer is missed."""
        with contextlib.suppress(BrokenPipeError):
            self._tasks.send(task)

    def answer(self) -> tuple[Any, Any]:
        """Return the next ``(number, batch)``; waits for it."""
        return receive(self.results)

    def close(self) -> None:
        """Let the worker end once it has finished what it is doing."""
        self._tasks.close()
        self.results.close()

    def last_words(self) -> str:
        """Say how a process ended."""
        pid, code = self.process.pid, self.process.exitcode
        if code is not None and code < 0:
            how = signal.strsignal(-code)
            return f"DataLoader worker (pid {pid}) is killed by signal: {how}. "
        return _NO_DETAILS.format(pid, code)


class WorkerPool:
    """All workers of one loader."""

    def __init__(self, context: BaseContext, job: Job) -> None:
        self._owner = os.getpid()
        self.workers: list[WorkerProcess] = []
        try:
            for worker_id in range(job.num_workers):
                self.workers.append(WorkerProcess(context, job, worker_id))
        except BaseException:
            self.stop()
            raise

    def wait(self, wanted: Sequence[WorkerProcess], timeout: float) -> WorkerProcess:
        """Return one of these workers whose answer has come.

        Raises RuntimeError where there is none after ``timeout`` seconds (0 waits
        forever), EOFError where one of them died.
        """
        end = time.monotonic() + timeout
        while True:
            left = max(0.0, end - time.monotonic()) if timeout else None
            ends = {each.results: each for each in wanted}
            deaths = {each.process.sentinel: each for each in wanted}
            ready = connection.wait([*ends, *deaths], left)
            for each in ready:
                if each in ends:
                    return ends[each]  # type: ignore[index] - checked
            if not ready:
                raise RuntimeError(f"DataLoader timed out after {timeout} seconds")
            if not any(each.results.poll() for each in deaths.values()):
                raise EOFError

    def death(self, wanted: Sequence[WorkerProcess]) -> RuntimeError:
        """Return the error that names the workers that died, and set them aside."""
        for each in wanted:
            each.process.join(0.1)  # its end of the pipe closes a little earlier
        dead = [each for each in self.workers if each.active and not _runs(each)]
        for each in dead:
            each.active = False
        pids = ", ".join(str(each.process.pid) for each in dead)
        error = RuntimeError(f"DataLoader worker (pid(s) {pids}) exited unexpectedly")
        if dead:
            error.__cause__ = RuntimeError(dead[0].last_words())
        return error

    def stop(self) -> None:
        """End all workers, by force where one does not end by itself."""
        if os.getpid() != self._owner:
            return  # a copy in another process, whose children these are not
        for each in self.workers:
            each.close()
        for each in self.workers:
            each.process.join(worker.MP_STATUS_CHECK_INTERVAL)
            if _runs(each):
                each.process.terminate()
                each.process.join(worker.MP_STATUS_CHECK_INTERVAL)


def _runs(each: WorkerProcess) -> bool:
    return each.process.is_alive()


# ---- messages; the memory of arrays goes beside them ----

# Below this, a copy through the pipe is faster than making memory to share.
_APART = 64 * 1024
_HAS_MEMORY_FILES = hasattr(os, "memfd_create")

_NON_LEAF = (
    "Cowardly refusing to serialize non-leaf tensor which requires_grad, since "
    "autograd does not support crossing process boundaries.  If you just want to "
    "transfer the data, call detach() on the tensor before serializing (e.g., putting "
    "it on the queue)."
)


class Message(NamedTuple):
    """A pickled value, and the sizes of the arrays that lie in the file ``memory``."""

    text: bytes
    sizes: list[int]
    memory: int | None


# ---- tensors ----


def _reduced(tensor: Tensor) -> tuple[Any, ...]:
    """Pickle a tensor by the values it shows, not by all of its memory."""
    if tensor.requires_grad and not tensor.is_leaf:
        raise RuntimeError(_NON_LEAF)
    data: Any = tensor._data
    if not isinstance(data, np.ndarray) or tensor.layout is not strided:
        whole: Any = tensor.__reduce_ex__(pickle.HIGHEST_PROTOCOL)
        return whole
    axes = tensor.dim_order()
    dense = np.require(data.transpose(axes), requirements=["C", "W"])
    flat: Any = dense.reshape(-1).view(np.uint8)
    facts = (tensor.dtype, dense.shape, axes, tensor.requires_grad, tensor.__dict__)
    return _rebuilt, (pickle.PickleBuffer(flat), *facts)


def _rebuilt(
    memory: Any,
    dtype: Any,
    shape: tuple[int, ...],
    axes: tuple[int, ...],
    requires_grad: bool,
    attributes: dict[str, Any],
) -> Tensor:
    back = np.argsort(axes)
    array = np.ndarray(shape, dtype.numpy, memory).transpose(tuple(back))
    tensor = wrap(array)
    tensor.share_memory_()  # PyTorch's say so, and nobody else writes here
    if requires_grad:
        tensor.requires_grad_()
    tensor.__dict__.update(attributes)
    return tensor


# ---- messages ----


class _Pickler(reduction.ForkingPickler):
    """Pickles for another process of this program, large arrays apart."""

    def __init__(self, file: io.BytesIO, apart: list[memoryview]) -> None:
        def keeps_inside(buffer: pickle.PickleBuffer) -> bool:
            memory = buffer.raw()
            inside = not _HAS_MEMORY_FILES or memory.nbytes < _APART
            if not inside:
                apart.append(memory)
            return inside

        super().__init__(file, 5, True, keeps_inside)  # type: ignore[call-arg] - takes what Pickler takes
        self.dispatch_table[Tensor] = _reduced  # type: ignore[index] - its own copy


def packed(value: Any) -> Message:
    """Pickle a value for :class:`Sender`."""
    file = io.BytesIO()
    apart: list[memoryview] = []
    _Pickler(file, apart).dump(value)
    sizes = [memory.nbytes for memory in apart]
    return Message(file.getvalue(), sizes, _written(apart) if apart else None)


def _written(parts: list[memoryview]) -> int:
    """Copy arrays into new memory; return its descriptor."""
    memory = os.memfd_create("gradtape")
    try:
        for part in parts:
            while part.nbytes:  # one call writes 2 GB at most
                part = part[os.write(memory, part) :]
    except OSError:
        os.close(memory)
        raise
    return memory


def _read(memory: int, sizes: list[int]) -> list[Any]:
    """Copy arrays out of memory; return their bytes, which may be written."""
    found: list[Any] = [np.empty(size, np.uint8) for size in sizes]
    position = 0
    for array in found:
        part = memoryview(array)
        while part.nbytes:
            count = os.preadv(memory, [part], position)
            if not count:
                raise EOFError
            part, position = part[count:], position + count
    return found


def receive(connection: Connection) -> Any:
    """Return the next value that a :class:`Sender` sent; EOFError where it is gone."""
    text, sizes = connection.recv()
    if not sizes:
        return pickle.loads(text)
    memory = reduction.recv_handle(connection)
    try:
        buffers = _read(memory, sizes)
    finally:
        os.close(memory)
    return pickle.loads(text, buffers=buffers)


class Sender:
    """Sends messages in a thread of its own, so that work goes on meanwhile."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._waiting: queue.SimpleQueue[Message] = queue.SimpleQueue()
        threading.Thread(target=self._run, daemon=True).start()

    def put(self, message: Message) -> None:
        """Send a message soon."""
        self._waiting.put(message)

    def _run(self) -> None:
        with contextlib.suppress(OSError):  # the reader is gone
            while True:
                self._send(self._waiting.get())

    def _send(self, message: Message) -> None:
        self._connection.send((message.text, message.sizes))
        if message.memory is not None:
            reduction.send_handle(self._connection, message.memory, os.getppid())
            os.close(message.memory)


# ---- what a worker process does: seed itself, fetch what it is asked for, send it ----


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
