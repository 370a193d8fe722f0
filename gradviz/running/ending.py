"""How a script ends: what Python does and says after its last line."""

from __future__ import annotations

import os
import signal
import sys
import threading
import traceback
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from gradviz.running.signals import Terminated


@dataclass(frozen=True, slots=True)
class Ending:
    """The exit status that Python would give, and the signal that it would die of."""

    status: int
    signal: int | None = None

    def happen(self, *, whole_process: bool) -> int:
        """End a process that is ours so; in another, return the status."""
        if whole_process and self.signal == signal.SIGINT:
            # Python dies of the signal itself, once everything is torn down.
            sys.excepthook = lambda *_: None
            raise KeyboardInterrupt
        if whole_process and self.signal is not None:
            signal.signal(self.signal, signal.SIG_DFL)
            os.kill(os.getpid(), self.signal)
        return self.status


def report(error: BaseException) -> Ending:
    """Do with the error what Python does at the end of a script."""
    if isinstance(error, SystemExit):
        return _exited(error)
    sys.last_type, sys.last_value = type(error), error
    sys.last_traceback = error.__traceback__
    if sys.version_info >= (3, 12):
        sys.last_exc = error
    try:
        sys.excepthook(type(error), error, error.__traceback__)
    except SystemExit as instead:
        return _exited(instead)
    except BaseException as other:
        other.__traceback__ = other.__traceback__ and other.__traceback__.tb_next
        _print("Error in sys.excepthook:")
        sys.__excepthook__(type(other), other, other.__traceback__)
        _print("\nOriginal exception was:")
        sys.__excepthook__(type(error), error, error.__traceback__)
    if isinstance(error, Terminated):
        return Ending(error.status, error.number)
    if isinstance(error, KeyboardInterrupt):
        return Ending(128 + signal.SIGINT, signal.SIGINT)
    return Ending(1)


def _exited(error: SystemExit) -> Ending:
    if error.code is None or isinstance(error.code, int):
        return Ending((error.code or 0) & 0xFF)
    _print(error.code)
    return Ending(1)


def _print(what: object) -> None:
    if sys.stderr is not None:  # pyright: ignore[reportUnnecessaryComparison]
        with suppress(OSError, ValueError, AttributeError):
            print(what, file=sys.stderr)


# ---- after the last line ---------------------------------------------------------


def await_threads(*, whole_process: bool) -> None:
    """Wait for the script's threads, as Python does at the end of a script.

    Python first lets executors know that nothing more will come, or their threads would
    wait for ever, and calls the main thread ended, for those who wait for it. Where it
    comes to this itself later on, it finds that done, and calls what the script
    registered with atexit.
    """
    if not whole_process:
        for thread in threading.enumerate():
            if thread is not threading.current_thread() and not thread.daemon:
                thread.join()
        return
    python: Any = threading
    try:
        python._shutdown()
    except Terminated:
        raise
    except BaseException as error:  # Ctrl-C, mostly: Python waits no more, and says so
        trace = error.__traceback__ and error.__traceback__.tb_next
        lines = traceback.format_exception(type(error), error, trace)
        _print(f"Exception ignored in: {threading!r}")
        _print("".join(lines).rstrip("\n"))
    finally:
        python._SHUTTING_DOWN = False  # or what we import now might not import
