"""Where samples come from: datasets, and datasets made of other datasets."""

from __future__ import annotations

import bisect
import itertools
import math
import warnings
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar

from ..._random.generator import Generator, default_generator
from ..._tensor.tensor import Tensor
from ...ops.creation.random import randperm

__all__ = [
    "ChainDataset",
    "ConcatDataset",
    "Dataset",
    "IterableDataset",
    "StackDataset",
    "Subset",
    "TensorDataset",
    "random_split",
]

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Dataset(Generic[T_co]):
    """A map from keys to samples. Subclasses write ``__getitem__``.

    Most also write ``__len__``, which samplers ask for. One that fetches many samples
    faster at once writes ``__getitems__(keys)``, which returns a list of samples.

    >>> class Squares(Dataset):
    ...     def __getitem__(self, index):
    ...         return index**2
    ...
    ...     def __len__(self):
    ...         return 4
    >>> [Squares()[i] for i in range(4)]
    [0, 1, 4, 9]
    """

    # No __len__ here: len() of a dataset without one has to raise TypeError.

    def __getitem__(self, index: Any) -> T_co:
        raise NotImplementedError("Subclasses of Dataset should implement __getitem__.")

    def __add__(self, other: Dataset[T_co]) -> ConcatDataset[T_co]:
        return ConcatDataset([self, other])


class IterableDataset(Dataset[T_co], Iterable[T_co]):
    """A stream of samples. Subclasses write ``__iter__``.

    With worker processes each worker goes through a copy of its own; ``__iter__`` asks
    :func:`get_worker_info` which part of the stream is its.
    """

    def __add__(self, other: Dataset[T_co]) -> ChainDataset[T_co]:  # type: ignore[override] - a stream is no map
        return ChainDataset([self, other])


class TensorDataset(Dataset[tuple[Tensor, ...]]):
    """Rows of tensors: sample ``i`` is the tuple of every tensor's ``[i]``.

    Raises AssertionError where the tensors differ in their first size.

    >>> import gradtape as torch
    >>> TensorDataset(torch.arange(3), torch.eye(3))[1]
    (tensor(1), tensor([0., 1., 0.]))
    """

    tensors: tuple[Tensor, ...]

    def __init__(self, *tensors: Tensor) -> None:
        if any(tensor.size(0) != tensors[0].size(0) for tensor in tensors):
            raise AssertionError("Size mismatch between tensors")
        self.tensors = tensors

    def __getitem__(self, index: Any) -> tuple[Tensor, ...]:
        return tuple([tensor[index] for tensor in self.tensors])

    def __len__(self) -> int:
        return self.tensors[0].size(0)


class StackDataset(Dataset[Any]):
    """Datasets side by side: a sample is a tuple, or a dict, of one sample of each.

    Raises ValueError where the datasets differ in length, or none is given.

    >>> StackDataset(number=[1, 2], letter="ab")[0]
    {'number': 1, 'letter': 'a'}
    """

    datasets: tuple[Any, ...] | dict[str, Any]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if args and kwargs:
            raise ValueError(
                "Supported either ``tuple``- (via ``args``) or"
                "``dict``- (via ``kwargs``) like input/output, but both types are "
                "given."
            )
        parts = args or tuple(kwargs.values())
        if not parts:
            raise ValueError("At least one dataset should be passed")
        self._length = len(parts[0])
        if any(len(part) != self._length for part in parts):
            raise ValueError("Size mismatch between datasets")
        self.datasets = args or kwargs

    def __getitem__(self, index: Any) -> Any:
        if isinstance(self.datasets, dict):
            return {name: part[index] for name, part in self.datasets.items()}
        return tuple([part[index] for part in self.datasets])

    def __getitems__(self, indices: list[Any]) -> list[Any]:
        """Return the samples at these keys, a dataset at a time."""
        if isinstance(self.datasets, dict):
            names = list(self.datasets)
            columns = [_samples_of(part, indices) for part in self.datasets.values()]
            rows = zip(*columns, strict=True)
            return [dict(zip(names, row, strict=True)) for row in rows]
        columns = [_samples_of(part, indices) for part in self.datasets]
        return list(zip(*columns, strict=True))

    def __len__(self) -> int:
        return self._length


def _samples_of(dataset: Any, indices: list[Any]) -> list[Any]:
    """Fetch samples at once where the dataset can, and check how many came."""
    if not callable(getattr(dataset, "__getitems__", None)):
        return [dataset[index] for index in indices]
    items = dataset.__getitems__(indices)
    if len(items) != len(indices):
        raise ValueError(
            "Nested dataset's output size mismatch."
            f" Expected {len(indices)}, got {len(items)}"
        )
    return items


