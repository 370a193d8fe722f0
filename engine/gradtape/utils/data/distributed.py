"""Which samples a process of a distributed training gets."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, TypeVar

from ... import distributed
from ..._random.generator import Generator
from ...ops.creation.random import randperm
from .sampler import Sampler

__all__ = ["DistributedSampler"]

T_co = TypeVar("T_co", covariant=True)


class DistributedSampler(Sampler[T_co]):
    """The keys of one process out of ``num_replicas``, every process as many.

    What the dataset lacks for that is filled up with keys from its beginning, or left
    out with ``drop_last``. The order is shuffled by ``seed`` and the epoch, equally in
    all processes; call :meth:`set_epoch` before each epoch. Number and rank are those
    of the default process group where they are not given.

    Raises RuntimeError where they are not given and there is no distributed package,
    ValueError where the rank is out of range.

    >>> list(DistributedSampler(range(5), num_replicas=2, rank=1, shuffle=False))
    [1, 3, 0]
    """

    def __init__(
        self,
        dataset: Any,
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
    ) -> None:
        if num_replicas is None:
            num_replicas = int(_processes().get_world_size())
        if rank is None:
            rank = int(_processes().get_rank())
        if not 0 <= rank < num_replicas:
            raise ValueError(
                f"Invalid rank {rank}, rank should be in the interval "
                f"[0, {num_replicas - 1}]"
            )
        self.dataset = dataset
        self.num_replicas = num_replicas
        self.rank = rank
        self.epoch = 0
        self.drop_last = drop_last
        size = len(dataset)
        left_out = num_replicas if drop_last and size % num_replicas else 0
        self.num_samples = math.ceil((size - left_out) / num_replicas)
        self.total_size = self.num_samples * num_replicas
        self.shuffle = shuffle
        self.seed = seed

    def __iter__(self) -> Iterator[Any]:
        size = len(self.dataset)
        if self.shuffle:
            generator = Generator().manual_seed(self.seed + self.epoch)
            keys = randperm(size, generator=generator).tolist()
        else:
            keys = list(range(size))
        if not self.drop_last and keys:
            keys *= math.ceil(self.total_size / size)
        keys = keys[: self.total_size]
        if len(keys) != self.total_size:
            raise AssertionError(
                f"Number of indices ({len(keys)}) does not match total_size "
                f"({self.total_size})"
            )
        return iter(keys[self.rank :: self.num_replicas])

    def __len__(self) -> int:
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """Choose the shuffle of an epoch; all processes have to choose the same."""
        self.epoch = epoch


def _processes() -> Any:
    """Return the distributed package; refuse where there can be only one process."""
    if not distributed.is_available():
        raise RuntimeError("Requires distributed package to be available")
    return distributed
