"""Which of several processes this one is, and what its files say and are called."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from gradviz import ir


def launched_rank() -> int | None:
    """Return the rank that a launcher such as torchrun gave; None if there is none."""
    rank, size = os.environ.get("RANK", ""), os.environ.get("WORLD_SIZE", "")
    if not (rank.isdigit() and size.isdigit()) or int(size) < 2:
        return None
    return int(rank)


def launched_size() -> int | None:
    """Return how many processes a launcher started; None if it started one."""
    return None if launched_rank() is None else int(os.environ["WORLD_SIZE"])


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


def with_process(snapshot: ir.Snapshot, steps: int) -> ir.Snapshot:
    """Return a recording that says whose it is, where a launcher started several."""
    rank = launched_rank()
    if rank is None:
        return snapshot
    process = ir.Process(rank, launched_size(), steps)
    return replace(snapshot, processes=(process,))
