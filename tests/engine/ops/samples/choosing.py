"""Calls of clamping, rounding, choosing and mixing."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ._record import NUMBERS, Make, OpSample, Sample, rough, sample
from ._shapes import unary

NO_BOOL = tuple(d for d in NUMBERS if d != "bool")
Calls = Callable[[Make], Iterator[Sample]]


def distinct_pairs(make: Make) -> Iterator[Sample]:
    both = make.distinct(4, 3)
    yield sample(both[:2].copy(), both[2:].copy())
    yield sample(both[:2].copy(), both[2].copy())
    yield sample(make.distinct(2, 3), make(low=0.26, high=0.3))
    yield sample(make(0), make(1))
    ties = make.ints(3, 4, low=-1, high=1).astype(make.dtype)
    yield rough(ties, ties[::-1].copy())
    values = make.special()
    yield rough(values[:, None], values)


def mixed_dtypes(make: Make) -> Iterator[Sample]:
    yield sample(make.distinct(2, 3), make.ints(3, low=-9, high=-8))


def clamp(make: Make) -> Iterator[Sample]:
    yield sample(make.distinct(2, 3), -1, 1)
    yield sample(make.distinct(2, 3), min=0)
    yield sample(make.distinct(2, 3), max=0)
    yield sample(make.distinct(2, 3), 1, -1)
    if make.inexact:
        yield sample(make.distinct(3), 0.6, 0.7)
    yield sample(make(0), 0, 1)
    yield rough(make.special(), 0, 1)
    yield rough(make.special(), max=1)


def clamp_by_tensors(make: Make) -> Iterator[Sample]:
    if not make.inexact:
        yield sample(make(2, 3), make(3), make(2, 1))
        return
    yield sample(make.distinct(2, 3), make(3, low=-1.1, high=-1.05), make(2, 1))
    yield sample(make.distinct(2, 3), min=make(3, low=0.3, high=0.35))
    yield sample(make.distinct(2, 3), max=make(low=0.3, high=0.35))
    yield sample(make.distinct(2, 3), make(low=1, high=1.1), make(low=-1.1, high=-1))
    values = make.special()
    yield rough(values[:, None], values, values[::-1].copy())


def clamp_refused(make: Make) -> Iterator[Sample]:
    yield sample(make(3))
    yield sample(make(3), make(3), 1)


def one_bound(make: Make) -> Iterator[Sample]:
    yield sample(make.distinct(2, 3), 0)
    yield sample(make.distinct(2, 3), make(3, low=0.3, high=0.35))
    yield sample(make.distinct(2, 3), make(2, 2, 3, low=5, high=6))
    yield rough(make.special(), 1)
    values = make.special()
    yield rough(values[:, None], values)


def where(make: Make) -> Iterator[Sample]:
    yield sample(make.bools(2, 3), make(2, 3), make(2, 3))
    yield sample(make.bools(2, 1), make(3), make())
    yield sample(make.bools(2, 3), make(2, 3), 1)
    yield sample(make.bools(2, 3), 1.5, make(3))
    yield sample(make.bools(), make(3), make(2, 1))
    yield sample(make.bools(0), make(0), make())
    yield sample(make.bools(3), 1, 2)
    yield sample(make.bools(3), 1.5, 2)
    yield sample(make.bools(3), make(3), make.ints(3))


def where_refused(make: Make) -> Iterator[Sample]:
    yield sample(make(3), make(3), make(3))
    yield sample(make.bools(3), make(4), make(3))


def lerp(make: Make) -> Iterator[Sample]:
    for weight in (0.3, 0.7, 2):
        yield sample(make(2, 3), make(3), weight)
    yield sample(make(2, 3), make(3), make(2, 1, low=0.6, high=0.9))
    yield sample(make(), make(3), make(3, low=-1, high=0.4))
    yield sample(make(0), make(1), 0.5)


def lerp_refused(make: Make) -> Iterator[Sample]:
    yield sample(make(3), make(3).astype("float32"), 0.5)
    yield sample(make.ints(3), make.ints(3), 0.5)
    yield sample(make(3), make(4), 0.5)


def products(make: Make) -> Iterator[Sample]:
    for value in ({}, {"value": 2}, {"value": 0.5} if make.inexact else {}):
        yield sample(make(2, 3), make(3), make(2, 1, low=0.5, high=2), **value)
    yield sample(make(), make(3), make(2, 1, low=1, high=2))
    yield sample(make(0), make(1), make(1, low=1))


def quotient_refused(make: Make) -> Iterator[Sample]:
    yield sample(make.ints(3), make.ints(3), make.ints(3))
    yield sample(make(3), make(4), make(3))


def rounded(make: Make) -> Iterator[Sample]:
    yield sample(make.distinct(2, 3))
    yield rough(make.special())
    for decimals in (1, 2, -1) if make.inexact else ():
        yield rough(make(2, 3, low=-30, high=30), decimals=decimals)
    yield sample(make(0))


def round_refused(make: Make) -> Iterator[Sample]:
    yield sample(make.ints(3), decimals=1)
    yield sample(make.bools(3))


def bool_refused(make: Make) -> Iterator[Sample]:
    yield sample(make.bools(3))


def whole_refused(make: Make) -> Iterator[Sample]:
    yield sample(make.bools(3))
    yield sample(make.ints(3))


def numbers(make: Make) -> Iterator[Sample]:
    yield from unary()(make)
    for given in ({"nan": 1.0}, {"posinf": 2.0}, {"neginf": -3.0, "nan": 0.5}):
        yield rough(make.special(), **given)


def heaviside(make: Make) -> Iterator[Sample]:
    yield rough(make(2, 3), make(3))
    yield rough(make.special()[:, None], make.special())


def heaviside_refused(make: Make) -> Iterator[Sample]:
    yield sample(make(3), make.ints(3))


def threshold(make: Make) -> Iterator[Sample]:
    yield sample(make.distinct(2, 3), 0.3, 7)
    yield sample(make.distinct(3), -1, 0)
    yield rough(make.special(), 1, 5)


def relu(make: Make) -> Iterator[Sample]:
    for shape in ((), (3,), (2, 3), (0,), (2, 0)):
        yield sample(make.distinct(*shape))
    yield rough(make.special())


OPS = (
    *(
        OpSample(name, distinct_pairs, NO_BOOL, out=True)
        for name in ("maximum", "minimum", "fmax", "fmin")
    ),
    *(OpSample(name, mixed_dtypes, variant="mixed") for name in ("maximum", "fmin")),
    OpSample("clamp", clamp, NO_BOOL, errors=clamp_refused, out=True, inplace=True),
    OpSample("clamp", clamp_by_tensors, NO_BOOL, variant="tensors", out=True),
    OpSample("clip", clamp),
    OpSample("clamp_min", one_bound, NO_BOOL, out=True),
    OpSample("clamp_max", one_bound, NO_BOOL, out=True),
    OpSample("where", where, NUMBERS, errors=where_refused, out=True),
    OpSample("lerp", lerp, errors=lerp_refused, out=True, inplace=True),
    OpSample("addcmul", products, NO_BOOL, out=True, inplace=True),
    OpSample("addcdiv", products, errors=quotient_refused, out=True, inplace=True),
    OpSample("floor", unary(), NO_BOOL, errors=bool_refused, inplace=True, out=True),
    OpSample("ceil", unary(), NO_BOOL, errors=bool_refused, inplace=True, out=True),
    OpSample("trunc", unary(), NO_BOOL, errors=bool_refused, inplace=True, out=True),
    OpSample("round", rounded, NO_BOOL, errors=round_refused, inplace=True, out=True),
    OpSample("frac", unary(), errors=whole_refused, inplace=True, out=True),
    OpSample("nan_to_num", numbers, NUMBERS, inplace=True, out=True),
    OpSample("heaviside", heaviside, derived=False, errors=heaviside_refused),
    OpSample("relu", relu, NO_BOOL, errors=bool_refused, inplace=True, variant="kinks"),
    OpSample("threshold", threshold, NUMBERS[:4]),
)
