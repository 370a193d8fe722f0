"""Threads as Python has them, and as it lacks them: in a browser there is but one."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

thread_time: Callable[[], float] = getattr(time, "thread_time", time.process_time)
"""Seconds of processor time that the calling thread has taken."""


def started(thread: threading.Thread) -> bool:
    """Start a thread; return False where Python cannot start any.

    >>> heard = list[str]()
    >>> worker = threading.Thread(target=heard.append, args=("here",))
    >>> if runs := started(worker):
    ...     worker.join()
    >>> bool(heard) is runs
    True
    """
    try:
        thread.start()
    except RuntimeError:  # "can't start new thread": WebAssembly, or a limit
        return False
    return True
