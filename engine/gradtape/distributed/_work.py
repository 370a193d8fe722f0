"""What a collective returns that goes on while the program does: `Work`."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from datetime import timedelta
from typing import Any

from ._engine import Pending

__all__ = ["Work", "Worker"]


class Work:
    """An operation that began; `wait` for it before its tensors are used.

    ``finish`` is called once with what ``pending`` gives, by whoever first sees that
    it is over: it stores what was received.
    """

    __module__ = "torch.distributed"

    def __init__(
        self,
        pending: Pending,
        tensors: list[Any],
        finish: Callable[[Any], None] | None = None,
    ) -> None:
        self._pending, self._tensors, self._finish = pending, tensors, finish
        self._lock = threading.Lock()
        self._over = False
        self._error: BaseException | None = None

    def wait(self, timeout: timedelta | None = None) -> bool:
        """Wait until it is over, and return True; raise what went wrong."""
        limited = timeout is not None and timeout.total_seconds() > 0
        self._end(timeout.total_seconds() if timeout and limited else None)
        if self._error is not None:
            raise self._error
        return True

    def synchronize(self) -> None:
        """Wait until it is over."""
        self.wait()

    def is_completed(self) -> bool:
        """Tell whether it is over, well or not."""
        if self._pending.done():
            self._end(None)
        return self._over

    def is_success(self) -> bool:
        """Tell whether it is over and nothing went wrong."""
        return self.is_completed() and self._error is None

    def exception(self) -> BaseException | None:
        """Return what went wrong."""
        self.is_completed()
        return self._error

    def result(self) -> list[Any]:
        """Return the tensors that it fills."""
        self.wait()
        return self._tensors

    def _end(self, seconds: float | None) -> None:
        with self._lock:
            if self._over:
                return
            try:
                found = self._pending.result(seconds)
                if self._finish is not None:
                    self._finish(found)
            except TimeoutError as late:
                raise RuntimeError(
                    f"Timed out waiting {round((seconds or 0) * 1000)}ms for an "
                    "operation to complete"
                ) from late
            except Exception as error:
                self._error = error
            self._over = True


class Worker:
    """Runs the collectives of one group, one after another, in a thread.

    A collective that the program waits for runs in the program's own thread, unless
    others are still to come before it.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._tasks: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._last: Future[None] | None = None

    def run(self, task: Callable[[], None]) -> None:
        """Run a task after those that were submitted."""
        if self._last is None or self._last.done():
            task()
        else:
            self.submit(task).result()

    def submit(self, task: Callable[[], None]) -> Future[None]:
        """Let a task run after those that were submitted."""
        if self._thread is None:
            # A daemon: a program that fails must not wait for the others to answer.
            self._thread = threading.Thread(
                target=self._work, name=self._name, daemon=True
            )
            self._thread.start()
        self._last = Future()
        self._tasks.put((task, self._last))
        return self._last

    def close(self) -> None:
        """Let the thread end when it has nothing more to do."""
        if self._thread is not None:
            self._tasks.put(None)
            self._thread = None

    def _work(self) -> None:
        while (item := self._tasks.get()) is not None:
            task, future = item
            try:
                task()
            except BaseException as error:
                future.set_exception(error)
            else:
                future.set_result(None)
            del item, task, future  # hold no tensors while there is nothing to do
