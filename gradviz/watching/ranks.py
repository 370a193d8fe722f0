"""Which of several processes this one is, and how its files are called."""

from __future__ import annotations

import os
from pathlib import Path


def launched_rank() -> int | None:
    """Return the rank that a launcher such as torchrun gave; None if there is none."""
    rank, size = os.environ.get("RANK", ""), os.environ.get("WORLD_SIZE", "")
    if not (rank.isdigit() and size.isdigit()) or int(size) < 2:
        return None
    return int(rank)


def path_of_rank(path: Path, rank: int | None) -> Path:
    """Return the path with the rank before its suffix, where there are several.

    >>> path_of_rank(Path("runs/a.html"), 3).as_posix()
    'runs/a-rank3.html'
    >>> path_of_rank(Path("a.gradviz.json"), 0).as_posix()
    'a-rank0.gradviz.json'
    """
    if rank is None:
        return path
    front, dot, suffixes = path.name.partition(".")
    return path.with_name(f"{front}-rank{rank}{dot}{suffixes}")
