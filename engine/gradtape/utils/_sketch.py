"""A sketch of a tensor's values: enough to tell whether a second run gave the same."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from .._backend import backend_of
from .._fingerprint import fingerprint
from .._tensor import Tensor

_SAMPLES = 64
_SUMMED = 65_536


class Sketch(NamedTuple):
    """Some values of a float tensor and the moments of many; of others, a checksum."""

    shape: tuple[int, ...]
    kind: Any  # the dtype
    samples: Any  # NumPy array of float64 or complex128; None for exact ones
    mean: complex
    power: float  # mean of the squares
    checksum: int


def sketch_of(tensor: Tensor) -> Sketch:
    """Describe the values of ``tensor`` in at most a kilobyte.

    >>> import gradtape as torch
    >>> from gradtape.utils._sketch import differences, sketch_of
    >>> x = torch.tensor([1.0, 2.0])
    >>> differences(sketch_of(x), sketch_of(x + 1e-7))
    ''
    >>> differences(sketch_of(x), sketch_of(x * 2))
    'forward saw [1.0, 2.0], recomputation [2.0, 4.0]'
    """
    array = tensor.detach()._data
    shape, dtype = tuple(array.shape), array.dtype
    inexact = tensor.dtype.is_floating_point or tensor.dtype.is_complex
    if inexact and not dtype.names:  # complex32 is a structure of two halves
        values = _wide(_thinned(array, _SUMMED))
        mean = complex(values.mean()) if values.size else 0j
        power = float(np.mean(np.abs(values) ** 2)) if values.size else 0.0
        samples = values.reshape(-1)[_places(values.size, _SAMPLES)]
        return Sketch(shape, dtype, samples, mean, power, 0)
    return Sketch(shape, dtype, None, 0j, 0.0, fingerprint(array))


def differences(saved: Sketch, recomputed: Sketch) -> str:
    """Say in what two sketches differ by more than rounding; "" if they do not."""
    if saved[:2] != recomputed[:2]:
        return ""  # of another kind altogether, which is compared elsewhere
    if saved.samples is None:
        same = saved.checksum == recomputed.checksum
        return "" if same else "the values differ"
    near = _near(saved, recomputed.samples, saved.samples)
    if not near.all():
        at = np.flatnonzero(~near)[:4]
        was, now = _listed(saved.samples[at]), _listed(recomputed.samples[at])
        return f"forward saw {was}, recomputation {now}"
    for what in ("mean", "power"):
        was, now = getattr(saved, what), getattr(recomputed, what)
        if not _near(saved, now, was, 8.0).all():
            shown = "mean" if what == "mean" else "mean of squares"
            return f"forward saw a {shown} of {was:.6g}, recomputation {now:.6g}"
    return ""


def _near(saved: Sketch, found: Any, expected: Any, times: float = 1.0) -> Any:
    # The square root of the precision: what the order of a sum and the alignment of
    # memory can do stays far below, a changed input or dropout mask far above.
    precision = float(np.sqrt(_epsilon(saved.kind))) * times
    with np.errstate(all="ignore"):
        scale = float(np.sqrt(saved.power))
        atol = precision * scale if np.isfinite(scale) else 0.0
        return np.atleast_1d(
            np.isclose(found, expected, rtol=precision, atol=atol, equal_nan=True)
        )


def _epsilon(kind: Any) -> float:
    from .._dtypes import DTYPE_OF, finfo

    return float(finfo(DTYPE_OF[kind]).eps)


def _wide(array: Any) -> Any:
    """Return floats as NumPy's widest, whatever the tensor holds."""
    from .._dtypes import DTYPE_OF

    values = backend_of(array).to_host(array)
    wide = np.complex128 if DTYPE_OF[array.dtype].is_complex else np.float64
    with np.errstate(all="ignore"):
        return values.astype(wide)


def _thinned(array: Any, most: int) -> Any:
    """Return all elements of a small array, ``most`` or fewer of a large one."""
    if array.size <= most:
        return array
    if array.flags.c_contiguous or array.flags.f_contiguous:
        flat = (array if array.flags.c_contiguous else array.T).reshape(-1)
        return flat[:: array.size // most + 1]
    step = -(-array.size // most)  # thin the longest dimension
    longest = max(range(array.ndim), key=lambda d: array.shape[d])
    return array[(slice(None),) * longest + (slice(None, None, step),)]


@lru_cache(maxsize=256)
def _places(size: int, most: int) -> Any:
    return np.unique(np.linspace(0, max(size - 1, 0), min(size, most)).astype(int))


def _listed(values: Any) -> str:
    shown = [v.real if v.imag == 0 else complex(v) for v in values]
    return str([float(f"{v:.6g}") if v.imag == 0 else v for v in shown])
