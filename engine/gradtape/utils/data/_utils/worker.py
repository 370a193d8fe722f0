"""Who a worker is, and the words it has with the loader."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

MP_STATUS_CHECK_INTERVAL = 5.0
"""Seconds after which a process that waits looks whether the other is still there."""


@dataclass(frozen=True, slots=True)
class WorkerInfo:
    """Who a worker is: its number, of how many, its seed and its copy of the dataset.

    The last two fields say how it works, for the sake of PyTorch's record.
    """

    id: int
    num_workers: int
    seed: int
    dataset: Any
    rng: Any = None
    worker_method: str | None = "multiprocessing"


_worker_info: WorkerInfo | None = None


def get_worker_info() -> WorkerInfo | None:
    """Return who this worker is; None in the main process.

    >>> get_worker_info() is None
    True
    """
    return _worker_info


@dataclass(frozen=True)
class _IterableDatasetStopIteration:
    """The answer of a worker whose stream has ended."""

    worker_id: int


@dataclass(frozen=True)
class _ResumeIteration:
    """Asks for the next epoch; the worker sends it back."""

    seed: int | None = None


def _generate_state(  # pyright: ignore[reportUnusedFunction]
    base_seed: int, worker_id: int
) -> list[int]:
    """Return the words NumPy is seeded with: mixed, as `random` gets the plain seed."""
    words = [worker_id, base_seed & 0xFFFFFFFF, base_seed >> 32, 0]
    return np.random.SeedSequence(words).generate_state(4).tolist()
