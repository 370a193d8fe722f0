"""In which order samples are fetched, and how they are grouped."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence, Sized
from typing import Any, Generic, TypeVar

from ..._dtypes import float64, int64
from ..._random.generator import Generator
from ..._tensor.tensor import Tensor
from ...ops.creation.distributions import multinomial
from ...ops.creation.factories import empty
from ...ops.creation.from_data import as_tensor
from ...ops.creation.random import randint, randperm

__all__ = [
    "BatchSampler",
    "RandomSampler",
    "Sampler",
    "SequentialSampler",
    "SubsetRandomSampler",
    "WeightedRandomSampler",
]

T_co = TypeVar("T_co", covariant=True)

# PyTorch draws replacements so many at a time; the numbers depend on it.
_DRAWN_AT_ONCE = 32


class Sampler(Generic[T_co]):
    """Keys of a dataset, or lists of them, in some order.

    Subclasses write ``__iter__``. Those that know how many there are write ``__len__``.
    """

    # No __len__ here: len() of a sampler without one has to raise TypeError.

    def __iter__(self) -> Iterator[T_co]:
        raise NotImplementedError


class SequentialSampler(Sampler[int]):
    """All keys of a dataset, from 0 up.

    >>> list(SequentialSampler("abc"))
    [0, 1, 2]
    """

    data_source: Sized

    def __init__(self, data_source: Sized) -> None:
        self.data_source = data_source

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


class RandomSampler(Sampler[int]):
    """Keys of a dataset in random order, all of them or ``num_samples``.

    With ``replacement`` each is drawn from all keys. Without, the shuffled keys are
    gone through, again and again if more are wanted. A generator of its own, seeded by
    the default one, draws where none is given.

    Raises TypeError where ``replacement`` is no bool, ValueError where there is nothing
    to draw.

    >>> import gradtape as torch
    >>> list(RandomSampler("abcd", generator=torch.Generator().manual_seed(0)))
    [0, 1, 3, 2]
    """

    data_source: Sized
    replacement: bool

    def __init__(
        self,
        data_source: Sized,
        replacement: bool = False,
        num_samples: int | None = None,
        generator: Generator | None = None,
    ) -> None:
        self.data_source = data_source
        self.replacement = replacement
        self._num_samples = num_samples
        self.generator = generator
        if not isinstance(replacement, bool):
            raise TypeError(
                "replacement should be a boolean value, but got "
                f"replacement={replacement}"
            )
        _check_count("num_samples", self.num_samples)

    @property
    def num_samples(self) -> int:
        """How many keys are drawn; the dataset's length now, where it was not set."""
        if self._num_samples is None:
            return len(self.data_source)
        return self._num_samples

    def __iter__(self) -> Iterator[int]:
        size, count = len(self.data_source), self.num_samples
        generator = self.generator
        if generator is None:
            generator = Generator().manual_seed(draw_seed())
        if self.replacement:
            for start in range(0, count, _DRAWN_AT_ONCE):
                several = min(_DRAWN_AT_ONCE, count - start)
                yield from randint(size, (several,), generator=generator).tolist()
        else:
            # The last, partial round is drawn even where nothing of it is wanted.
            for start in range(0, count + 1, size):
                order = randperm(size, generator=generator).tolist()
                yield from order[: count - start]

    def __len__(self) -> int:
        return self.num_samples


class SubsetRandomSampler(Sampler[int]):
    """Some keys, in random order.

    >>> sorted(SubsetRandomSampler([3, 5, 8]))
    [3, 5, 8]
    """

    indices: Sequence[int]

    def __init__(
        self, indices: Sequence[int], generator: Generator | None = None
    ) -> None:
        self.indices = indices
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        for i in randperm(len(self.indices), generator=self.generator).tolist():
            yield self.indices[i]

    def __len__(self) -> int:
        return len(self.indices)


class WeightedRandomSampler(Sampler[int]):
    """Keys drawn with the probability that their weight says.

    ``weights`` is a 1-d sequence of any sum. Without ``replacement`` no key comes
    twice. Raises ValueError for weights of another shape and for wrong counts.

    >>> list(WeightedRandomSampler([0.0, 1.0], 3))
    [1, 1, 1]
    """

    weights: Tensor
    num_samples: int
    replacement: bool

    def __init__(
        self,
        weights: Sequence[float],
        num_samples: int,
        replacement: bool = True,
        generator: Generator | None = None,
    ) -> None:
        _check_count("num_samples", num_samples, allow_bool=False)
        _check_flag("replacement", replacement)
        self.weights = as_tensor(weights, dtype=float64)
        if self.weights.dim() != 1:
            raise ValueError(
                "weights should be a 1d sequence but given weights have shape "
                f"{tuple(self.weights.shape)}"
            )
        self.num_samples = num_samples
        self.replacement = replacement
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        drawn = multinomial(
            self.weights, self.num_samples, self.replacement, generator=self.generator
        )
        yield from drawn.tolist()

    def __len__(self) -> int:
        return self.num_samples


class BatchSampler(Sampler[list[int]]):
    """Lists of ``batch_size`` keys that another sampler gives one at a time.

    The last list is shorter where the keys do not divide evenly, or left out with
    ``drop_last``. Raises ValueError where size or flag is none.

    >>> list(BatchSampler(range(5), batch_size=2, drop_last=False))
    [[0, 1], [2, 3], [4]]
    >>> len(BatchSampler(range(5), batch_size=2, drop_last=True))
    2
    """

    def __init__(
        self, sampler: Iterable[int], batch_size: int, drop_last: bool
    ) -> None:
        _check_count("batch_size", batch_size, allow_bool=False)
        _check_flag("drop_last", drop_last)
        self.sampler: Any = sampler
        self.batch_size = batch_size
        self.drop_last = drop_last

    def __iter__(self) -> Iterator[list[int]]:
        keys = iter(self.sampler)
        while batch := list(itertools.islice(keys, self.batch_size)):
            if self.drop_last and len(batch) < self.batch_size:
                return
            yield batch

    def __len__(self) -> int:
        missing = 0 if self.drop_last else self.batch_size - 1
        return (len(self.sampler) + missing) // self.batch_size


def draw_seed(generator: Generator | None = None) -> int:
    """Draw what a generator or a worker begins with, from 0 to 2**63 - 1."""
    return empty((), dtype=int64).random_(generator=generator).item()


def _check_count(name: str, value: Any, *, allow_bool: bool = True) -> None:
    is_count = isinstance(value, int) and (allow_bool or not isinstance(value, bool))
    if not is_count or value <= 0:
        raise ValueError(
            f"{name} should be a positive integer value, but got {name}={value}"
        )


def _check_flag(name: str, value: Any) -> None:
    if not isinstance(value, bool):
        raise ValueError(f"{name} should be a boolean value, but got {name}={value}")
