"""Calls of Python's operators."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ._record import NUMBERS, Make, OpSample, Sample, sample

WHOLE = ("int64", "uint8", "bool")
NO_BOOL = ("float64", "float32", "int64", "uint8")
Calls = Callable[[Make], Iterator[Sample]]


def both_sides(*numbers: Any) -> Calls:
    def samples(make: Make) -> Iterator[Sample]:
        a, b = make(2, 3, low=1, high=3), make(3, low=1, high=3)
        yield sample(a, b)
        yield sample(b, make(low=1, high=3))
        for number in numbers:
            yield sample(a, number)
            yield sample(number, a)

    return samples


def one(make: Make) -> Iterator[Sample]:
    yield sample(make(2, 3))
    yield sample(make())


def refused(make: Make) -> Iterator[Sample]:
    yield sample(make(3), "a")
    yield sample(make(3), None)
    yield sample(make(3), [1, 2, 3])
    yield sample(None, make(3))
    yield sample(make(3), object())


def unequal(make: Make) -> Iterator[Sample]:
    yield from both_sides(1, 2.5)(make)
    yield sample(make(3), None)
    yield sample(make(3), "a")


def invert_refused(make: Make) -> Iterator[Sample]:
    yield sample(make(3))


def single(make: Make) -> Iterator[Sample]:
    yield sample(make())
    yield sample(make(1))
    yield sample(make(1, 1))


def single_refused(make: Make) -> Iterator[Sample]:
    yield sample(make(2))
    yield sample(make(0))


def index_refused(make: Make) -> Iterator[Sample]:
    yield sample(make(2).astype("float32"))
    yield sample(make.ints(2))


def truth(make: Make) -> Iterator[Sample]:
    yield sample(make())
    yield sample(make(1, 1))


OPS = (
    OpSample("operator.add", both_sides(2, 2.5), NUMBERS, errors=refused),
    OpSample("operator.sub", both_sides(2, 2.5), NO_BOOL, errors=refused),
    OpSample("operator.mul", both_sides(2, 2.5), NUMBERS, errors=refused),
    OpSample("operator.truediv", both_sides(2, 2.5), NUMBERS, errors=refused),
    OpSample(
        "operator.floordiv", both_sides(2, 2.5), NO_BOOL, errors=refused, derived=False
    ),
    OpSample("operator.mod", both_sides(2, 2.5), NO_BOOL, derived=False),
    OpSample("operator.pow", both_sides(2, 2.5), NO_BOOL, errors=refused),
    *(OpSample(f"operator.{n}", unequal, NUMBERS) for n in ("eq", "ne")),
    *(
        OpSample(f"operator.{n}", both_sides(2, 2.5), NUMBERS, errors=refused)
        for n in ("lt", "le", "gt", "ge")
    ),
    *(
        OpSample(f"operator.{n}", both_sides(1), WHOLE, errors=refused)
        for n in ("and_", "or_", "xor")
    ),
    *(
        OpSample(f"operator.{n}", both_sides(1), WHOLE[:2], errors=refused)
        for n in ("lshift", "rshift")
    ),
    OpSample("operator.neg", one, NO_BOOL),
    OpSample("operator.pos", one, NO_BOOL),
    OpSample("operator.abs", one, NO_BOOL),
    OpSample("operator.invert", one, WHOLE),
    OpSample(
        "operator.invert",
        one,
        WHOLE,
        variant="float",
        errors=lambda make: iter([sample(make.special().astype("float32"))]),
    ),
    OpSample("operator.truth", truth, NUMBERS, errors=single_refused),
    OpSample("operator.index", single, ("int64", "bool"), errors=index_refused),
    OpSample("Tensor.__float__", single, NUMBERS, errors=single_refused),
    OpSample("Tensor.__int__", single, NUMBERS, errors=single_refused),
    OpSample("Tensor.__complex__", single, NUMBERS, errors=single_refused),
)
