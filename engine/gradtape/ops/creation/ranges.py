"""New tensors of evenly spaced numbers: arange, linspace, logspace, range."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from ..._common.site import user_stacklevel
from ..._common.type_name import type_name
from ..._dispatch.declare import public
from ..._dtypes import DTYPE_OF, bool_, float64, get_default_dtype, int64, parse_dtype
from ..._dtypes import dtype as DType
from ..._modes.grad_mode import mode
from ..._random.rounding import fma32, fma64
from ..._tensor.tensor import Tensor
from .._support.arguments import as_integer, float_argument, float_dtype, is_integer
from .._support.new_tensor import check_out, deliver, module_on, warn_of_count
from .._support.scalar_range import in_range


def _number(value: Any) -> Any:
    return value.item() if isinstance(value, Tensor) else value


@public
def arange(
    start: Any = None,
    end: Any = None,
    step: Any = 1,
    *,
    out: Tensor | None = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """Return the numbers from ``start`` up to, without, ``end``.

    Raises RuntimeError where the step is 0 or leads away from the end.

    >>> import gradtape as torch
    >>> torch.arange(1, 2.5, 0.5)
    tensor([1.0000, 1.5000, 2.0000])
    """
    if end is None:
        start, end = None, start
    if end is None:
        raise TypeError('arange() missing 1 required positional arguments: "end"')
    first, last, by = (
        _number(0 if start is None else start),
        _number(end),
        _number(step),
    )
    check_out(out, dtype, layout, device)
    kind = _sequence_kind((first, last, by), dtype, out, "arange")
    _check_range(first, last, by)
    if not kind.is_floating_point:
        if kind is int64 and not int(by):
            raise ValueError("step must be nonzero")
        if kind is int64:  # PyTorch counts whole numbers here, and only here
            first, last, by = int(first), int(last), int(by)
        count = max(0, math.ceil((last - first) / by))
        first, last, by = int(first), int(last), int(by)
    else:
        count = math.ceil((last - first) / by)
    if kind.name == "bool" or kind.is_complex:
        raise NotImplementedError(
            f"\"arange_cpu\" not implemented for '{kind.cpp_name}'"
        )
    warn_of_count(out, count)
    if count >= 2**59:
        raise RuntimeError(
            f"Storage size calculation overflowed with sizes=[{count}]"
            if count < 2**63
            else "invalid size, possible overflow?"
        )
    array = _spaced(module_on(device), first, by, count, kind)
    return deliver(array, out, requires_grad, row=True, name="arange")


def _sequence_kind(numbers: Any, dtype: Any, out: Any, function: str) -> DType:
    if dtype is not None:
        return parse_dtype(dtype, function)
    if out is not None:
        return DTYPE_OF[out._data.dtype]
    return get_default_dtype() if any(isinstance(n, float) for n in numbers) else int64


def _check_range(start: Any, end: Any, step: Any) -> None:
    if step == 0 or math.isnan(step):
        raise RuntimeError("step must be nonzero")
    if not (math.isfinite(start) and math.isfinite(end)):
        raise RuntimeError(f"unsupported range: {start:g} -> {end:g}")
    if not ((step > 0 and end >= start) or (step < 0 and end <= start)):
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")


def _spaced(xp: Any, start: Any, step: Any, count: int, kind: DType) -> Any:
    """Return ``start + i * step``, rounded where PyTorch's loop rounds.

    It computes the first number of each vector of 32 bytes, then adds to that; numbers
    left over at the end of the loop, which takes two vectors at once, come alone.
    """
    if not kind.is_floating_point:  # unsigned ones wrap
        first, by = (xp.asarray(n).astype(kind.numpy) for n in (start, step))
        return xp.arange(count, dtype=kind.numpy) * by + first
    places = xp.arange(count, dtype="float64")
    if xp is not np or kind.itemsize == 2:
        return mode.run((start + places * step).astype, kind.numpy)
    lanes = 32 // kind.itemsize
    lane = places % lanes
    lane[count // (2 * lanes) * (2 * lanes) :] = 0
    if kind is float64:
        first = fma64(places - lane, float(step), float(start))
        return fma64(lane, float(step), first)
    first = mode.run((start + (places - lane) * step).astype, kind.numpy)
    return (first + lane * step).astype(kind.numpy)


@public
def range(
    start: Any = 0,
    end: Any = None,
    step: Any = 1,
    *,
    out: Tensor | None = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """Return the numbers from ``start`` up to and with ``end``; deprecated."""
    warnings.warn(
        "torch.range is deprecated and will be removed in a future release because its "
        "behavior is inconsistent with Python's range builtin. Instead, use "
        "torch.arange, which produces values in [start, end).",
        UserWarning,
        stacklevel=user_stacklevel(),
    )
    if end is None:
        start, end = 0, start
    first, last, by = _number(start), _number(end), _number(step)
    check_out(out, dtype, layout, device)
    kind = float_dtype(dtype, "range") if out is None else out.dtype
    _check_range(first, last, by)
    count = math.floor((last - first) / by) + 1
    array = _spaced(module_on(device), first, by, count, kind)
    return deliver(array, out, requires_grad, row=True, name="range")


@public
def linspace(
    start: Any,
    end: Any,
    steps: int,
    *,
    out: Tensor | None = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """Return ``steps`` numbers, evenly spaced from ``start`` to ``end``, ends included.

    >>> import gradtape as torch
    >>> torch.linspace(0, 1, 3)
    tensor([0.0000, 0.5000, 1.0000])
    """
    first, last, steps = _ends("linspace", start, end, steps)
    check_out(out, dtype, layout, device)
    kind = _between_kind((first, last), dtype, out, "linspace")
    if kind is bool_:
        raise NotImplementedError("\"linspace_cpu\" not implemented for 'Bool'")
    first, last = in_range(first, kind), in_range(last, kind)
    array = mode.run(between, module_on(device), first, last, steps, kind)
    return deliver(array, out, requires_grad, row=True, name="linspace")


def _ends(name: str, start: Any, end: Any, steps: Any) -> tuple[Any, Any, int]:
    """Return both ends and the count as numbers; raises for several elements."""
    if not is_integer(steps):
        raise TypeError(_forms(name, start, end, steps))
    ranks = {
        word: each.dim()
        for word, each in (("start", start), ("end", end))
        if isinstance(each, Tensor)
    }
    if any(ranks.values()):
        told = " and ".join(f"{w} with {n} dimension(s)" for w, n in ranks.items())
        raise RuntimeError(
            f"{name} only supports 0-dimensional start and end tensors, but got {told}."
        )
    count = as_integer(steps, name, "steps", 3)
    if count < 0:
        raise RuntimeError("number of steps must be non-negative")
    return _number(start), _number(end), count


def _forms(name: str, *given: Any) -> str:
    got = ", ".join("Tensor" if isinstance(g, Tensor) else type_name(g) for g in given)
    base = ", float base = 10.0" if name == "logspace" else ""
    rest = (
        f"int steps{base}, *, Tensor out = None, torch.dtype dtype = None, "
        "torch.layout layout = None, torch.device device = None, bool pin_memory = "
        "False, bool requires_grad = False)\n"
    )
    kinds = ("Tensor", "Tensor"), ("Number", "Tensor"), ("Tensor", "Number")
    return (
        f"{name}() received an invalid combination of arguments - got ({got}), but "
        "expected one of:\n"
        + "".join(
            f" * ({a} start, {b} end, {rest}" for a, b in (*kinds, ("Number", "Number"))
        )
    )


def _between_kind(numbers: Any, dtype: Any, out: Any, function: str) -> DType:
    kind = out.dtype if out is not None else None
    if not any(isinstance(n, complex) for n in numbers):
        return kind or float_dtype(dtype, function)
    inferred = get_default_dtype().to_complex()
    kind = kind or (inferred if dtype is None else float_dtype(dtype, function))
    if not kind.is_complex:
        raise RuntimeError(
            f"torch.{function}(): inferred dtype c10::complex<"
            f"{inferred.to_real().cpp_name.lower()}> can't be safely cast to passed "
            f"dtype {kind.cpp_name}"
        )
    return kind


def between(xp: Any, start: Any, end: Any, steps: int, kind: DType) -> Any:
    """Count from both ends towards the middle, so that both ends are exact."""
    if steps <= 1:
        return xp.full((steps,), start, kind.numpy)
    if not _is_inexact(kind):
        start, end = int(start), int(end)
    work = xp.dtype("float64") if not _is_inexact(kind) else kind.numpy
    if work.itemsize == 2:
        work = xp.dtype("float32")
    scalar: Any = work.type
    step = (scalar(end) - scalar(start)) / scalar(steps - 1)
    ups = xp.arange(steps // 2).astype(work)
    downs = xp.arange(steps - steps // 2 - 1, -1, -1).astype(work)
    if xp is np and work.kind == "f":  # PyTorch rounds product and sum at once
        fused = fma64 if work.itemsize == 8 else fma32
        low = fused(ups, float(step), float(scalar(start)))
        high = fused(downs, -float(step), float(scalar(end)))
    else:
        low, high = scalar(start) + step * ups, scalar(end) - step * downs
    return xp.concatenate([low, high]).astype(kind.numpy)


def _is_inexact(kind: DType) -> bool:
    return kind.is_floating_point or kind.is_complex


@public
def logspace(
    start: Any,
    end: Any,
    steps: int,
    base: float = 10.0,
    *,
    out: Tensor | None = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """Return ``steps`` powers of ``base``, whose exponents are evenly spaced."""
    first, last, steps = _ends("logspace", start, end, steps)
    base = float_argument(base, "logspace", "base", 4)
    check_out(out, dtype, layout, device)
    kind = _between_kind((first, last), dtype, out, "logspace")
    if kind is bool_:
        raise NotImplementedError("\"logspace_cpu\" not implemented for 'Bool'")
    xp = module_on(device)
    work = kind if _is_inexact(kind) else get_default_dtype()
    if not _is_inexact(kind):
        first, last = int(first), int(last)
    powers = xp.power(
        work.numpy.type(base), mode.run(between, xp, first, last, steps, work)
    )
    array = mode.run(powers.astype, kind.numpy)
    return deliver(array, out, requires_grad, row=True, name="logspace")
