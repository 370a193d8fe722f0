"""Run a function in several processes, and raise the error of the first that fails."""

from __future__ import annotations

import ctypes
import importlib.util
import logging
import multiprocessing
import os
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
import weakref
from collections.abc import Callable
from multiprocessing import connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

__all__ = [
    "ProcessContext",
    "ProcessException",
    "ProcessExitedException",
    "ProcessRaisedException",
    "spawn",
    "start_processes",
]

log = logging.getLogger(__name__)

# prctl(2): the signal that a process gets when the one that started it dies.
_PR_SET_PDEATHSIG = 1
# How long processes that were told to end may take before they are killed.
_PATIENCE_S = 30.0


class ProcessException(Exception):  # noqa: N818 - PyTorch's name
    """Says which of the processes failed: its place among them, and its id."""

    def __init__(self, msg: str, error_index: int, error_pid: int) -> None:
        super().__init__(msg)
        self.msg = msg
        self.error_index = error_index
        self.error_pid = error_pid

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.msg, self.error_index, self.error_pid)


class ProcessRaisedException(ProcessException):
    """The function raised an exception, whose traceback is the message."""


class ProcessExitedException(ProcessException):
    """The process ended with a code, or by a signal."""

    def __init__(
        self,
        msg: str,
        error_index: int,
        error_pid: int,
        exit_code: int,
        signal_name: str | None = None,
    ) -> None:
        super().__init__(msg, error_index, error_pid)
        self.exit_code = exit_code
        self.signal_name = signal_name

    def __reduce__(self) -> tuple[Any, ...]:
        kind, given = super().__reduce__()
        return kind, (*given, self.exit_code, self.signal_name)


class ProcessContext:
    """Processes that were started together, to be waited for together."""

    def __init__(self, processes: list[BaseProcess], errors: str) -> None:
        self.processes = processes
        self.sentinels = {each.sentinel: i for i, each in enumerate(processes)}
        self._errors = errors  # a folder with the traceback of each that raised
        weakref.finalize(self, _remove, errors, os.getpid())

    def pids(self) -> list[int]:
        """Return the ids of the processes, in order."""
        return [int(each.pid or 0) for each in self.processes]

    def join(
        self, timeout: float | None = None, grace_period: float | None = None
    ) -> bool:
        """Wait until one fails or some end; tell whether all have.

        Where one fails, the others are ended (after ``grace_period`` seconds, if that
        is given) and its error is raised: ProcessRaisedException or
        ProcessExitedException.
        """
        if not self.sentinels:
            return True
        for sentinel in connection.wait(list(self.sentinels), timeout):
            index = self.sentinels.pop(sentinel)  # type: ignore[call-overload] - an int
            process = self.processes[index]
            process.join()
            if process.exitcode:
                self._end_all(grace_period)
                raise self._error(index)
        return not self.sentinels

    def _end_all(self, grace_period: float | None) -> None:
        if grace_period is not None:
            self._wait(grace_period)
        for each in self.processes:
            if each.is_alive():
                log.warning("Terminating process %s via signal SIGTERM", each.pid)
                each.terminate()
        self._wait(_PATIENCE_S if grace_period is None else grace_period)
        for each in self.processes:
            if each.is_alive():
                log.warning(
                    "Unable to shutdown process %s via SIGTERM , forcefully exiting "
                    "via SIGKILL",
                    each.pid,
                )
                each.kill()
            each.join()

    def _wait(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        for each in self.processes:
            each.join(max(0.0, end - time.monotonic()))

    def _error(self, index: int) -> ProcessException:
        process = self.processes[index]
        pid, code = int(process.pid or 0), process.exitcode or 0
        written = _error_file(self._errors, index)
        if written.exists():
            text = written.read_text(encoding="utf-8")
            return ProcessRaisedException(
                f"\n\n-- Process {index} terminated with the following error:\n{text}",
                index,
                pid,
            )
        if code > 0:
            how, name = f"exit code {code}", None
        else:
            name = _signal_name(-code)
            how = f"signal {name}"
        return ProcessExitedException(
            f"process {index} terminated with {how}", index, pid, code, name
        )


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"<Unknown signal {number}>"


def _remove(folder: str, owner: int) -> None:
    if os.getpid() == owner:  # and not in a copy that another process inherited
        shutil.rmtree(folder, ignore_errors=True)


def _error_file(folder: str, index: int) -> Path:
    return Path(folder) / f"process-{index}"


def _run(
    fn: Callable[..., Any], index: int, args: tuple[Any, ...], folder: str
) -> None:
    """Call the function in the new process; leave the traceback where it raises."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGINT))
    try:
        fn(index, *args)
    except KeyboardInterrupt:
        pass  # the process that started this one is interrupted, or gone
    except Exception:
        text = traceback.format_exc()
        _error_file(folder, index).write_text(text, encoding="utf-8")
        sys.exit(1)


def has_processes() -> bool:
    """Return whether Python can start processes; in a browser it lacks what they need.

    There `multiprocessing` can be imported, and whoever uses it may end Python itself.
    """
    return importlib.util.find_spec("_multiprocessing") is not None


def start_processes(
    fn: Callable[..., Any],
    args: tuple[Any, ...] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:
    """Call ``fn(i, *args)`` in ``nprocs`` processes; ``i`` counts them from 0.

    With ``join`` waits for all, and raises the error of the first that fails, as
    :meth:`ProcessContext.join` does. Otherwise returns the processes.

    >>> import gradtape as torch
    >>> torch.multiprocessing.start_processes(print, ("from process",), nprocs=0)
    """
    if not has_processes():
        raise RuntimeError("This Python cannot start processes, as in a browser.")
    context: Any = multiprocessing.get_context(start_method)
    errors = tempfile.mkdtemp(prefix="gradtape-errors-")
    processes: list[BaseProcess] = []
    for index in range(nprocs):
        process = context.Process(
            target=_run, args=(fn, index, args, errors), daemon=daemon
        )
        process.start()
        processes.append(process)
    started = ProcessContext(processes, errors)
    if not join:
        return started
    while not started.join():
        pass
    return None


def spawn(
    fn: Callable[..., Any],
    args: tuple[Any, ...] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:
    """Call ``fn(i, *args)`` in new processes that inherit nothing.

    ``fn`` stands at the top level of a module. See :func:`start_processes`, which
    starts them in other ways too.
    """
    if start_method != "spawn":
        warnings.warn(
            "This method only supports start_method=spawn (got: "
            f"{start_method}).\nTo use a different start_method use:\n\t\t"
            " torch.multiprocessing.start_processes(...)",
            FutureWarning,
            stacklevel=2,
        )
    return start_processes(fn, args, nprocs, join, daemon, start_method="spawn")
