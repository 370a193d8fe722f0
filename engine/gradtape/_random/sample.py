"""Draw new random arrays, permutations and samples, as PyTorch does on the CPU."""

from __future__ import annotations

from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .. import _dtypes as dt
from .._common.messages import CAST_REFUSED
from .continuous import bernoulli_, exponential_, normal_, uniform_
from .generator import Generator, default_generator
from .integers import random_

Array: TypeAlias = NDArray[Any]
Shape: TypeAlias = tuple[int, ...]

# From here on PyTorch shuffles another way, with 64-bit draws.
_LARGE_PERMUTATION: Final = (2**32 - 1) // 20
_MAX_CATEGORIES: Final = 2**24
_EXACT_INTEGERS: Final = {
    dt.float16: (2**11 + 1, "2049"),
    dt.float32: (2**24 + 1, "2^24+1"),
    dt.float64: (2**53 + 1, "2^53+1"),
}

_BAD_PROBABILITIES = "probability tensor contains either `inf`, `nan` or element < 0"
_BAD_ENTRY = "invalid multinomial distribution (encountering probability entry {})"
_ZERO_SUM = "invalid multinomial distribution (sum of probabilities <= 0)"


def rand(
    shape: Shape, dtype: dt.dtype | None = None, generator: Generator | None = None
) -> Array:
    """Return uniform numbers in [0, 1) in an array of this shape."""
    return uniform_(_empty(shape, dtype), 0.0, 1.0, generator)


def randn(
    shape: Shape, dtype: dt.dtype | None = None, generator: Generator | None = None
) -> Array:
    """Return standard normal numbers in an array of this shape."""
    return normal_(_empty(shape, dtype), 0.0, 1.0, generator)


def randint(
    low: int,
    high: int,
    shape: Shape,
    dtype: dt.dtype = dt.int64,
    generator: Generator | None = None,
) -> Array:
    """Return uniform integers in [low, high) in an array of this shape."""
    return random_(_empty(shape, dtype), low, high, generator)


def _empty(shape: Shape, dtype: dt.dtype | None) -> Array:
    for length in shape:
        if length < 0:
            raise RuntimeError(
                f"Trying to create tensor with negative dimension {length}: "
                f"[{', '.join(map(str, shape))}]"
            )
    return np.empty(shape, (dtype or dt.get_default_dtype()).numpy)


def dropout_mask(like: Array, p: float, generator: Generator | None = None) -> Array:
    """Return what dropout multiplies by: 0 with probability p, else 1 / (1 - p).

    The mask has the shape, type and memory order of `like`. Raises ValueError where
    `p` is not in [0, 1], and RuntimeError for integers, which cannot be scaled.
    """
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    if p == 1.0:
        return np.zeros_like(like)
    if like.dtype.kind in "iub":  # which hold no 1 / (1 - p)
        result, output = (dt.get_default_dtype(), dt.DTYPE_OF[like.dtype])
        raise RuntimeError(
            CAST_REFUSED.format(result=result.cpp_name, output=output.cpp_name)
        )
    mask = bernoulli_(np.empty_like(like), 1 - p, generator)
    kept = np.float32(1 - p) if mask.dtype.itemsize == 2 else mask.dtype.type(1 - p)
    # The only values are 0 and 1, so one division serves for all of them.
    mask[mask != 0] = (kept.dtype.type(1) / kept).astype(mask.dtype)
    return mask


def randperm(
    n: int, dtype: dt.dtype = dt.int64, generator: Generator | None = None
) -> Array:
    """Return the integers from 0 to n - 1 in random order.

    Raises RuntimeError where the type cannot hold n.
    """
    _check_permutation(n, dtype)
    source = generator or default_generator
    shuffle = _shuffle_forward if n < _LARGE_PERMUTATION else _shuffle_inside_out
    return np.array(shuffle(n, source), np.int64).astype(dtype.numpy)


def _check_permutation(n: int, dtype: dt.dtype) -> None:
    if n < 0:
        raise RuntimeError(
            f"Trying to create tensor with negative dimension {n}: [{n}]"
        )
    if dtype is dt.bool_ or dtype.is_complex:
        raise NotImplementedError(
            f"\"randperm\" not implemented for '{dtype.cpp_name}'"
        )
    if dtype.is_floating_point:
        limit = _EXACT_INTEGERS.get(dtype)  # PyTorch does not ask bfloat16
        if limit is not None and n > limit[0]:
            raise RuntimeError(
                f"n cannot be greater than {limit[1]} for {dtype.cpp_name} type."
            )
    elif n - 1 > dt.iinfo(dtype).max:
        raise RuntimeError(
            f"value cannot be converted to type {dtype.name}_t without overflow"
        )


