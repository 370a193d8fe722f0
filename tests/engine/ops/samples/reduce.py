"""Calls of reductions, running sums and sorting."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from ._record import FLOATS, NUMBERS, Make, Named, OpSample, Sample, rough, sample

Calls = Callable[[Make], Iterator[Sample]]


def reduced(
    dims: bool = True, many: bool = True, empty: bool = True, special: bool = True
) -> Calls:
    """Return calls over everything, over one dimension and over several."""

    def samples(make: Make) -> Iterator[Sample]:
        yield sample(make.distinct(2, 3))
        yield sample(make.distinct())
        yield sample(make.distinct(3, 1, 2))
        if dims:
            yield sample(make.distinct(2, 3), 0)
            yield sample(make.distinct(2, 3, 2), -1, True)
            yield sample(make.distinct(2, 3), dim=1, keepdim=True)
            yield sample(make.distinct(2, 3), axis=1)
            yield sample(make.distinct(), 0)
        if many:
            yield sample(make.distinct(2, 3, 2), (0, 2))
            yield sample(make.distinct(2, 3, 2), [1, -1], keepdim=True)
            yield sample(make.distinct(2, 3), ())
            yield sample(make.distinct(2, 3), None)
        if empty:
            yield sample(make(0, 3))
            if dims:
                yield sample(make(0, 3), 0)
        yield sample(make(3, 0), 0) if dims else sample(make(2, 2))
        if special:
            yield rough(make.special())
        if dims and special:
            yield rough(np.stack([make.special(), make.special()[::-1]]), 0)

    return samples


def totals(make: Make) -> Iterator[Sample]:
    yield from reduced()(make)
    yield sample(make(2, 3), dtype=Named("float64"))
    yield rough(make(2, 3), 1, dtype=Named("float32"))


def products(make: Make) -> Iterator[Sample]:
    yield from reduced(many=False, special=False)(make)
    zeros = make.distinct(3, 4)
    zeros[0, 1] = 0
    yield sample(zeros)
    yield sample(zeros, 1)
    zeros[0, 2] = zeros[2, 0] = 0
    yield sample(zeros.copy())
    yield sample(zeros.copy(), 0, True)
    yield sample(zeros[0].copy())


def dims_refused(make: Make) -> Iterator[Sample]:
    yield sample(make(2, 3), 2)
    yield sample(make(2, 3), -3)
    yield sample(make(2, 3), (0, 0))
    yield sample(make(), 1)


def mean_refused(make: Make) -> Iterator[Sample]:
    yield from dims_refused(make)
    yield sample(make.ints(3))
    yield sample(make.ints(3), 0)
    yield sample(make.ints(3), dtype=Named("int64"))


def extremes(many: bool) -> Calls:
    def samples(make: Make) -> Iterator[Sample]:
        yield from reduced(many=many, empty=False)(make)
        ties = make.ints(3, 4).astype(make.dtype)
        yield rough(ties)
        yield rough(ties, 1)
        yield rough(ties, 0, True)

    return samples


def empty_refused(make: Make) -> Iterator[Sample]:
    yield sample(make(0))
    yield sample(make(2, 0), 1)
    yield sample(make(2, 3), 2)


def both_ends(make: Make) -> Iterator[Sample]:
    yield sample(make.distinct(2, 3))
    yield sample(make.distinct(2, 3), dim=1)
    yield sample(make.distinct(2, 3), dim=0, keepdim=True)
    yield rough(make.ints(3, 4).astype(make.dtype), dim=1)


def spreads(make: Make) -> Iterator[Sample]:
    yield sample(make(2, 3))
    yield sample(make(2, 3), False)
    yield sample(make(2, 3), 1)
    yield sample(make(2, 3, 2), (0, 2), True)
    yield sample(make(2, 3), 1, False)
    yield sample(make(2, 3), 1, True, True)
    yield sample(make(2, 3), 0, correction=0)
    yield sample(make(2, 3), correction=2, keepdim=True)
    yield sample(make(2, 3), dim=None, unbiased=False)
    yield sample(make(4, 3), axis=0)
    yield rough(make.special())
    yield rough(np.ones((2, 3), make.dtype), 1)


def whole_refused(make: Make) -> Iterator[Sample]:
    yield sample(make.ints(3))


def norms(make: Make) -> Iterator[Sample]:
    for p in ("fro", 2, 1, 3, 0.5, 1.5, float("inf"), float("-inf")):
        yield sample(make.distinct(2, 3) + 0.05, p)
        yield sample(make.distinct(2, 3, 2) + 0.05, p, (0, 2), True)
    yield rough(make.distinct(2, 3), 0)
    yield sample(make.distinct(2, 3), dim=1)
    for p in (2, 1, 3, 1.5, float("inf")):
        yield rough(np.zeros((2, 3), make.dtype), p)
        yield rough(make.special(), p)
    yield sample(make.distinct(2, 3), 2, dim=-1, keepdim=True)
    yield sample(make.distinct())


def distances(make: Make) -> Iterator[Sample]:
    for p in (2, 1, 3):
        yield sample(make.distinct(2, 3), make.distinct(2, 3) + 5, p)
    yield sample(make.distinct(2, 3), make(3, low=5, high=6))
    yield rough(np.ones(3, make.dtype), np.ones(3, make.dtype))


def exponentials(make: Make) -> Iterator[Sample]:
    yield sample(make(2, 3), 0)
    yield sample(make(2, 3), 1, True)
    yield sample(make(2, 3, 2), (0, 2))
    yield sample(make(), 0)
    yield sample(make(2, 0), 0)
    yield rough(make.special(), 0)
    if make.inexact:
        yield rough(np.full((2, 2), -np.inf, make.dtype), 0)


def running_special(make: Make) -> Iterator[Sample]:
    yield from running(make)
    yield rough(make.special(), 0)


def running(make: Make) -> Iterator[Sample]:
    yield sample(make.distinct(2, 3), 0)
    yield sample(make.distinct(2, 3), -1)
    yield sample(make.distinct(2, 3, 2), dim=1)
    yield sample(make.distinct(), 0)
    yield sample(make(0, 3), 0)


def running_products(make: Make) -> Iterator[Sample]:
    yield from running(make)
    zeros = make.distinct(3, 4)
    zeros[0, 1] = 0
    yield sample(zeros, 1)
    zeros[0, 2] = zeros[2, 0] = 0
    yield sample(zeros.copy(), 0)


def running_refused(make: Make) -> Iterator[Sample]:
    yield sample(make(2, 3), 2)


def truths(make: Make) -> Iterator[Sample]:
    values = make.ints(2, 3).astype(make.dtype)
    yield sample(values)
    yield sample(values, 0)
    yield sample(values, dim=-1, keepdim=True)
    yield sample(values, (0, 1))
    yield sample(make(0, 3))
    yield sample(make(0, 3), 0)
    yield sample(make.special())
    yield sample(values[:1, 0].reshape(()))


def counts(make: Make) -> Iterator[Sample]:
    values = make.ints(2, 3).astype(make.dtype)
    yield sample(values)
    yield sample(values, 0)
    yield sample(values, dim=(0, 1))
    yield sample(make(0, 3), 1)
    yield sample(make.special())


def places(make: Make) -> Iterator[Sample]:
    ties = make.ints(3, 4).astype(make.dtype)
    yield sample(ties)
    yield sample(ties, 1)
    yield sample(ties, 0, True)
    yield sample(ties, dim=-1, keepdim=True)
    yield sample(ties, None, True)
    yield sample(make.distinct())
    yield sample(make.special())
    yield sample(make(3, 0), 0)


def sorted_(make: Make) -> Iterator[Sample]:
    yield sample(make.distinct(2, 3))
    yield sample(make.distinct(2, 3), 0)
    yield sample(make.distinct(2, 3), -1, True)
    yield sample(make.distinct(2, 3), dim=0, descending=True)
    yield sample(make.distinct())
    yield sample(make(0, 3), 0)
    yield rough(make.special())
    yield rough(make.ints(8).astype(make.dtype), stable=True)
    yield rough(make.ints(8).astype(make.dtype), descending=True, stable=True)


def top(make: Make) -> Iterator[Sample]:
    yield sample(make.distinct(2, 5), 3)
    yield sample(make.distinct(4, 2), 2, 0)
    yield sample(make.distinct(2, 5), 2, largest=False)
    yield sample(make.distinct(), 1)
    yield sample(make.distinct(3), 0)
    yield rough(make.special()[-2:].copy(), 2)


def top_refused(make: Make) -> Iterator[Sample]:
    yield sample(make(3), 4)
    yield sample(make(3), -1)
    yield sample(make(3), 1, 1)


def kth(make: Make) -> Iterator[Sample]:
    yield sample(make.distinct(2, 5), 3)
    yield sample(make.distinct(4, 2), 2, 0, True)
    yield sample(make.distinct(), 1)


def kth_refused(make: Make) -> Iterator[Sample]:
    yield sample(make(3), 4)
    yield sample(make(3), 0)


def medians(make: Make) -> Iterator[Sample]:
    yield sample(make.distinct(2, 3))
    yield sample(make.distinct(2, 4), 1)
    yield sample(make.distinct(3, 2), 0, True)
    yield sample(make.distinct(), 0)
    yield sample(make.distinct())
    yield rough(make.special()[:4].copy())
    yield rough(make.special()[4:].copy())
    yield rough(make.special()[4:].copy(), 0)


def against(make: Make) -> Iterator[Sample]:
    yield sample(make.distinct(2, 3), make.distinct(2, 3) + make.dtype.type(4))


# Ties come out in any order, and PyTorch's median of an expanded tensor reads past it.
_NOT_EXPANDED = ("contiguous", "transposed", "sliced")

OPS = (
    OpSample("sum", totals, NUMBERS, errors=dims_refused, out=True, out_casts=False),
    OpSample("mean", totals, errors=mean_refused, out=True, out_casts=False),
    OpSample("prod", products, NUMBERS, errors=running_refused),
    OpSample("amax", extremes(True), NUMBERS, errors=empty_refused, out=True),
    OpSample("amin", extremes(True), NUMBERS, errors=empty_refused, out=True),
    OpSample("aminmax", both_ends, NUMBERS),
    OpSample("max", extremes(False), NUMBERS, errors=empty_refused),
    OpSample("min", extremes(False), NUMBERS, errors=empty_refused),
    OpSample("max", against, variant="pair"),
    OpSample("min", against, variant="pair"),
    OpSample("argmax", places, NUMBERS[:5], errors=empty_refused),
    OpSample("argmin", places, NUMBERS[:5], errors=empty_refused),
    OpSample("any", truths, NUMBERS, errors=dims_refused, out=True, out_casts=False),
    OpSample("all", truths, NUMBERS, errors=dims_refused, out=True, out_casts=False),
    OpSample("count_nonzero", counts, NUMBERS),
    OpSample("var", spreads, errors=whole_refused, out=True),
    OpSample("std", spreads, errors=whole_refused, out=True),
    OpSample("var_mean", spreads, errors=whole_refused),
    OpSample("std_mean", spreads, errors=whole_refused),
    OpSample("norm", norms, errors=whole_refused),
    OpSample("dist", distances),
    OpSample("logsumexp", exponentials, NUMBERS[:3], out=True, out_casts=False),
    OpSample(
        "cumsum",
        running_special,
        NUMBERS,
        errors=running_refused,
        out=True,
        out_casts=False,
    ),
    OpSample(
        "cumprod",
        running_products,
        NUMBERS,
        errors=running_refused,
        out=True,
        out_casts=False,
    ),
    OpSample("logcumsumexp", running, FLOATS, errors=running_refused),
    OpSample("cummax", running_special, NUMBERS, errors=running_refused),
    OpSample("cummin", running_special, NUMBERS, errors=running_refused),
    OpSample("nansum", reduced(), NUMBERS, out=True, out_casts=False),
    OpSample("nanmean", reduced(empty=False), errors=whole_refused),
    OpSample("median", medians, NUMBERS[:5], layouts=_NOT_EXPANDED),
    OpSample("nanmedian", medians, NUMBERS[:5], layouts=_NOT_EXPANDED),
    OpSample("sort", sorted_, NUMBERS),
    OpSample("argsort", sorted_, NUMBERS),
    OpSample("msort", lambda make: iter([sample(make.distinct(4, 2))])),
    OpSample("topk", top, NUMBERS[:5], layouts=_NOT_EXPANDED, errors=top_refused),
    OpSample("kthvalue", kth, NUMBERS[:5], layouts=_NOT_EXPANDED, errors=kth_refused),
)
