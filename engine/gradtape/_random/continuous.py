"""Fill NumPy arrays with random numbers, bit for bit as PyTorch's CPU kernels do.

Every function fills `out` in place and takes draws in the order in which the elements
lie in memory, as PyTorch's iterator does: a transposed array gets the same numbers in
other places. `None` for the generator means the default one.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

from .. import _dtypes as dt
from . import rounding as exact
from .generator import Generator, default_generator
from .target import (
    WIDE_UNSIGNED,
    Array,
    as_real,
    dtype_of,
    memory_order,
    require,
    require_float,
    store,
    through_float32,
)
from .vmap import at_once

# Values per step of the 16-lane normal kernel: its scratch arrays stay in the cache.
_NORMAL_BLOCK: Final = 2**15

# ---- uniform and normal ----


@at_once
def uniform_(
    out: Array, from_: float = 0.0, to: float = 1.0, generator: Generator | None = None
) -> Array:
    """Fill with uniform numbers in [from_, to).

    Raises RuntimeError where the bounds are out of order or out of the type's range.
    """
    if np.iscomplexobj(out):
        uniform_(as_real(out), from_, to, generator)
        return out
    dtype = require_float("check_uniform_bounds", out)
    _check_uniform_bounds(dtype, from_, to)
    if not out.size:
        return out
    source = generator or default_generator
    if dtype is dt.float64:
        wide = source.uniform64(out.size)
        if (from_, to) != (0.0, 1.0):
            wide = exact.fma64(wide, to - from_, from_)
            wide[wide == to] = from_
        return store(out, wide)
    low, high = np.float32(from_), np.float32(to)
    values: Array = source.uniform32(out.size)
    if (low, high) != (0.0, 1.0):
        values = exact.fma32(values, float(high - low), float(low))
    values = values.astype(out.dtype, copy=False)
    # Rounding may reach the bound that must stay out of reach.
    values[values == out.dtype.type(to)] = out.dtype.type(from_)
    return store(out, values)


def _check_uniform_bounds(dtype: dt.dtype, from_: float, to: float) -> None:
    limit = dt.finfo(dtype).max
    for name, bound in (("from", from_), ("to", to)):
        if not -limit <= bound <= limit:
            raise RuntimeError(f"{name} is out of bounds for {dt.CPP_TYPE[dtype]}")
    if not from_ <= to:
        raise RuntimeError(
            "uniform_ expects to return a [from, to) range, "
            f"but found from={from_:g} > to={to:g}"
        )
    if to - from_ > limit:
        raise RuntimeError(
            f"uniform_ expects to-from <= std::numeric_limits<{dtype.cpp_name}>::max()"
            f", but found to={to:g} and from={from_:g} which result in to-from to "
            "exceed the limit"
        )


@at_once
def normal_(
    out: Array,
    mean: float = 0.0,
    std: float = 1.0,
    generator: Generator | None = None,
) -> Array:
    """Fill with normal numbers.

    Sixteen or more in one block of memory come from a kernel of 16 lanes, others one
    pair at a time; the two give different numbers. A complex array gets parts of half
    the variance. Raises RuntimeError where `std` is negative.
    """
    if not std >= 0.0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std:g}")
    if not out.size:
        return out
    if np.iscomplexobj(out):
        normal_(as_real(out), mean, std / math.sqrt(2), generator)
        return out
    dtype = require_float("normal_kernel_cpu", out)
    source = generator or default_generator
    if out.size < 16 or not out.flags.c_contiguous:
        return through_float32(out, _normal_serial(source, out.size, mean, std))
    flat = out.reshape(-1)
    tail = out.size % 16
    if out.dtype.itemsize == 2:
        # The halves draw one block of 16 at a time: no draws for the ragged end.
        whole = source.uniform32(out.size - tail)
        np.copyto(flat[: whole.size], _normal_lanes(whole, mean, std), casting="unsafe")
    else:
        draw = source.uniform64 if dtype is dt.float64 else source.uniform32
        flat[:] = draw(out.size)
        whole = flat[: out.size - tail]
        whole[:] = _normal_lanes(whole, mean, std)
    if tail:  # the last 16 values are made anew, over what the last block left
        draw = source.uniform64 if dtype is dt.float64 else source.uniform32
        flat[-16:] = _normal_lanes(draw(16), mean, std).astype(out.dtype)
    return out


def _normal_lanes(uniform: Array, mean: float, std: float) -> Array:
    """Make each 16 uniform numbers normal: 8 radii, then 8 angles."""
    found = np.empty_like(uniform)
    for start in range(0, uniform.size, _NORMAL_BLOCK):
        lanes = uniform[start : start + _NORMAL_BLOCK].reshape(-1, 2, 8)
        first, second = lanes[:, 0].copy(), lanes[:, 1].copy()
        target = found[start : start + _NORMAL_BLOCK].reshape(-1, 2, 8)
        if uniform.dtype == np.float64:
            pair = exact.box_muller64(first, second)
            target[:, 0] = exact.fma64(pair[0], std, mean)
            target[:, 1] = exact.fma64(pair[1], std, mean)
        else:
            narrow = exact.box_muller32(first, second)
            scale, shift = float(np.float32(std)), float(np.float32(mean))
            target[:, 0] = exact.fma32(narrow[0], scale, shift)
            target[:, 1] = exact.fma32(narrow[1], scale, shift)
    return found


def _normal_serial(
    source: Generator, count: int, mean: float, std: float
) -> NDArray[np.float64]:
    """Make normal doubles one pair at a time; the odd one out is kept for later."""
    cached = source.next_normal
    have = 0 if cached is None else 1
    pairs = (count - have + 1) // 2
    standard = np.empty(have + 2 * pairs)
    if cached is not None:
        standard[0] = cached
        source.next_normal = None
    uniform = source.uniform64(2 * pairs)
    radius = np.sqrt(-2.0 * exact.each(math.log1p, -uniform[1::2]))
    cosine, sine = exact.cos_sin(uniform[0::2] * (2.0 * math.pi))
    standard[have::2] = radius * cosine
    standard[have + 1 :: 2] = radius * sine
    if standard.size > count:
        source.next_normal = float(standard[-1])
    return exact.fma64(standard[:count], std, mean)


# ---- other distributions ----


@at_once
def bernoulli_(
    out: Array, p: float | Array = 0.5, generator: Generator | None = None
) -> Array:
    """Fill with ones with probability `p`, else zeros.

    An array of probabilities is broadcast; it takes 24 or 53 bits a number by its
    type. Raises RuntimeError where a probability is not in [0, 1].
    """
    dtype = dtype_of(out)
    source = generator or default_generator
    supported = not dtype.is_complex and dtype not in WIDE_UNSIGNED
    if isinstance(p, np.ndarray):
        if out.size:
            require("bernoulli_tensor_cpu_self_", supported, dtype)
            store(out, _bernoulli_each(out, p, source))
        return out
    if not 0 <= p <= 1:
        raise RuntimeError(
            f"bernoulli_ expects p to be in [0, 1], but got p={float(p):g}"
        )
    if out.size:
        require("bernoulli_scalar_cpu_", supported, dtype)
        store(out, source.uniform64(out.size) < p)
    return out


def _bernoulli_each(out: Array, p: Array, source: Generator) -> NDArray[np.bool_]:
    require_float("bernoulli_tensor_cpu_p_", p)
    if not ((p >= 0) & (p <= 1)).all():
        raise RuntimeError(
            "Expected p_in >= 0 && p_in <= 1 to be true, but got false.  (Could this "
            "error message be improved?  If so, please report an enhancement request "
            "to PyTorch.)"
        )
    in_order = np.broadcast_to(p, out.shape).transpose(memory_order(out)).reshape(-1)
    if p.dtype == np.float64:
        return source.uniform64(out.size) < in_order
    return source.uniform32(out.size) < in_order.astype(np.float32)


@at_once
def exponential_(
    out: Array, lambd: float = 1.0, generator: Generator | None = None
) -> Array:
    """Fill with exponential numbers of rate `lambd`."""
    if not lambd > 0.0:
        raise RuntimeError(
            f"exponential_ expects lambda > 0.0, but found lambda={lambd:g}"
        )
    if not out.size:
        return out
    dtype = dtype_of(out)
    if not dtype.is_floating_point:
        raise RuntimeError(_CONTINUOUS.format("Exponential", dtype.cpp_name))
    uniform = (generator or default_generator).uniform64(out.size)
    values = exact.each(math.log1p, -uniform)
    return through_float32(out, (-1.0 / lambd) * values)


@at_once
def geometric_(out: Array, p: float, generator: Generator | None = None) -> Array:
    """Fill with the number of trials up to the first success of probability `p`."""
    if not 0 < p < 1:
        raise RuntimeError(f"geometric_ expects p to be in (0, 1), but got p={p:g}")
    if not out.size:
        return out
    dtype = dtype_of(out)
    require("geometric_cpu", not dtype.is_complex and dtype is not dt.bool_, dtype)
    uniform = (generator or default_generator).uniform64(out.size)
    # 1 - x is exact here: x is a multiple of 2**-53.
    logs = exact.log_one_minus(1.0 - uniform)
    return through_float32(out, np.ceil(logs / math.log1p(-p)))


@at_once
def cauchy_(
    out: Array,
    median: float = 0.0,
    sigma: float = 1.0,
    generator: Generator | None = None,
) -> Array:
    """Fill with Cauchy numbers."""
    if not sigma > 0.0:
        raise RuntimeError(f"cauchy_ expects sigma > 0.0, but found sigma={sigma:g}")
    dtype = dtype_of(out)
    if not dtype.is_floating_point:
        raise RuntimeError(_CONTINUOUS.format("Cauchy", dt.CPP_TYPE[dtype]))
    if not out.size:
        return out
    uniform = (generator or default_generator).uniform64(out.size)
    values = exact.each(math.tan, math.pi * (uniform - 0.5))
    found = exact.fma64(values, sigma, median) if math.isfinite(median) else median
    return through_float32(out, np.full(values.shape, found))


@at_once
def log_normal_(
    out: Array,
    mean: float = 1.0,
    std: float = 2.0,
    generator: Generator | None = None,
) -> Array:
    """Fill with numbers whose logarithm is normal."""
    if not std > 0.0:
        raise RuntimeError(f"log_normal_ expects std > 0.0, but found std={std:g}")
    if not out.size:
        return out
    require_float("log_normal_cpu", out)
    source = generator or default_generator
    return through_float32(out, exact.exp(_normal_serial(source, out.size, mean, std)))


_CONTINUOUS: Final = (
    "{} distribution is a continuous probability distribution. "
    "dtype must be a floating point but you specified {}"
)
