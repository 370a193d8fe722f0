"""Let the memory of freed arrays stay in the process, where the next array finds it.

glibc hands large blocks back to the system as soon as they are freed, and takes new
ones, page by page, for the next array: on arrays of a million elements that was more
than half of the time (a chain of pointwise ops: 17.9 ms, 7.1 without the page faults).

But glibc learns: once a block has been freed, blocks up to its size come from the heap,
and twice its size may lie there unused (mallopt(3), M_MMAP_THRESHOLD). So show it the
largest block it learns from. Nothing is written, so it costs no memory; at most 64 MB
of freed memory are kept later. Who has set ``MALLOC_MMAP_THRESHOLD_`` or
``MALLOC_TRIM_THRESHOLD_`` keeps the setting, and other C libraries see one more array.
"""

from __future__ import annotations

import numpy as np

LARGEST = 31 << 20
"""Bytes; with its header and rounding, below the 32 MB that glibc stops to learn at."""


def learn() -> None:
    """Allocate and free the block that glibc learns from."""
    np.empty(LARGEST, np.uint8)