class ConcatDataset(Dataset[T_co]):
    """Datasets one after the other, counted through.

    Raises AssertionError where there is none, or one is a stream.

    >>> joined = ConcatDataset(["ab", "cd"])
    >>> joined[2], joined[-1], len(joined)
    ('c', 'd', 4)
    """

    datasets: list[Any]
    cumulative_sizes: list[int]

    @staticmethod
    def cumsum(sequence: Iterable[Any]) -> list[int]:
        """Return how many samples there are up to the end of each dataset."""
        return list(itertools.accumulate(len(each) for each in sequence))

    def __init__(self, datasets: Iterable[Any]) -> None:
        super().__init__()
        self.datasets = list(datasets)
        if not self.datasets:
            raise AssertionError("datasets should not be an empty iterable")
        if any(isinstance(each, IterableDataset) for each in self.datasets):
            raise AssertionError("ConcatDataset does not support IterableDataset")
        self.cumulative_sizes = self.cumsum(self.datasets)

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]

    def __getitem__(self, idx: int) -> T_co:
        if idx < 0:
            if -idx > len(self):
                raise ValueError(
                    "absolute value of index should not exceed dataset length"
                )
            idx += len(self)
        which = bisect.bisect_right(self.cumulative_sizes, idx)
        before = self.cumulative_sizes[which - 1] if which else 0
        return self.datasets[which][idx - before]

    @property
    def cummulative_sizes(self) -> list[int]:
        """The old spelling of ``cumulative_sizes``, which warns."""
        warnings.warn(
            "`cummulative_sizes` attribute is renamed to `cumulative_sizes`",
            FutureWarning,
            stacklevel=2,
        )
        return self.cumulative_sizes


class ChainDataset(IterableDataset[T_co]):
    """Streams one after the other.

    Raises AssertionError, when it comes to it, where one is no stream.
    """

    def __init__(self, datasets: Iterable[Any]) -> None:
        super().__init__()
        self.datasets = datasets

    def _streams(self) -> Iterator[Any]:
        for each in self.datasets:
            if not isinstance(each, IterableDataset):
                raise AssertionError("ChainDataset only supports IterableDataset")
            yield each

    def __iter__(self) -> Iterator[T_co]:
        for stream in self._streams():
            yield from stream

    def __len__(self) -> int:
        return sum(len(stream) for stream in self._streams())


class Subset(Dataset[T_co]):
    """The samples of a dataset at some keys, counted from 0.

    A subclass that writes ``__getitem__`` has to write ``__getitems__`` too, which the
    loader prefers; NotImplementedError says so otherwise.

    >>> list(Subset("abcd", [3, 1]))
    ['d', 'b']
    """

    dataset: Any
    indices: Sequence[Any]

    def __init__(self, dataset: Any, indices: Sequence[Any]) -> None:
        self.dataset = dataset
        self.indices = indices
        kind = type(self)
        if (
            kind.__getitem__ is not Subset.__getitem__
            and kind.__getitems__ is Subset.__getitems__
        ):
            raise NotImplementedError(_ONLY_GETITEM.format(kind.__name__))

    def __getitem__(self, idx: Any) -> Any:
        if isinstance(idx, list):
            return self.dataset[[self.indices[i] for i in idx]]
        return self.dataset[self.indices[idx]]

    def __getitems__(self, indices: list[int]) -> list[T_co]:
        """Return the samples at these places of the subset."""
        keys = [self.indices[i] for i in indices]
        if callable(getattr(self.dataset, "__getitems__", None)):
            return self.dataset.__getitems__(keys)
        return [self.dataset[key] for key in keys]

    def __len__(self) -> int:
        return len(self.indices)


_ONLY_GETITEM = (
    "{} overrides __getitem__ but not __getitems__. When subclassing Subset and "
    "overriding __getitem__, you must also override __getitems__ to ensure DataLoader "
    "works correctly with your custom logic. A simple implementation:\n\n"
    "def __getitems__(self, indices):\n"
    "    return [self.__getitem__(idx) for idx in indices]"
)


def random_split(
    dataset: Any,
    lengths: Sequence[float],
    generator: Generator | None = default_generator,
) -> list[Subset[Any]]:
    """Split a dataset at random into subsets of these lengths, or these fractions.

    Fractions are rounded down; what is left over goes to the first subsets, one sample
    each. Raises ValueError where lengths or fractions do not add up.

    >>> import gradtape as torch
    >>> parts = random_split(range(10), [0.75, 0.25], torch.Generator().manual_seed(1))
    >>> [len(part) for part in parts]
    [8, 2]
    """
    counts: Sequence[Any] = lengths
    if math.isclose(sum(counts), 1) and sum(counts) <= 1:
        counts = _counts(len(dataset), counts)
    if sum(counts) != len(dataset):
        raise ValueError(
            "Sum of input lengths does not equal the length of the input dataset!"
        )
    indices = randperm(sum(counts), generator=generator).tolist()
    ends = itertools.accumulate(counts)
    pairs = zip(ends, counts, strict=True)
    return [Subset(dataset, indices[end - count : end]) for end, count in pairs]


def _counts(size: int, fractions: Sequence[float]) -> list[int]:
    """Turn fractions into numbers of samples, warning of a subset without any."""
    for position, fraction in enumerate(fractions):
        if not 0 <= fraction <= 1:
            raise ValueError(f"Fraction at index {position} is not between 0 and 1")
    counts = [math.floor(size * fraction) for fraction in fractions]
    for left_over in range(size - sum(counts)):
        counts[left_over % len(counts)] += 1
    for position, count in enumerate(counts):
        if not count:
            warnings.warn(
                f"Length of split at index {position} is 0. "
                "This might result in an empty dataset.",
                stacklevel=3,
            )
    return counts
