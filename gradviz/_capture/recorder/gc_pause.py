"""Keeps Python's cycle collector from running in the middle of a capture."""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def collector_paused() -> Generator[None]:
    """Make many records without a search for cycles, of which they have none.

    Beside a framework's hundred thousands of objects one full search takes longer than
    a capture does.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
