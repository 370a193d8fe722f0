"""SIGTERM and SIGHUP as an error in the script, so that its recording is kept.

Clusters, containers and closed terminals end a training by these signals, and Python
would be gone at once.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager

_NAMES = "SIGTERM", "SIGHUP"


class Terminated(BaseException):
    """The script was told to end from outside, by the signal that this names.

    As KeyboardInterrupt, it is no Exception: scripts do not mean to catch it.
    """

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number
        self.status = 128 + number  # as a shell reports a process that it ended


@contextmanager
def signals_as_errors() -> Generator[None]:
    """Raise :class:`Terminated` in the main thread where the default would end Python.

    What the script, or ``nohup``, decided about a signal stays in force, and so does
    the default in forked children and for a second signal.
    """

    def end(number: int) -> None:
        raise Terminated(number)

    with _once(end):
        yield


@contextmanager
def signals_held() -> Generator[list[int]]:
    """Hold back what would end Python; yield the list that says what came.

    One comes while files are written: of several processes those that live on are told
    to end when the first one fails. A second signal ends the process.
    """
    came: list[int] = []
    with _once(came.append):
        yield came


@contextmanager
def _once(call: Callable[[int], object]) -> Generator[None]:
    """Call this at the first signal, where nobody has decided what it is to do."""
    main = threading.current_thread() is threading.main_thread()
    known = [getattr(signal, name) for name in _NAMES if main and hasattr(signal, name)]
    ours = [each for each in known if signal.getsignal(each) is signal.SIG_DFL]
    process = os.getpid()

    def handle(number: int, _frame: object) -> None:
        signal.signal(number, signal.SIG_DFL)
        if os.getpid() != process:
            os.kill(os.getpid(), number)
        call(number)

    for each in ours:
        signal.signal(each, handle)
    try:
        yield
    finally:
        for each in ours:
            if signal.getsignal(each) is handle:
                signal.signal(each, signal.SIG_DFL)
