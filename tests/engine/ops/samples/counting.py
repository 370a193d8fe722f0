"""Calls that count, sort out and find quantiles of values, and copies of views."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ._record import FLOATS, Layout, Make, OpSample, Sample, rough, sample

_PLAIN: tuple[Layout, ...] = ("contiguous",)


def quantiles(make: Make) -> Iterator[Sample]:
    yield sample(make.distinct(2, 4), 0.3)
    yield sample(make.distinct(2, 4), 0.7, 0)
    yield sample(make.distinct(2, 4), np.asarray([0.1, 0.8], make.dtype), 1)
    for way in ("lower", "higher", "midpoint", "nearest"):
        yield rough(make.distinct(5), 0.4, interpolation=way)
    yield sample(make.distinct(2, 3, 2), 0.25, 1, keepdim=True)
    yield sample(make.distinct(2, 3), np.asarray([0.5], make.dtype), keepdim=True)
    yield sample(make.distinct(), 0.5)
    holed = make.distinct(3, 4)
    holed[1, 2] = np.nan
    yield rough(holed, 0.4, 1)
    yield rough(holed, np.asarray([0.4, 1], make.dtype))


def quantiles_refused(make: Make) -> Iterator[Sample]:
    yield sample(make(3), 1.5)
    yield sample(make(3), np.asarray([-1.0], make.dtype))
    yield sample(make(3), np.asarray([[0.5]], make.dtype))
    yield sample(make(3), np.asarray([0.5], "float16"))
    yield sample(make(0), 0.5)
    yield sample(make.ints(3), 0.5)
    yield sample(make(3), 0.5, 2)
    yield sample(make(3), 0.5, interpolation="other")


def counts(make: Make) -> Iterator[Sample]:
    yield sample(make.ints(7, high=4))
    yield sample(make.ints(7, high=4), minlength=9)
    yield sample(make.ints(0))
    yield sample(make.ints(5, high=4), make(5))
    yield sample(make.ints(5, high=4), make.ints(5))


def counts_refused(make: Make) -> Iterator[Sample]:
    yield sample(make(3))
    yield sample(make.ints(2, 2))
    yield sample(make.ints(3, low=-3, high=-1))
    yield sample(make.ints(3), make(2))
    yield sample(make.ints(3), minlength=-1)


def bins(make: Make) -> Iterator[Sample]:
    yield sample(make(3, 4), 5)
    yield sample(make(9), 4, -1, 1)
    yield sample(make(4, low=1, high=1), 3)
    yield sample(make(4))


def bins_refused(make: Make) -> Iterator[Sample]:
    yield sample(make.ints(3), 3)
    yield sample(make(3), 0)
    yield sample(make(3), 3, 2, 1)
    yield sample(make.special(), 3)


def edges(make: Make) -> Iterator[Sample]:
    yield sample(make(3, 4), 5)
    yield sample(make(9), 4, range=(-1.0, 1.0))
    yield sample(make(9), np.asarray([-1, 0, 0.5, 2], make.dtype), density=True)


def edges_refused(make: Make) -> Iterator[Sample]:
    yield sample(make.ints(3), 3)
    yield sample(make(3), 0)
    yield sample(make(3), 3, range=(2.0, 1.0))
    yield sample(make(3), np.asarray([0, 1], "float16"))
    yield sample(make(3), 3, weight=make.ints(3))


def boxes(make: Make) -> Iterator[Sample]:
    yield sample(make(8, 2), [3, 2])
    yield sample(make(8, 2), 3)
    yield sample(make(8, 2), [2, 2], range=(-1.0, 1.0, 0.0, 2.0), density=True)


def boxes_refused(make: Make) -> Iterator[Sample]:
    yield sample(make(8, 2), [3])


def several(make: Make) -> Iterator[Sample]:
    few = make.ints(3, 4, high=3).astype(make.dtype)
    yield rough(few)
    yield rough(few, return_inverse=True, return_counts=True)
    yield rough(np.concatenate([few, few]), dim=0, return_inverse=True)
    yield rough(few, dim=1, return_counts=True)
    yield rough(np.zeros((0,), make.dtype), return_inverse=True)
    yield rough(make.special())


def several_refused(make: Make) -> Iterator[Sample]:
    yield sample(make(3), dim=2)
    yield sample(make(), dim=0)
    yield sample(make(2, 0), dim=0)
    yield sample(make(2).astype("complex64"))


def places(make: Make) -> Iterator[Sample]:
    yield sample(make.ints(2, 3), size=4)
    yield sample(make.ints(2, 3), size=9, fill_value=7)


def flat_places(make: Make) -> Iterator[Sample]:
    yield sample(make.ints(2, 3, high=11), (3, 4))
    yield sample(make.ints(high=11), (2, 3, 2))
    yield sample(make.ints(2, high=4), 5)


def copies(*calls: tuple[Any, ...]) -> Callable[[Make], Iterator[Sample]]:
    def samples(make: Make) -> Iterator[Sample]:
        for args in calls:
            yield sample(make(2, 4), *args)

    return samples


def narrow_refused(make: Make) -> Iterator[Sample]:
    yield sample(make(2, 3), 0, 1, 2)
    yield sample(make(2, 3), 0, 0, -1)


def strided(make: Make) -> Iterator[Sample]:
    yield sample(make(3, 3), make(2, 2), (2, 2), (1, 2))
    yield sample(make(3, 3), make(2), (2,), (4,), 1)


def strided_refused(make: Make) -> Iterator[Sample]:
    yield sample(make(3, 3), make(2, 3), (2, 2), (1, 2))


def _copy(name: str, *calls: tuple[Any, ...]) -> OpSample:
    # A copy's strides are its own: PyTorch reads what it saves of them as it likes.
    return OpSample(f"{name}_copy", copies(*calls), saved=False, layouts=_PLAIN)


_NO_SLOPE: dict[str, Any] = {"derived": False}

OPS = (
    OpSample("quantile", quantiles, errors=quantiles_refused, frozen=(1,)),
    OpSample("nanquantile", quantiles, errors=quantiles_refused, frozen=(1,)),
    OpSample("bincount", counts, frozen=(1,), errors=counts_refused, **_NO_SLOPE),
    OpSample("histc", bins, frozen=(0,), errors=bins_refused, **_NO_SLOPE),
    # The recorded node of these two refuses to run, in both engines.
    OpSample("unique", several, errors=several_refused, **_NO_SLOPE),
    OpSample("unique_consecutive", several, errors=several_refused, **_NO_SLOPE),
    OpSample("nonzero_static", places, ("int64", "bool"), **_NO_SLOPE),
    OpSample("unravel_index", flat_places, ("int64", "int32"), **_NO_SLOPE),
    OpSample("narrow_copy", copies((0, 1, 1), (1, -3, 2)), errors=narrow_refused),
    # PyTorch's gradient for the tensor that is written into is not its slope.
    OpSample(
        "as_strided_scatter",
        strided,
        FLOATS,
        layouts=_PLAIN,
        frozen=(0,),
        errors=strided_refused,
        saved=False,
    ),
    _copy("alias", ()),
    _copy("as_strided", ((2, 2), (1, 2)), ((3,), (2,), 1)),
    _copy("diagonal", (), (1,)),
    _copy("expand", ((3, 2, 4),)),
    _copy("permute", ((1, 0),)),
    _copy("select", (0, 1), (1, -1)),
    _copy("slice", (1, 1, 3), (0,)),
    _copy("split", (3, 1)),
    _copy("split_with_sizes", ((1, 3), 1)),
    _copy("squeeze", ()),
    _copy("t", ()),
    _copy("transpose", (0, 1)),
    _copy("unbind", (), (1,)),
    _copy("unfold", (1, 2, 1)),
    _copy("unsqueeze", (1,)),
    _copy("view", ((4, 2),)),
    OpSample("histogram", edges, frozen=(0, 1), errors=edges_refused, **_NO_SLOPE),
    OpSample("histogramdd", boxes, frozen=(0,), errors=boxes_refused, **_NO_SLOPE),
)
