"""Calls of the less common elementwise functions, of mode and diff."""

from __future__ import annotations

from collections.abc import Iterator

from ._record import NUMBERS, Make, OpSample, Sample, rough, sample
from ._shapes import unary


def logits(make: Make) -> Iterator[Sample]:
    yield sample(make(2, 3, low=0.1, high=0.9))
    yield sample(make(2, 3, low=0.3, high=0.7), 0.2)
    yield rough(make(2, 3, low=-1, high=2), 0.1)
    yield rough(make(2, 3, low=-1, high=2))


def signs(make: Make) -> Iterator[Sample]:
    yield sample(make.distinct(2, 3), make.distinct(3))
    yield sample(make.distinct(2, 3), -2.0)
    yield rough(make.special()[:, None], make.special())


def neighbours(make: Make) -> Iterator[Sample]:
    yield sample(make(2, 3), make(3))
    yield rough(make.special()[:, None], make.special())


def whole(make: Make) -> Iterator[Sample]:
    yield sample(make(2, 3, low=-9, high=9), make(3, low=1, high=9))


def modes(make: Make) -> Iterator[Sample]:
    yield sample(make.distinct(2, 3))
    yield rough(make.ints(3, 7, high=3).astype(make.dtype))
    yield rough(make.ints(7, 3, high=2).astype(make.dtype), 0, True)
    yield sample(make.distinct())


def differences(make: Make) -> Iterator[Sample]:
    yield sample(make(2, 4))
    yield sample(make(4, 2), 2, 0)
    yield sample(make(2, 4), prepend=make(2, 1), append=make(2, 2))
    yield sample(make(2, 1))


def differences_refused(make: Make) -> Iterator[Sample]:
    yield sample(make())
    yield sample(make(3), -1)


def written(make: Make) -> Iterator[Sample]:
    yield sample(make(2, 3))


OPS = (
    OpSample("deg2rad", unary(), NUMBERS, inplace=True, out=True),
    OpSample("rad2deg", unary(), NUMBERS, inplace=True, out=True),
    OpSample("angle", unary(), NUMBERS),
    OpSample("logit", logits, inplace=True, out=True),
    OpSample("sinc", unary(0.2, 2), inplace=True, out=True),
    OpSample("copysign", signs),
    OpSample("nextafter", neighbours, inplace=True, out=True),
    OpSample("gcd", whole, ("int64", "int32", "uint8"), inplace=True, out=True),
    OpSample("lcm", whole, ("int64", "int32", "uint8"), inplace=True, out=True),
    OpSample("isposinf", unary(), NUMBERS),
    OpSample("isneginf", unary(), NUMBERS),
    OpSample("isreal", unary(), NUMBERS),
    OpSample("mode", modes, NUMBERS[:5], layouts=("contiguous", "transposed")),
    OpSample("diff", differences, NUMBERS, errors=differences_refused),
    OpSample(
        "exp_",
        lambda make: iter([sample(make(2, 3))]),
        frozen=(0,),
        layouts=("contiguous",),
    ),
)
