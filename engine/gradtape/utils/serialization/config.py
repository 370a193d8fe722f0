"""Settings that ``save`` and ``load`` read: ``config.load`` and ``config.save``."""

from __future__ import annotations

import mmap as system_mmap
from typing import Any


class load:
    """How files are read."""

    mmap: bool = False
    """Whether ``load`` maps files into memory where it is not told."""
    mmap_flags: int | None = getattr(system_mmap, "MAP_PRIVATE", None)
    endianness: Any = None
    """The byte order of files that do not say theirs; None means little-endian."""
    calculate_storage_offsets: bool = False
    """Kept for programs that set it: places are always read from the directory."""


class save:
    """How files are written."""

    compute_crc32: bool = True
    storage_alignment: int = 64
    use_pinned_memory_for_d2h: bool = False
