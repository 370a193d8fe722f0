"""Calls of the special functions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ._record import FLOATS, Make, OpSample, Sample, rough, sample
from ._shapes import unary

_NUMBERS = (*FLOATS, "int64", "uint8", "bool")


def two(low: float, high: float) -> Callable[[Make], Iterator[Sample]]:
    def samples(make: Make) -> Iterator[Sample]:
        yield sample(make(2, 3, low=low, high=high), make(3, low=low, high=high))
        yield sample(make(2, 1, low=low, high=high), make(1, 3, low=low, high=high))
        yield sample(make(low=low, high=high), make(0, low=low, high=high))

    return samples


def with_numbers(low: float, high: float) -> Callable[[Make], Iterator[Sample]]:
    def samples(make: Make) -> Iterator[Sample]:
        yield from two(low, high)(make)
        yield sample(make(2, 3, low=low, high=high), 2.5)
        yield sample(2.5, make(2, 3, low=low, high=high))

    return samples


def zeros_in(make: Make) -> Iterator[Sample]:
    yield from with_numbers(0.5, 2)(make)
    yield rough(make.special()[:, None], make.special())


def incomplete(make: Make) -> Iterator[Sample]:
    yield from two(0.5, 4)(make)
    yield rough(make.special()[:, None], make.special())


def degrees(make: Make) -> Iterator[Sample]:
    yield sample(make(2, 3), make.ints(3, low=-1, high=6))
    yield sample(make(4), 3)
    yield sample(0.5, make.ints(4, high=5))
    yield sample(make(5), make.ints(5, high=5).astype("float64"))


def dimensions(make: Make) -> Iterator[Sample]:
    yield sample(make(2, 3, low=1.5, high=4), 1)
    yield sample(make(2, 3, low=1.5, high=4), 3)


def no_dimension(make: Make) -> Iterator[Sample]:
    yield sample(make(3), 0)
    yield sample(make(3).astype("complex64"), 2)


def halves(make: Make) -> Iterator[Sample]:
    yield sample(make(3).astype("float16"))
    yield from complex_only(make)


def complex_only(make: Make) -> Iterator[Sample]:
    yield sample(make(3).astype("complex64"))
    yield sample(3)


def two_refused(make: Make) -> Iterator[Sample]:
    yield sample(make(3), 2.0)
    yield sample(make(3).astype("complex64"), make(3))
    yield sample(make.ints(3), make.ints(3))


def complex_pairs(make: Make) -> Iterator[Sample]:
    yield sample(make(3).astype("complex64"), make(3))


def half_pairs(make: Make) -> Iterator[Sample]:
    yield sample(make(3).astype("float16"), make(3).astype("float16"))
    yield from complex_pairs(make)


_PLAIN = {
    "airy_ai": unary(special=False),
    "bessel_j0": unary(),
    "bessel_j1": unary(),
    "bessel_y0": unary(0.5, 4),
    "bessel_y1": unary(0.5, 4, special=False),  # NaN in PyTorch at positive infinity
    "modified_bessel_i0": unary(special=False),
    "modified_bessel_i1": unary(special=False),
    "modified_bessel_k0": unary(0.5, 4, special=False),
    "modified_bessel_k1": unary(0.5, 4, special=False),
    "scaled_modified_bessel_k0": unary(0.5, 4, special=False),
    "scaled_modified_bessel_k1": unary(0.5, 4, special=False),
    "spherical_bessel_j0": unary(),
}
_POLYNOMIALS = (
    *(f"chebyshev_polynomial_{kind}" for kind in "tuvw"),
    *(f"shifted_chebyshev_polynomial_{kind}" for kind in "tuvw"),
    *("hermite_polynomial_h", "hermite_polynomial_he"),
    *("laguerre_polynomial_l", "legendre_polynomial_p"),
)
# Single precision differs in the last digits where terms cancel.
_LOOSE: dict[str, Any] = {"rtol": 1e-4}

OPS = (
    OpSample("i0", unary(), _NUMBERS, errors=complex_only, inplace=True, out=True),
    OpSample("special.i0e", unary(), _NUMBERS, errors=complex_only),
    OpSample("special.i1", unary(), _NUMBERS, errors=complex_only),
    OpSample("special.i1e", unary(), _NUMBERS, errors=complex_only),
    OpSample("special.entr", unary(0.2, 2), _NUMBERS, errors=complex_only),
    OpSample("special.erfcx", unary(), _NUMBERS, errors=halves, **_LOOSE),
    OpSample(
        "special.ndtri",
        unary(0.1, 0.9, special=False),
        _NUMBERS,
        errors=halves,
        **_LOOSE,
    ),
    OpSample("special.log_ndtr", unary(), _NUMBERS, errors=halves, **_LOOSE),
    # PyTorch multiplies by C++ overloads whose nodes have numbers of their own.
    OpSample("special.ndtr", unary(), _NUMBERS, graph=False),
    OpSample("special.xlog1py", zeros_in, errors=complex_pairs),
    OpSample(
        "special.zeta",
        with_numbers(1.5, 4),
        derived=False,
        errors=half_pairs,
        **_LOOSE,
    ),
    OpSample(
        "igamma",
        incomplete,
        frozen=(0,),
        errors=two_refused,
        inplace=True,
        out=True,
        **_LOOSE,
    ),
    OpSample(
        "igammac",
        incomplete,
        frozen=(0,),
        errors=two_refused,
        inplace=True,
        out=True,
        **_LOOSE,
    ),
    OpSample("mvlgamma", dimensions, errors=no_dimension, **_LOOSE),
    *(
        OpSample(
            f"special.{name}",
            calls,
            _NUMBERS,
            derived=False,
            errors=halves,
            **_LOOSE,
        )
        for name, calls in _PLAIN.items()
    ),
    *(
        OpSample(f"special.{name}", degrees, derived=False, errors=half_pairs, **_LOOSE)
        for name in _POLYNOMIALS
    ),
)