def _shuffle_forward(n: int, source: Generator) -> list[int]:
    # Each swap depends on the ones before, so this is a loop; a list is its fastest.
    order = list(range(n))
    steps = source.draw32(max(n - 1, 0)).astype(np.int64)
    steps %= np.arange(n, 1, -1)
    steps += np.arange(max(n - 1, 0))
    for i, j in enumerate(steps.tolist()):
        order[i], order[j] = order[j], order[i]
    return order


def _shuffle_inside_out(n: int, source: Generator) -> list[int]:
    places = source.draw64(n)
    places %= np.arange(1, n + 1, dtype=np.uint64)
    order = [0] * n
    for i, j in enumerate(places.tolist()):
        order[i] = order[j]
        order[j] = i
    return order


def multinomial(
    probabilities: Array,
    num_samples: int,
    replacement: bool = False,
    generator: Generator | None = None,
) -> NDArray[np.int64]:
    """Draw category indices with the given weights, from each row.

    `probabilities` has one or two axes; the result has `num_samples` in place of the
    last one. Raises RuntimeError where the weights are no distribution, or where more
    samples than categories are asked for without replacement.
    """
    _check_multinomial(probabilities, num_samples, replacement)
    source = generator or default_generator
    if probabilities.size == 0:
        return np.empty((*probabilities.shape[:-1], num_samples), np.int64)
    rows = probabilities.reshape(-1, probabilities.shape[-1])
    # A single sample needs no replacement, and PyTorch draws it the other way too.
    single = not replacement or num_samples == 1
    draw = _without_replacement if single else _with_replacement
    found = draw(rows, num_samples, source)
    return found.reshape(*probabilities.shape[:-1], num_samples)


def _check_multinomial(p: Array, num_samples: int, replacement: bool) -> None:
    dtype = dt.DTYPE_OF[p.dtype]
    if p.ndim not in (1, 2):
        raise RuntimeError("prob_dist must be 1 or 2 dim")
    if not dtype.is_floating_point:
        raise RuntimeError(
            "multinomial only supports floating-point dtypes for input, "
            f"got: {dtype.cpp_name}"
        )
    if num_samples <= 0:
        raise RuntimeError("cannot sample n_sample <= 0 samples")
    if not replacement and num_samples > p.shape[-1]:
        raise RuntimeError(
            "cannot sample n_sample > prob_dist.size(-1) samples without replacement"
        )
    if p.shape[-1] > _MAX_CATEGORIES:
        raise RuntimeError("number of categories cannot exceed 2^24")
    if p.size:
        if replacement and num_samples > 1:  # by another kernel, row by row
            bad = p[~((p >= 0) & np.isfinite(p))]
            if bad.size:
                raise RuntimeError(
                    _BAD_ENTRY.format("= infinity or NaN" if bad[0] > 0 else "< 0")
                )
        if not ((p >= 0).all() and np.isfinite(p).all()):
            raise RuntimeError(_BAD_PROBABILITIES)
        if not (p.sum(-1) > 0).all():
            raise RuntimeError(_ZERO_SUM)


def _without_replacement(
    rows: Array, num_samples: int, source: Generator
) -> NDArray[np.int64]:
    # The largest p / q, with q exponential, are a sample without replacement.
    order = "C" if 0 in rows.strides else "K"  # an expanded row is drawn for each copy
    race = rows / exponential_(np.empty_like(rows, order=order), 1.0, source)
    if num_samples == 1:
        return np.argmax(race, -1, keepdims=True)
    order = np.argsort(-race, -1, kind="stable")
    return np.ascontiguousarray(order[:, :num_samples])


def _with_replacement(
    rows: Array, num_samples: int, source: Generator
) -> NDArray[np.int64]:
    sum_type = np.float32 if rows.dtype.itemsize == 2 else rows.dtype
    cumulative = np.cumsum(rows, -1, dtype=sum_type)
    cumulative /= cumulative[:, -1:].copy()
    cumulative = cumulative.astype(np.float64)
    cumulative[:, -1] = 1.0
    uniform = source.uniform64(len(rows) * num_samples).reshape(len(rows), num_samples)
    return np.stack(
        [np.searchsorted(row, u) for row, u in zip(cumulative, uniform, strict=True)]
    )
