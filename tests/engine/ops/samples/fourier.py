"""Calls of gradtape.fft; the dtypes that transforms are made of are in the samples."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ._record import COMPLEX, FLOATS, Make, Named, OpSample, Sample, sample

_ALL = (*FLOATS, *COMPLEX, "complex64")
_WHOLE = (*_ALL, "int64", "bool")


def along_one(make: Make) -> Iterator[Sample]:
    yield sample(make(4))
    yield sample(make(2, 5))
    yield sample(make(3, 4, 2), dim=1)
    yield sample(make(3, 4, 2), 6, 0)
    yield sample(make(3, 4), 3, norm="ortho")
    yield sample(make(3, 4), n=5, norm="forward")
    yield sample(make(3, 2), dim=-2, norm="backward")


def along_many(make: Make) -> Iterator[Sample]:
    yield sample(make(3, 4))
    yield sample(make(2, 3, 4), dim=(0, 2))
    yield sample(make(2, 3, 4), (3, 4), (2, 1), "ortho")
    yield sample(make(2, 3, 4), (3, 5), norm="forward")
    yield sample(make(2, 3, 4), s=(2,), dim=(1,))
    yield sample(make(2, 3, 4), s=(4, -1))


def along_two(make: Make) -> Iterator[Sample]:
    yield sample(make(3, 4))
    yield sample(make(2, 3, 4), (3, 5))
    yield sample(make(2, 3, 4), dim=(0, 1), norm="ortho")


def refused_one(make: Make) -> Iterator[Sample]:
    yield sample(3)
    yield sample(make())
    yield sample(make(3), 0)
    yield sample(make(3), dim=1)
    yield sample(make(3), norm="double")
    yield sample(make(3).astype("float16"))


def refused_real(make: Make) -> Iterator[Sample]:
    yield from refused_one(make)
    yield sample(make(3).astype("complex64"))


def refused_many(make: Make) -> Iterator[Sample]:
    yield sample(make(3, 4), (0, 2))
    yield sample(make(3, 4), dim=(1, 1))
    yield sample(make(3, 4), dim=(0, 2))
    yield sample(make(3, 4), (1, 2), (0,))
    yield sample(make(3, 4), (1, 2, 3))
    yield sample(make(3, 4), norm="double")


def refused_half(make: Make) -> Iterator[Sample]:
    yield from refused_many(make)
    yield sample(make(3, 4), dim=())
    yield sample(make())


def refused_half_real(make: Make) -> Iterator[Sample]:
    yield from refused_half(make)
    yield sample(make(3, 4).astype("complex64"))


def refused_two(make: Make) -> Iterator[Sample]:
    yield sample(make(3))
    yield sample(make(3, 4), (2,))


def frequencies(make: Make) -> Iterator[Sample]:
    yield sample(5)
    yield sample(6, 0.5)
    yield sample(4, dtype=Named("float64"))
    yield sample(1, 2.0)


def frequencies_refused(make: Make) -> Iterator[Sample]:
    yield sample(4, dtype=Named("int64"))
    yield sample(-4)
    yield sample(2.5)


def shifts(make: Make) -> Iterator[Sample]:
    yield sample(make(5))
    yield sample(make(3, 4))
    yield sample(make(3, 4), 1)
    yield sample(make(3, 4, 2), (0, 2))


def shifts_refused(make: Make) -> Iterator[Sample]:
    yield sample(make(3), 2)
    yield sample(2)


Samples = Callable[[Make], Iterator[Sample]]


def _entry(
    name: str, samples: Samples, refused: Samples, dtypes: tuple[str, ...] = _ALL
) -> OpSample:
    return OpSample(f"fft.{name}", samples, dtypes, errors=refused)


OPS = (
    *(_entry(n, along_one, refused_one, _WHOLE) for n in ("fft", "ifft")),
    *(_entry(n, along_one, refused_real, FLOATS) for n in ("rfft", "ihfft")),
    *(_entry(n, along_one, refused_one) for n in ("irfft", "hfft")),
    *(_entry(n, along_many, refused_many) for n in ("fftn", "ifftn")),
    *(_entry(n, along_many, refused_half_real, FLOATS) for n in ("rfftn", "ihfftn")),
    *(_entry(n, along_many, refused_half) for n in ("irfftn", "hfftn")),
    *(_entry(n, along_two, refused_two) for n in ("fft2", "ifft2")),
    *(_entry(n, along_two, refused_two, FLOATS) for n in ("rfft2", "ihfft2")),
    *(_entry(n, along_two, refused_two) for n in ("irfft2", "hfft2")),
    *(
        OpSample(f"fft.{n}", frequencies, ("float32",), errors=frequencies_refused)
        for n in ("fftfreq", "rfftfreq")
    ),
    *(
        OpSample(f"fft.{n}", shifts, _WHOLE, errors=shifts_refused)
        for n in ("fftshift", "ifftshift")
    ),
)
