"""The loader's side of its worker processes: start them, ask, wait, end them."""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import time
import warnings
from collections.abc import Sequence
from multiprocessing import connection, util
from multiprocessing.context import BaseContext
from multiprocessing.process import BaseProcess
from typing import Any

from . import worker
from .channel import receive
from .serving import Job, worker_loop

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
