"""Calls of indexing, gathering and scattering, and of writes at such places."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ._record import COMPLEX, FLOATS, NUMBERS, Make, OpSample, Sample, sample

ANY = (*NUMBERS, *COMPLEX)
I64 = np.int64


def at(*places: int, shape: tuple[int, ...] | None = None, dtype: Any = I64) -> Any:
    """Return an index tensor with these positions."""
    found = np.array(places, dtype)
    return found if shape is None else found.reshape(shape)


MASK = np.array([True, False, True])
GRID = np.array([[True, False, True, False], [False] * 4, [True] * 4])

BASIC: tuple[Any, ...] = (
    0,
    -1,
    slice(None),
    slice(1, None),
    slice(0, 3, 2),
    slice(2, 1),
    slice(5, None),
    None,
    Ellipsis,
    (),
    (0, 1),
    (slice(None), 0),
    (Ellipsis, 0),
    (0, Ellipsis, None),
    (None, slice(1, 2), slice(None), -1),
    (slice(None), slice(None, None, 2), None),
    at(1, shape=()),
)

ADVANCED: tuple[Any, ...] = (
    at(0, 2),
    at(0, 2, dtype=np.int32),
    at(2, 0, 0),
    at(-1, 1, shape=(2, 1)),
    [0, 2],
    MASK,
    GRID,
    (GRID, 0),
    (GRID, slice(1, 2)),
    (slice(None), at(0, 3)),
    (Ellipsis, at(0, 3)),
    (at(0, 1), at(1, 2)),
    (at(0, 1, shape=(2, 1)), at(1, 2, 3)),
    (at(0, 1), slice(None), at(1, 2)),
    (slice(None), at(0, 1), at(1, 2)),
    (at(0, 1), 0),
    (0, at(0, 1)),
    (None, at(0, 1)),
    (at(0, 1), None),
    (slice(0, 2), at(0, 1), slice(1, 3)),
    (MASK, at(1)),
    True,
    (True, 0),
)

NOTHING: tuple[Any, ...] = (at(), False, (slice(None), at()))

REFUSED: tuple[Any, ...] = (
    3,
    -4,
    (0, 0, 0, 0),
    1.0,
    slice(None, None, -1),
    slice(None, None, 0),
    at(5),
    at(-4),
    at(0, dtype=np.float64),
    at(0, dtype=np.int16),
    np.array([True, False]),
    (at(0, 1), at(0, 1, 2)),
    (GRID, GRID),
)


def picked(indices: tuple[Any, ...]) -> Callable[[Make], Iterator[Sample]]:
    def samples(make: Make) -> Iterator[Sample]:
        for index in indices:
            yield sample(make(3, 4, 5), index)

    return samples


def gathered(make: Make) -> Iterator[Sample]:
    yield sample(make(3, 4), 0, at(0, 2, 1, 1, shape=(1, 4)))
    yield sample(make(3, 4), 1, at(0, 2, 3, 3, shape=(2, 2)))
    yield sample(make(3, 4), -1, at(0, 0, dtype=np.int32, shape=(1, 2)))
    yield sample(make(3), 0, at(1, 1, 1, 1))
    yield sample(make(), 0, at(0, shape=()))
    yield sample(make(3, 4), 0, at(shape=(0, 4)))


def gather_refused(make: Make) -> Iterator[Sample]:
    yield sample(make(3, 4), 0, at(3, shape=(1, 1)))
    yield sample(make(3, 4), 0, at(-1, shape=(1, 1)))
    yield sample(make(3, 4), 2, at(0, shape=(1, 1)))
    yield sample(make(3, 4), 0, at(0))
    yield sample(make(3, 4), 0, at(*range(5), shape=(1, 5)))
    yield sample(make(3, 4), 0, at(0, shape=(1, 1), dtype=np.float64))


def scattered(make: Make) -> Iterator[Sample]:
    yield sample(make(3, 4), 0, at(0, 2, 1, 1, shape=(1, 4)), make(1, 4))
    yield sample(make(3, 4), 1, at(0, 2, 3, 1, shape=(2, 2)), make(2, 2))
    yield sample(make(3), 0, at(2, 0), make(2))
    yield sample(make(3, 4), 0, at(shape=(0, 4)), make(0, 4))


def scatter_refused(make: Make) -> Iterator[Sample]:
    yield sample(make(3, 4), 0, at(3, shape=(1, 1)), make(1, 1))
    yield sample(make(3, 4), 0, at(0, 0, shape=(1, 2)), make(1, 1))
    yield sample(make(3, 4), 0, at(*range(5), shape=(1, 5)), make(1, 5))
    yield sample(make(3, 4), 0, at(0), make(1))


def added(make: Make) -> Iterator[Sample]:
    yield from scattered(make)
    yield sample(make(3), 0, at(0, 0, 0), make(3))


def filled(make: Make) -> Iterator[Sample]:
    yield sample(make(3, 4), 0, at(0, 2, 1, 1, shape=(1, 4)), 1)
    yield sample(make(3, 4), 1, at(0, 2, 3, 1, shape=(2, 2)), 0)


def reduced(kind: str, include: bool) -> Callable[[Make], Iterator[Sample]]:
    def samples(make: Make) -> Iterator[Sample]:
        whole, src = make.distinct(3, 4), make.distinct(2, 4) + make.dtype.type(0.1)
        index = at(0, 2, 1, 1, 0, 2, 1, 0, shape=(2, 4))
        yield sample(whole, 0, index, src, kind, include_self=include)

    return samples


def positions_reduced(kind: str, include: bool) -> Callable[[Make], Iterator[Sample]]:
    def samples(make: Make) -> Iterator[Sample]:
        whole, src = make.distinct(3, 4), make.distinct(2, 4) + make.dtype.type(0.1)
        yield sample(whole, 0, at(2, 0), src, kind, include_self=include)
        yield sample(whole, 0, at(1, 1), src, kind, include_self=include)
        yield sample(whole, -1, at(1), src[0][:3, None], kind, include_self=include)

    return samples


def selected(make: Make) -> Iterator[Sample]:
    yield sample(make(3, 4), 0, at(2, 0, 0))
    yield sample(make(3, 4), -1, at(1, dtype=np.int32))
    yield sample(make(3, 4), 0, at())
    yield sample(make(3, 4), 0, at(1, shape=()))
    yield sample(make(), 0, at(0))


def select_refused(make: Make) -> Iterator[Sample]:
    yield sample(make(3, 4), 0, at(3))
    yield sample(make(3, 4), 0, at(-1))
    yield sample(make(3, 4), 0, at(0, shape=(1, 1)))
    yield sample(make(3, 4), 0, at(0, dtype=np.float64))
    yield sample(make(3, 4), 2, at(0))


def index_written(make: Make) -> Iterator[Sample]:
    yield sample(make(3, 4), 0, at(2, 0), make(2, 4))
    yield sample(make(3, 4), 1, at(1), make(3, 1))


def index_write_refused(make: Make) -> Iterator[Sample]:
    yield sample(make(3, 4), 0, at(2, 0), make(3, 4))
    yield sample(make(3, 4), 0, at(2, 5), make(2, 4))


def index_filled(make: Make) -> Iterator[Sample]:
    yield sample(make(3, 4), 0, at(2, 0), 1)
    yield sample(make(3, 4), 1, at(-1), 0)
    yield sample(make(3, 4), 0, at(2, 0), make())


def masked(make: Make) -> Iterator[Sample]:
    yield sample(make(3, 4), GRID, 1)
    yield sample(make(3, 4), MASK[:, None], 0)
    yield sample(make(4), GRID, 1)
    yield sample(make(3, 4), GRID, make())
    yield sample(make(), np.array(True), 1)


def masked_refused(make: Make) -> Iterator[Sample]:
    yield sample(make(3, 4), MASK, 1)
    yield sample(make(3, 4), GRID.astype(I64), 1)
    yield sample(make(3, 4), GRID, make(4))


def mask_selected(make: Make) -> Iterator[Sample]:
    yield sample(make(3, 4), GRID)
    yield sample(make(3, 4), MASK[:, None])
    yield sample(make(4), GRID)
    yield sample(make(3, 4), np.zeros((3, 4), bool))


def mask_select_refused(make: Make) -> Iterator[Sample]:
    yield sample(make(3, 4), MASK)
    yield sample(make(3, 4), GRID.astype(I64))


def mask_scattered(make: Make) -> Iterator[Sample]:
    yield sample(make(3, 4), GRID, make(3, 4))
    yield sample(make(3, 4), GRID, make(6))


def taken(make: Make) -> Iterator[Sample]:
    yield sample(make(3, 4), at(0, 11, -1))
    yield sample(make(3, 4), at(0, 5, 5, 1, shape=(2, 2)))


def put(make: Make) -> Iterator[Sample]:
    yield sample(make(3, 4), at(0, 11, -2), make(3))
    yield sample(make(3, 4), at(0, 1, 1), make(3), accumulate=True)


def put_by_index(make: Make) -> Iterator[Sample]:
    yield sample(make(3, 4), (at(0, 2),), make(2, 4))
    yield sample(make(3, 4), (at(0, 2), at(1, 1)), make(2))
    yield sample(make(3, 4), (at(0, 2),), make())
    yield sample(make(3, 4), (GRID,), make(6))
    yield sample(make(3, 4), (at(0, 0),), make(2, 4), accumulate=True)


def put_by_index_refused(make: Make) -> Iterator[Sample]:
    yield sample(make(3, 4), (at(0, 2),), make(3, 4))
    yield sample(make(3, 4), (at(5),), make())


def found(make: Make) -> Iterator[Sample]:
    yield sample(make.ints(3, 4))
    yield sample(make.ints(5))
    yield sample(make.ints(3, 4), as_tuple=True)


def along(make: Make) -> Iterator[Sample]:
    yield sample(make(3, 4), at(0, 2, 1, shape=(3, 1)), 1)
    yield sample(make(3, 4), at(0, 2, shape=(1, 2)), 1)
    yield sample(make(3, 4), at(0, 11))


NO_BOOL = tuple(d for d in ANY if d != "bool")

OPS = (
    OpSample("operator.getitem", picked(BASIC), ANY, variant="basic"),
    OpSample(
        "operator.getitem",
        picked(ADVANCED),
        ANY,
        errors=picked(REFUSED),
        variant="advanced",
        saved=False,  # PyTorch's node keeps index tensors, ours the places named
    ),
    OpSample(
        "operator.getitem",
        picked(NOTHING),
        ANY,
        variant="empty",
        saved=False,  # as above
        strides=False,  # NumPy has none for empty arrays
    ),
    OpSample("gather", gathered, ANY, errors=gather_refused),
    OpSample("scatter", scattered, ANY, errors=scatter_refused, inplace=True),
    OpSample("scatter", filled, ANY, inplace=True, variant="value"),
    OpSample("scatter_add", added, NO_BOOL, inplace=True),
    *(
        OpSample(
            "scatter_reduce",
            reduced(kind, include),
            FLOATS,
            inplace=True,
            variant=f"{kind}_{include}",
            double=kind in ("sum", "mean", "prod"),  # PyTorch refuses the others
            gradgradcheck=kind in ("sum", "mean", "prod"),
        )
        for kind in ("sum", "mean", "prod", "amax", "amin")
        for include in (True, False)
    ),
    *(
        OpSample(
            "index_reduce",
            positions_reduced(kind, include),
            FLOATS,
            inplace=True,
            variant=f"{kind}_{include}",
            double=kind in ("mean", "prod"),
            gradgradcheck=kind in ("mean", "prod"),
        )
        for kind in ("mean", "prod", "amax", "amin")
        for include in (True, False)
    ),
    OpSample("index_select", selected, ANY, errors=select_refused),
    *(
        OpSample(
            name,
            index_written,
            dtypes,
            errors=index_write_refused,
            inplace=True,
            saved=False,  # PyTorch keeps the source's number of dimensions besides
        )
        for name, dtypes in (("index_add", NO_BOOL), ("index_copy", ANY))
    ),
    OpSample("index_fill", index_filled, ANY, inplace=True),
    OpSample("masked_fill", masked, ANY, errors=masked_refused),
    OpSample("masked_select", mask_selected, ANY, errors=mask_select_refused),
    OpSample("masked_scatter", mask_scattered, ANY, inplace=True),
    OpSample("take", taken, ANY),
    OpSample("put", put, NO_BOOL, inplace=True),
    OpSample(
        "index_put",
        put_by_index,
        NO_BOOL,
        errors=put_by_index_refused,
        inplace=True,
        saved=False,  # as above: places instead of index tensors
    ),
    OpSample(
        "nonzero", found, ANY, derived=False, layouts=("contiguous", "transposed")
    ),
    OpSample(
        "argwhere", lambda make: iter([sample(make.ints(3, 4))]), ANY, derived=False
    ),
    OpSample("take_along_dim", along, ANY, layouts=("contiguous",)),
)
