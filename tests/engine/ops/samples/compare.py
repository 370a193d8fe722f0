"""Calls of comparisons, logic and bits."""

from __future__ import annotations

from collections.abc import Iterator

from ._record import NUMBERS, Make, OpSample, Sample, rough, sample
from ._shapes import SHAPES, binary, unary

WHOLE = ("int64", "int32", "uint8", "bool")
_COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")


def close(make: Make) -> Iterator[Sample]:
    values = make(2, 3)
    yield sample(values, values + make.dtype.type(1e-9 if make.inexact else 0))
    yield sample(make(2, 3), make(3))
    yield sample(values, make(2, 3), rtol=1.0, atol=0.5)
    yield sample(make.special()[:, None], make.special())
    yield sample(make.special()[:, None], make.special(), equal_nan=True)
    yield sample(values, values, rtol=0, atol=0)


def close_refused(make: Make) -> Iterator[Sample]:
    yield sample(make(3), make.ints(3))
    yield sample(make(3), make(3), rtol=-1.0)
    yield sample(make(3), make(3), atol=-1.0)


def equality(make: Make) -> Iterator[Sample]:
    values = make(2, 3)
    yield sample(values, values)
    yield sample(values, make(2, 3))
    yield sample(values, make(3))
    yield sample(make(0), make(0))
    yield sample(make.special(), make.special())


def whole_pairs(make: Make) -> Iterator[Sample]:
    for a, b in (((2, 3), (3,)), ((), (3,)), ((0,), (1,))):
        yield sample(make(*a, low=0, high=5), make(*b, low=0, high=5))
    yield sample(make(2, 3, low=0, high=5), 3)


def shifts(make: Make) -> Iterator[Sample]:
    yield sample(make(2, 3, low=0, high=5), make(3, low=0, high=3))
    yield sample(make(2, 3, low=0, high=5), 2)


def bits_refused(make: Make) -> Iterator[Sample]:
    yield sample(make.ints(3).astype("float32"), make.ints(3).astype("float32"))


def not_refused(make: Make) -> Iterator[Sample]:
    yield sample(make.ints(3).astype("float32"))


def one_whole(make: Make) -> Iterator[Sample]:
    for shape in SHAPES:
        yield sample(make(*shape, low=0, high=5))


def compared(make: Make) -> Iterator[Sample]:
    yield from binary()(make)
    values = make.ints(2, 3).astype(make.dtype)
    yield sample(values, values[::-1].copy())
    yield sample(values, 1)
    yield sample(values, make.ints(3))
    yield rough(make.special()[:, None], make.special())


def shapes_refused(make: Make) -> Iterator[Sample]:
    yield sample(make(3), make(4))


def logical(make: Make) -> Iterator[Sample]:
    yield from binary(numbers=())(make)
    values = make.ints(2, 3).astype(make.dtype)
    yield sample(values, values[::-1].copy())
    yield sample(values, make.ints(3))


def logical_refused(make: Make) -> Iterator[Sample]:
    yield sample(make(3), make(4))
    yield sample(make(3), 2.5)
    yield sample(make(3), "a")


OPS = (
    *(
        OpSample(n, compared, NUMBERS, errors=shapes_refused, inplace=True, out=True)
        for n in _COMPARISONS
    ),
    *(
        OpSample(
            f"logical_{n}",
            logical,
            NUMBERS,
            errors=logical_refused,
            inplace=True,
            out=True,
        )
        for n in ("and", "or", "xor")
    ),
    OpSample("logical_not", unary(), NUMBERS, inplace=True, out=True),
    *(OpSample(n, unary(), NUMBERS) for n in ("isnan", "isinf", "isfinite")),
    OpSample("isclose", close, NUMBERS[:4], errors=close_refused),
    OpSample("allclose", close, NUMBERS[:4], errors=close_refused),
    OpSample("equal", equality, NUMBERS),
    *(
        OpSample(
            f"bitwise_{n}",
            whole_pairs,
            WHOLE,
            errors=bits_refused,
            inplace=True,
            out=True,
        )
        for n in ("and", "or", "xor")
    ),
    OpSample("bitwise_not", one_whole, WHOLE, errors=not_refused, out=True),
    OpSample("bitwise_left_shift", shifts, WHOLE[:3], errors=bits_refused, out=True),
    OpSample("bitwise_right_shift", shifts, WHOLE[:3], errors=bits_refused, out=True),
)
