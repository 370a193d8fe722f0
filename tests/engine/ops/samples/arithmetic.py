"""Calls of sums, products, quotients and signs."""

from __future__ import annotations

from collections.abc import Iterator

from ._record import NUMBERS, Make, OpSample, Sample, rough, sample
from ._shapes import binary, unary

NO_BOOL = tuple(d for d in NUMBERS if d != "bool")


def scaled(make: Make) -> Iterator[Sample]:
    """Calls with alpha."""
    alpha = 2.5 if make.inexact else 3
    yield sample(make(2, 3), make(3), alpha=alpha)
    yield sample(make(3), make(2, 3), alpha=-1)
    yield sample(make(2, 3), 2, alpha=alpha)
    yield sample(make(), make(2, 0, 3), alpha=alpha)
    yield rough(make.special(), make.special()[::-1].copy(), alpha=alpha)


def alpha_refused(make: Make) -> Iterator[Sample]:
    ints = make.ints(3)
    yield sample(ints, ints, alpha=0.5)
    yield sample(make(3), make(3), alpha=True)
    yield sample(make(3), make(3), alpha=1j)
    yield sample(make(3), make(4))
    yield sample(make(2, 3), make(3, 2))
    yield sample(make(3), "a")
    yield sample(make(3), None)
    yield sample("a", make(3))


def minus_refused(make: Make) -> Iterator[Sample]:
    flags = make.bools(3)
    yield sample(flags, flags)
    yield sample(flags, make(3))
    yield sample(make(3), flags)
    yield sample(flags, 1)
    yield from alpha_refused(make)


def rounded(mode: str):
    def samples(make: Make) -> Iterator[Sample]:
        for call in binary(1, 3, special=False)(make):
            yield Sample(call.args, {"rounding_mode": mode}, smooth=False)
        if make.inexact:
            values = make.special()
            yield rough(values[:, None], values, rounding_mode=mode)
        yield rough(-make(2, 3, low=1, high=9), 2, rounding_mode=mode)

    return samples


def rest(make: Make) -> Iterator[Sample]:
    numerators = make.distinct(2, 3)
    yield sample(numerators, 0.7 if make.inexact else 2)
    yield sample(numerators, make(3, low=0.8, high=0.9) if make.inexact else 3)
    yield sample(make.distinct(3), make(low=0.8, high=0.9) if make.inexact else 2)
    yield rough(-make(2, 3, low=1, high=9), 2)
    yield rough(make(2, 3, low=1, high=9), -2)
    yield sample(make(0), 2)
    if make.inexact:
        values = make.special()
        yield rough(values[:, None], values)


def divisor_refused(make: Make) -> Iterator[Sample]:
    yield sample(make.ints(3), 0)
    yield sample(make.ints(3), make.ints(3, high=0))
    yield sample(make.bools(3), make.bools(3))
    yield sample(make(3), make(4))


def mode_refused(make: Make) -> Iterator[Sample]:
    yield sample(make(3), 2, rounding_mode="up")
    yield sample(make.ints(3), 0, rounding_mode="floor")
    yield sample(make.ints(3), 0, rounding_mode="trunc")


def one_refused(make: Make) -> Iterator[Sample]:
    yield sample(make.bools(3))
    yield sample(2)
    yield sample("a")


def never_zero(make: Make) -> Iterator[Sample]:
    for call in binary(1, 3, special=make.inexact)(make):
        yield Sample(call.args, smooth=False)


OPS = (
    OpSample("add", binary(), NUMBERS, errors=alpha_refused, inplace=True, out=True),
    OpSample("add", scaled, NO_BOOL, variant="alpha", inplace=True, out=True),
    OpSample("sub", binary(), NO_BOOL, errors=minus_refused, inplace=True, out=True),
    OpSample("sub", scaled, NO_BOOL, variant="alpha", inplace=True, out=True),
    OpSample("rsub", binary(), NO_BOOL),
    OpSample("rsub", scaled, NO_BOOL, variant="alpha"),
    OpSample("mul", binary(), NUMBERS, errors=alpha_refused, inplace=True, out=True),
    OpSample(
        "div",
        binary(0.5, 3),
        NUMBERS,
        errors=mode_refused,
        inplace=True,
        out=True,
    ),
    OpSample("div", rounded("floor"), NO_BOOL, variant="floor", out=True, inplace=True),
    OpSample("div", rounded("trunc"), NO_BOOL, variant="trunc", out=True, inplace=True),
    OpSample("true_divide", binary(0.5, 3)),
    OpSample(
        "floor_divide",
        never_zero,
        NO_BOOL,
        errors=divisor_refused,
        derived=False,
        out=True,
    ),
    OpSample(
        "remainder", rest, NO_BOOL, errors=divisor_refused, inplace=True, out=True
    ),
    OpSample("fmod", rest, NO_BOOL, errors=divisor_refused, inplace=True, out=True),
    OpSample("neg", unary(), NO_BOOL, errors=one_refused, inplace=True, out=True),
    OpSample("abs", unary(), NO_BOOL, errors=one_refused, inplace=True, out=True),
    OpSample("positive", unary(), NO_BOOL, errors=one_refused),
    OpSample("sign", unary(), NUMBERS, inplace=True, out=True),
    OpSample("sgn", unary(), NUMBERS, inplace=True, out=True),
)
