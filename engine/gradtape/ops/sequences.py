"""New tensors of evenly spaced numbers: arange, linspace, logspace, range."""

from __future__ import annotations

import math
import warnings
from typing import Any

from .._define import public
from .._dtypes import DTYPE_OF, get_default_dtype, int64, parse_dtype
from .._dtypes import dtype as DType
from .._mode import mode
from .._tensor import Tensor
from ._arguments import float_dtype
from ._place import deliver, module_on


def _number(value: Any) -> Any:
    return value.item() if isinstance(value, Tensor) else value


@public
def arange(
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
    """Return the numbers from ``start`` up to, without, ``end``.

    Raises RuntimeError where the step is 0 or leads away from the end.

    >>> import gradtape as torch
    >>> torch.arange(1, 2.5, 0.5)
    tensor([1.0000, 1.5000, 2.0000])
    """
    if end is None:
        start, end = 0, start
    first, last, by = _number(start), _number(end), _number(step)
    kind = _sequence_kind((first, last, by), dtype, out, "arange")
    _check_range(first, last, by)
    if not kind.is_floating_point:
        first, last, by = int(first), int(last), int(by)
        count = max(0, -(-(last - first) // by))
    else:
        count = math.ceil((last - first) / by)
    if kind.name == "bool" or kind.is_complex:
        raise NotImplementedError(
            f"\"arange_cpu\" not implemented for '{kind.cpp_name}'"
        )
    array = _spaced(module_on(device), first, by, count, kind)
    return deliver(array, out, requires_grad)


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
    if not kind.is_floating_point:
        return xp.arange(count, dtype=kind.numpy) * kind.numpy.type(
            step
        ) + kind.numpy.type(start)
    return mode.run(
        (start + xp.arange(count, dtype="float64") * step).astype, kind.numpy
    )


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
        stacklevel=2,
    )
    if end is None:
        start, end = 0, start
    first, last, by = _number(start), _number(end), _number(step)
    kind = float_dtype(dtype, "range") if out is None else out.dtype
    _check_range(first, last, by)
    count = math.floor((last - first) / by) + 1
    return deliver(
        _spaced(module_on(device), first, by, count, kind), out, requires_grad
    )


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
    if steps < 0:
        raise RuntimeError("number of steps must be non-negative")
    first, last = _number(start), _number(end)
    kind = _between_kind((first, last), dtype, out, "linspace")
    return deliver(
        _between(module_on(device), first, last, steps, kind), out, requires_grad
    )


def _between_kind(numbers: Any, dtype: Any, out: Any, function: str) -> DType:
    if dtype is None and out is None and any(isinstance(n, complex) for n in numbers):
        return get_default_dtype().to_complex()
    return (
        out.dtype if out is not None and dtype is None else float_dtype(dtype, function)
    )


def _between(xp: Any, start: Any, end: Any, steps: int, kind: DType) -> Any:
    """Count from both ends towards the middle, so that both ends are exact."""
    inexact = kind.is_floating_point or kind.is_complex
    work = kind.numpy if inexact and kind.itemsize > 2 else xp.dtype("float32")
    if steps <= 1:
        return xp.full((steps,), start, kind.numpy)
    scalar = work.type
    step = (scalar(end) - scalar(start)) / scalar(steps - 1)
    middle = steps // 2
    ups = xp.arange(middle).astype(work)
    downs = xp.arange(steps - middle - 1, -1, -1).astype(work)
    whole = xp.concatenate([scalar(start) + step * ups, scalar(end) - step * downs])
    return mode.run(whole.astype, kind.numpy)


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
    if steps < 0:
        raise RuntimeError("number of steps must be non-negative")
    first, last = _number(start), _number(end)
    kind = _between_kind((first, last), dtype, out, "logspace")
    xp = module_on(device)
    work = kind if kind.is_floating_point or kind.is_complex else get_default_dtype()
    powers = xp.power(work.numpy.type(base), _between(xp, first, last, steps, work))
    return deliver(mode.run(powers.astype, kind.numpy), out, requires_grad)
