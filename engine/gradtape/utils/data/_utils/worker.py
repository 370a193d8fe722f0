"""Who a worker is, and the words it has with the loader."""

from __future__ import annotations

import sys
import traceback
from dataclasses import dataclass
from typing import Any, NoReturn

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


# ---- errors of another process, with the traceback they had there ------------


class KeyErrorMessage(str):
    """A text that KeyError shows as it is; of a plain one it shows the repr."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


class ExceptionWrapper:
    """The exception being handled, as a type and a text, fit to be sent.

    >>> try:
    ...     {}["a"]
    ... except KeyError:
    ...     found = ExceptionWrapper(where="in a worker")
    >>> found.exc_type
    <class 'KeyError'>
    >>> print(found.message)
    Caught KeyError in a worker.
    Original Traceback (most recent call last):
      ...
    KeyError: 'a'
    """

    def __init__(self, exc_info: Any = None, where: str = "in background") -> None:
        # Only the text is kept: a traceback would keep the frames alive.
        kind, error, trace = sys.exc_info() if exc_info is None else exc_info
        self.exc_type: Any = kind
        self._name = self.exc_type.__name__  # stays, should another type have to do
        self.exc_msg = "".join(traceback.format_exception(kind, error, trace))
        self.where = where

    @property
    def message(self) -> str:
        """What happened where, then the traceback of that process."""
        return f"Caught {self._name} {self.where}.\nOriginal {self.exc_msg}"

    def reraise(self) -> NoReturn:
        """Raise an exception of the same type, with the message.

        RuntimeError stands in for types that are not made of a text.
        """
        message = self.message
        if self.exc_type is KeyError:
            message = KeyErrorMessage(message)
        elif getattr(self.exc_type, "message", None):
            raise self.exc_type(message=message)
        try:
            error = self.exc_type(message)
        except Exception:
            raise RuntimeError(message) from None
        raise error
