"""Calls of functions that make tensors like another, and of casts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ._record import COMPLEX, FLOATS, NUMBERS, Make, Named, OpSample, Sample, sample

ANY = (*NUMBERS, *COMPLEX)


def each(*rest: Any, **named: Any) -> Callable[[Make], Iterator[Sample]]:
    def samples(make: Make) -> Iterator[Sample]:
        for shape in ((2, 3), (), (0, 3), (2, 1, 3)):
            yield sample(make(*shape), *rest, **named)

    return samples


def cast(*targets: str) -> Callable[[Make], Iterator[Sample]]:
    def samples(make: Make) -> Iterator[Sample]:
        for target in targets:
            yield sample(make(2, 3), Named(target))
            yield sample(make(), Named(target))
            yield sample(make(2, 3), dtype=Named(target))
            yield sample(make(2, 3), Named(target), copy=True)

    return samples


LIKE = tuple(
    OpSample(name, each(*rest), ANY, derived=False)
    for name, *rest in (
        ("zeros_like",),
        ("ones_like",),
        ("full_like", 1),
        ("Tensor.new_zeros", (2, 3)),
        ("Tensor.new_ones", (2, 3)),
        ("Tensor.new_full", (2, 3), 1),
        ("Tensor.new_tensor", [1, 0]),
    )
)

CASTS = (
    OpSample(
        "Tensor.to",
        cast("float64", "float32", "float16", "complex128"),
        FLOATS,
        gradcheck=False,  # half precision is too coarse for differences
        gradgradcheck=False,
    ),
    OpSample(
        "Tensor.to",
        cast("int64", "bool", "uint8"),
        NUMBERS,
        variant="whole",
        derived=False,
    ),
    *(
        OpSample(f"Tensor.{name}", each(), NUMBERS, derived=False)
        for name in ("int", "long", "short", "bool")
    ),
    *(
        OpSample(f"Tensor.{name}", each(), (of,))
        for name, of in (("float", "float32"), ("double", "float64"))
    ),
)

OPS = (*LIKE, *CASTS)
