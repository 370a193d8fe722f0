"""Calls of what reads signals: spectra of pieces, slopes, segments, powers of two."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ._record import FLOATS, NUMBERS, Make, Named, OpSample, Sample, rough, sample


def pieces(make: Make) -> Iterator[Sample]:
    window = np.abs(make(6)) + 0.5
    whole = np.ones(8, window.dtype)
    for options in (
        {"return_complex": True, "window": whole},
        {"return_complex": True, "window": window, "win_length": 6},
        {"return_complex": True, "window": whole, "normalized": True, "center": False},
        {"return_complex": True, "window": whole, "onesided": False, "hop_length": 3},
        {"return_complex": True, "window": whole, "pad_mode": "constant"},
    ):
        yield sample(make(20), 8, **options)
        yield sample(make(2, 20), 8, **options)
    options = {"center": False, "align_to_window": True, "win_length": 6}
    yield sample(make(20), 8, window=window, return_complex=True, **options)


def bad_pieces(make: Make) -> Iterator[Sample]:
    window = np.ones(8, make.dtype)
    signal, given = make(20), {"return_complex": True, "window": window}
    yield sample(signal, 8, window=window)
    yield sample(signal, 8, 0, **given)
    yield sample(signal, 0, **given)
    yield sample(signal, 40, center=False, **given)
    yield sample(signal, 8, win_length=9, **given)
    yield sample(signal, 8, return_complex=True, window=window[:3])
    yield sample(signal, 8, align_to_window=True, **given)
    yield sample(make(2, 3, 20), 8, **given)
    yield sample(make.ints(20), 8, **given)


def spectra(make: Make) -> Iterator[Sample]:
    window = np.abs(make(8).real) + 0.5
    found = make(5, 6)
    yield sample(found, 8, window=window)
    yield sample(make(2, 5, 6), 8, window=window, normalized=True)
    yield sample(found, 8, window=window, length=7)
    yield sample(found, 8, 3, window=window, center=False)
    yield sample(found, 8, window=window[:6], win_length=6)
    yield sample(make(8, 6), 8, window=window, onesided=False)
    yield sample(make(8, 6), 8, window=window, onesided=False, return_complex=True)


def bad_spectra(make: Make) -> Iterator[Sample]:
    window = np.ones(8)
    found = make(5, 6)
    yield sample(found.real.copy(), 8, window=window)
    yield sample(make(4, 6), 8, window=window)
    yield sample(make(5, 0), 8, window=window)
    yield sample(found, 8, 9, window=window)
    yield sample(found, 8, win_length=9, window=window)
    yield sample(found, 8, window=window[:2])
    yield sample(found, 8, window=window, return_complex=True)
    yield sample(found, 8, window=window + 0j)
    yield sample(found, 8, window=window * 0)


def scaled(make: Make) -> Iterator[Sample]:
    yield sample(make(2, 3), make.ints(3, high=3, dtype="int64"))
    yield sample(make(2, 1), make(3))
    yield rough(
        make.special(), make.ints(10, high=3, dtype="int64")[: len(make.special())]
    )


def mantissas(make: Make) -> Iterator[Sample]:
    yield sample(make(2, 3))
    yield rough(make.special())
    yield sample(make())


def no_mantissas(make: Make) -> Iterator[Sample]:
    yield sample(make.ints(3))


def bits(make: Make) -> Iterator[Sample]:
    yield sample(make(2, 3))
    yield sample(make(2, 3), 1, keepdim=True)
    yield sample(make(2, 3), (0, 1))


def no_bits(make: Make) -> Iterator[Sample]:
    yield sample(make(0))
    yield sample(make(2), mode=1)


def slopes(make: Make) -> Iterator[Sample]:
    places = np.array([0.0, 1.0, 3.0, 4.5], make.dtype)
    for order in (1, 2):
        yield sample(make(4, 3), edge_order=order)
        yield sample(make(4, 3), spacing=2.0, dim=0, edge_order=order)
        yield sample(make(4, 3), spacing=[2.0, 0.5], edge_order=order)
        yield sample(make(3, 4), spacing=(places,), dim=-1, edge_order=order)
    yield sample(make(2, 4), spacing=[places], dim=(1,))


def no_slopes(make: Make) -> Iterator[Sample]:
    yield sample(make(4, 3), edge_order=3)
    yield sample(make(1, 3))
    yield sample(make(4, 3), dim=(0, 0))
    yield sample(make(4, 3), dim=2)
    yield sample(make(4, 3), spacing=[1.0])
    yield sample(make(4, 3), spacing=[1.0], dim=(0, 1))
    yield sample(make(4), spacing=[make(2, 2)])


def differences(make: Make) -> Iterator[Sample]:
    yield sample(make(4), 0)
    yield sample(make(4), 0, 0, make(2))
    yield sample(make(2, 4), 2, 0, make(1, 4), make(2, 4))


def segments(make: Make) -> Iterator[Sample]:
    lengths = np.array([2, 0, 3])
    for name in ("sum", "mean", "max", "min", "prod"):
        yield sample(make.distinct(5, 2), name, lengths=lengths)
        yield sample(make.distinct(5), name, lengths=lengths, initial=1.5)
        yield sample(make.distinct(5), name, offsets=np.array([0, 2, 4]))
        rows = np.array([[1, 2], [3, 0]])
        yield sample(make.distinct(2, 3, 2), name, lengths=rows, axis=1)
        yield rough(make.ints(5, high=1, dtype=make.dtype.name), name, lengths=lengths)


def no_segments(make: Make) -> Iterator[Sample]:
    lengths = np.array([2, 3])
    yield sample(make(5), "sum")
    yield sample(make(5), "median", lengths=lengths)
    yield sample(make(6), "sum", lengths=lengths)
    yield sample(make(5), "sum", lengths=np.array([6, -1]))
    yield sample(make(5, 5), "sum", lengths=lengths, axis=1)
    yield sample(make(5), "sum", indices=lengths)
    yield sample(make.ints(5), "sum", lengths=lengths)


def lengths(make: Make) -> Iterator[Sample]:
    for length in (0, 1, 2, 5, 8):
        yield sample(length)
        yield sample(length, False, dtype=Named("float64"))
    yield sample(4, requires_grad=True)


def no_lengths(make: Make) -> Iterator[Sample]:
    yield sample(-1)
    yield sample(2.5)
    yield sample(4, dtype=Named("int64"))
    yield sample(4, layout=Named("sparse_coo"))


OPS = (
    OpSample("stft", pieces, errors=bad_pieces, graph=False, layouts=("contiguous",)),
    OpSample(
        "istft",
        spectra,
        errors=bad_spectra,
        dtypes=("complex128",),
        layouts=("contiguous",),
    ),
    OpSample("ldexp", scaled, FLOATS, inplace=True, saved=False),
    # PyTorch has no second derivative of frexp.
    OpSample(
        "frexp", mantissas, errors=no_mantissas, double=False, gradgradcheck=False
    ),
    OpSample("hash_tensor", bits, NUMBERS, errors=no_bits),
    OpSample("gradient", slopes, errors=no_slopes, graph=False),
    OpSample("diff", differences, variant="none", graph=False),
    # PyTorch has no second derivative of it; prod's own is wrong for unsafe lengths.
    OpSample(
        "segment_reduce",
        segments,
        errors=no_segments,
        layouts=("contiguous", "transposed", "sliced"),
        double=False,
        gradcheck=False,  # an empty segment has no mean
        gradgradcheck=False,
        saved=False,
    ),
    *(
        OpSample(f"{name}_window", lengths, errors=no_lengths, derived=False)
        for name in ("bartlett", "blackman", "hamming", "hann", "kaiser")
    ),
)
