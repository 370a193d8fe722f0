"""Calls of the functions of one number: exponentials, angles, special functions."""

from __future__ import annotations

from collections.abc import Iterator

from ._record import NUMBERS, Make, OpSample, Sample, rough, sample
from ._shapes import binary, unary

# Where each function is smooth; outside it is judged by its special values.
_DOMAINS: dict[str, tuple[float, float]] = {
    "acos": (-0.9, 0.9),
    "acosh": (1.2, 3.0),
    "asin": (-0.9, 0.9),
    "asinh": (-2.0, 2.0),
    "atan": (-2.0, 2.0),
    "atanh": (-0.9, 0.9),
    "cos": (-3.0, 3.0),
    "cosh": (-2.0, 2.0),
    "digamma": (0.5, 3.0),
    "erf": (-2.0, 2.0),
    "erfc": (-2.0, 2.0),
    "erfinv": (-0.9, 0.9),
    "exp": (-2.0, 2.0),
    "exp2": (-2.0, 2.0),
    "expm1": (-2.0, 2.0),
    "lgamma": (0.5, 3.0),
    "log": (0.2, 3.0),
    "log10": (0.2, 3.0),
    "log1p": (-0.8, 3.0),
    "log2": (0.2, 3.0),
    "reciprocal": (0.3, 3.0),
    "rsqrt": (0.3, 3.0),
    "sigmoid": (-4.0, 4.0),
    "sin": (-3.0, 3.0),
    "sinh": (-2.0, 2.0),
    "sqrt": (0.2, 3.0),
    "tan": (-1.2, 1.2),
    "tanh": (-3.0, 3.0),
}


# PyTorch has no derivative for these writing forms; we do.
_NOT_IN_PLACE = ("acosh", "asinh", "atanh")


def refused(make: Make) -> Iterator[Sample]:
    yield sample(2.0)
    yield sample("a")
    yield sample(None)
    yield sample([1.0])


def polygamma(make: Make) -> Iterator[Sample]:
    for n in range(4):
        yield sample(n, make(2, 3, low=0.5, high=3))


def polygamma_refused(make: Make) -> Iterator[Sample]:
    yield sample(-1, make(3))


def xlogy(make: Make) -> Iterator[Sample]:
    yield from binary(0.2, 3)(make)
    yield rough(make(2, 3, low=0.2, high=3), 0)
    yield sample(2.5, make(2, 3, low=0.2, high=3))
    yield rough(make.special(), 0.0)
    yield rough(make.special(), -1.0)


def powers_by_number(make: Make) -> Iterator[Sample]:
    for exponent in (0, 1, 2, 3) + ((-1, -2, 0.5, 2.7, -0.5) if make.inexact else ()):
        yield sample(make(2, 3, low=0.3, high=2), exponent)
        if make.inexact:
            yield rough(make.special(), exponent)
    yield sample(make(low=0.3), 2)
    yield sample(make(0), 2)


def powers(make: Make) -> Iterator[Sample]:
    yield from binary(0.3, 2, numbers=(), special=make.inexact)(make)
    yield rough(make(2, 3), make(3, low=0, high=2))


def powers_of_number(make: Make) -> Iterator[Sample]:
    for base in (2, 3.5, 1, 0.5):
        yield sample(base, make(2, 3, low=0, high=3))
    for base in (0, 0.0, -2.0) if make.inexact else ():
        yield rough(base, make.special())
    yield sample(2.0, make())
    yield sample(2.0, make(0, 3))


def powers_refused(make: Make) -> Iterator[Sample]:
    yield sample(make.ints(3), -1)
    yield sample(make(3), make(4))


def squares(make: Make) -> Iterator[Sample]:
    yield from unary()(make)


OPS = (
    *(
        OpSample(
            name,
            unary(*domain),
            NUMBERS,
            errors=refused,
            inplace=name not in _NOT_IN_PLACE,
            out=True,
        )
        for name, domain in _DOMAINS.items()
    ),
    OpSample("polygamma", polygamma, errors=polygamma_refused),
    OpSample("xlogy", xlogy, out=True, inplace=True),
    OpSample("atan2", binary(0.3, 2, numbers=()), NUMBERS, inplace=True, out=True),
    OpSample("hypot", binary(0.3, 2, numbers=()), inplace=True, out=True),
    OpSample("logaddexp", binary(numbers=()), out=True),
    OpSample("logaddexp2", binary(numbers=()), out=True),
    OpSample("pow", powers_by_number, NUMBERS, variant="number", errors=powers_refused),
    OpSample("pow", powers, NUMBERS[:5]),
    OpSample("pow", powers_of_number, NUMBERS, variant="of_number"),
    OpSample("square", squares, NUMBERS),
    OpSample("float_power", powers, NUMBERS),
)
