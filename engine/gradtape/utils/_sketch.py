"""A sketch of a tensor's values: enough to tell whether a second run gave the same."""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import Any, NamedTuple

import numpy as np

from .._backend import backend_of
from .._dtypes import DTYPE_OF, finfo
from .._sparse.array import SparseArray
from .._storage.fingerprint import fingerprint
from .._tensor.tensor import Tensor

_SAMPLES = 64
_SUMMED = 65_536


class Sketch(NamedTuple):
    """Some values of a tensor; of floats the moments of many, of others a checksum."""

    shape: tuple[int, ...]
    kind: Any  # the dtype
    samples: Any  # NumPy array; None of what NumPy cannot compute with
    mean: complex
    power: float  # mean of the squares
    checksum: int | None  # None of floats, which may differ by rounding


def sketch_of(tensor: Tensor) -> Sketch:
    """Describe the values of ``tensor`` in at most a kilobyte.

    >>> import gradtape as torch
    >>> from gradtape.utils._sketch import differences, sketch_of
    >>> x = torch.tensor([1.0, 2.0])
    >>> differences(sketch_of(x), sketch_of(x + 1e-7))
    ''
    >>> differences(sketch_of(x), sketch_of(x * 2))
    'first at index [0]: forward saw [1, 2], recomputation [2, 4]'
    """
    array = tensor.detach()._data
    if type(array) is SparseArray:
        array = array.coalesce().values
    shape, dtype = tuple(array.shape), array.dtype
    if dtype.names:  # complex32 is a structure of two halves
        return Sketch(shape, dtype, None, 0j, 0.0, fingerprint(array))
    thinned = array[tuple([slice(None, None, step) for step in _steps(shape)])]
    values = backend_of(thinned).to_host(thinned)
    inexact = tensor.dtype.is_floating_point or tensor.dtype.is_complex
    if inexact:
        values = _wide(values)
    samples = values.reshape(-1)[_places(values.size)]
    if not inexact:
        return Sketch(shape, dtype, samples, 0j, 0.0, fingerprint(array))
    mean = complex(values.mean()) if values.size else 0j
    power = float(np.mean(np.abs(values) ** 2)) if values.size else 0.0
    return Sketch(shape, dtype, samples, mean, power, None)


def differences(saved: Sketch, recomputed: Sketch) -> str:
    """Say in what two sketches differ by more than rounding; "" if they do not."""
    if saved[:2] != recomputed[:2]:
        return ""  # of another kind altogether, which is compared elsewhere
    if saved.samples is not None:
        at = np.flatnonzero(~_same(saved, recomputed))
        if at.size:
            index = _index_of(saved.shape, int(at[0]))
            was, now = (
                _listed(saved.samples[at[:4]]),
                _listed(recomputed.samples[at[:4]]),
            )
            return f"first at index {index}: forward saw {was}, recomputation {now}"
    if saved.checksum != recomputed.checksum:
        return "the values differ"
    return "" if saved.checksum is not None else _other_moments(saved, recomputed)


def _same(saved: Sketch, recomputed: Sketch) -> Any:
    """Return which samples are the same."""
    if saved.checksum is not None:
        return saved.samples == recomputed.samples
    # The square root of the precision: what the order of a sum and the alignment of
    # memory can do stays far below, a changed input or dropout mask far above.
    return _near(saved, recomputed.samples, saved.samples, _epsilon(saved.kind) ** 0.5)


def _other_moments(saved: Sketch, recomputed: Sketch) -> str:
    if len(saved.samples) == prod(saved.shape):
        return ""  # every element was compared
    # Rounding averages out, so that one element of thousands can be told.
    epsilon = _epsilon(saved.kind)
    precision = min(256 * epsilon, 8 * epsilon**0.5)
    for name, text in (("mean", "mean"), ("power", "mean of squares")):
        was, now = getattr(saved, name), getattr(recomputed, name)
        if not _near(saved, now, was, precision):
            return f"forward saw a {text} of {_shown(was)}, recomputation {_shown(now)}"
    return ""


def _near(saved: Sketch, found: Any, expected: Any, precision: float) -> Any:
    with np.errstate(all="ignore"):
        scale = float(np.sqrt(saved.power))
        atol = precision * scale if np.isfinite(scale) else 0.0
        return np.isclose(found, expected, rtol=precision, atol=atol, equal_nan=True)


def _epsilon(kind: Any) -> float:
    return float(finfo(DTYPE_OF[kind]).eps)


def _wide(values: Any) -> Any:
    """Return floats as NumPy's widest, whatever the tensor holds."""
    wide = np.complex128 if DTYPE_OF[values.dtype].is_complex else np.float64
    with np.errstate(all="ignore"):
        return values.astype(wide)


# ---- where to look, by shape alone: memory may lie otherwise the second time ----


@lru_cache(maxsize=256)
def _steps(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return how far apart the elements looked at are, along each dimension."""
    steps = [1] * len(shape)
    left = list(shape)
    while prod(left) > _SUMMED:
        longest = max(range(len(left)), key=left.__getitem__)
        steps[longest] += 1
        left[longest] = -(-shape[longest] // steps[longest])
    return tuple(steps)


@lru_cache(maxsize=256)
def _places(size: int) -> Any:
    return np.unique(np.linspace(0, max(size - 1, 0), min(size, _SAMPLES)).astype(int))


def _index_of(shape: tuple[int, ...], sample: int) -> list[int]:
    """Return the index, in the tensor, of a sample."""
    steps = _steps(shape)
    left = [-(-size // step) for size, step in zip(shape, steps, strict=True)]
    at = np.unravel_index(_places(prod(left))[sample], left)
    return [int(i) * step for i, step in zip(at, steps, strict=True)]


def _listed(values: Any) -> str:
    return "[" + ", ".join([_shown(value) for value in values.tolist()]) + "]"


def _shown(value: complex) -> str:
    """Return a number in six digits, a real one without imaginary part."""
    if isinstance(value, complex) and value.imag == 0:
        value = value.real
    return str(value) if isinstance(value, int) else f"{value:.6g}"
