"""The larger or smaller of two, and clamping between bounds."""

from __future__ import annotations

from typing import Any

from ..._common.type_name import type_name
from ..._dispatch.declare import OPS, Array, Operand, method, op
from ..._dispatch.inplace import in_place
from ..._tensor.tensor import Tensor
from .._support.arguments import check_tensor
from .._support.operands import (
    OWN_DTYPE,
    POINTWISE,
    aliases,
    check_numbers,
    hidden_op,
    in_place_by_operand,
    kind_of,
    leaves_out,
    not_implemented,
    refuses,
)

_NO_BOUNDS = "torch.clamp: At least one of 'min' or 'max' must not be None"


def _halved(F: Any, grad: Any, self: Any, other: Any, beaten: Any) -> Any:
    """Give nothing to the beaten side, and half to each where both are equal."""
    shared = F.where(self == other, grad / 2, grad)
    return F.where(beaten, 0.0, shared)


_NO_COMPLEX = refuses("c", "{name} not implemented for complex tensors.")


@op(
    {
        "self": lambda F, grad, self, other: _halved(
            F, grad, self, other, self < other
        ),
        "other": lambda F, grad, self, other: _halved(
            F, grad, self, other, self > other
        ),
    },
    check=_NO_COMPLEX,
    **POINTWISE,
)
def maximum(xp: Any, self: Array, other: Array) -> Any:
    """Return the larger of two elements; NaN wins."""
    return xp.maximum(self, other)


@op(
    {
        "self": lambda F, grad, self, other: _halved(
            F, grad, self, other, self > other
        ),
        "other": lambda F, grad, self, other: _halved(
            F, grad, self, other, self < other
        ),
    },
    check=_NO_COMPLEX,
    **POINTWISE,
)
def minimum(xp: Any, self: Array, other: Array) -> Any:
    """Return the smaller of two elements; NaN wins."""
    return xp.minimum(self, other)


@op(
    {
        "self": lambda F, grad, self, other: F.where(
            (self >= other) | F.isnan(other), grad, 0.0
        ),
        "other": lambda F, grad, self, other: F.where(
            (self >= other) | F.isnan(other), 0.0, grad
        ),
    },
    check=_NO_COMPLEX,
    **POINTWISE,
)
def fmax(xp: Any, self: Array, other: Array) -> Any:
    """Return the larger of two elements; NaN loses."""
    return xp.fmax(self, other)


@op(
    {
        "self": lambda F, grad, self, other: F.where(
            (self <= other) | F.isnan(other), grad, 0.0
        ),
        "other": lambda F, grad, self, other: F.where(
            (self <= other) | F.isnan(other), 0.0, grad
        ),
    },
    check=_NO_COMPLEX,
    **POINTWISE,
)
def fmin(xp: Any, self: Array, other: Array) -> Any:
    """Return the smaller of two elements; NaN loses."""
    return xp.fmin(self, other)


# ---- clamp ----


_NO_CLAMP = "clamp is not supported for complex types"


def _check_clamp(_name: str, self: Any, *bounds: Any) -> None:
    kinds = kind_of(self, *bounds)
    if kinds == "c":
        raise NotImplementedError(_NO_CLAMP)
    if kinds == "b":
        if any(isinstance(each, Tensor) for each in bounds):
            raise not_implemented("clamp_cpu", self)
        low, high = (*bounds, None)[:2]
        one = "" if None not in (low, high) else "_max" if low is None else "_min"
        raise not_implemented(f"clamp{one}_scalar_cpu", self)
    check_numbers(self, *bounds)


def _check_bound(name: str, self: Any, bound: Any) -> None:
    leaves_out("b", f"{name}_scalar_cpu")(name, self, bound)
    check_numbers(self, bound)


def _clamped(xp: Any, self: Any, low: Any, high: Any) -> Any:
    if low is None:
        return xp.minimum(self, high)
    found = xp.maximum(self, low)
    if high is None:
        return found
    if found.ndim and not getattr(high, "ndim", 0):
        return xp.minimum(found, high, out=found)  # a number: no new memory
    return xp.minimum(found, high)


def _between(self: Any, low: Any, high: Any) -> Any:
    if low is None:
        return self <= high
    return self >= low if high is None else (self >= low) & (self <= high)


@hidden_op(
    {
        "self": lambda F, grad, self, min, max: F.where(
            _between(self, min, max), grad, 0.0
        )
    },
    name="clamp",
    check=_check_clamp,
    key="_clamp_numbers",
    out_rule=OWN_DTYPE,
    node="ClampBackward1",
    **POINTWISE,
)
def _clamp_numbers(
    xp: Any, self: Array, min: Operand | None = None, max: Operand | None = None
) -> Any:
    return _clamped(xp, self, min, max)


def _clamp_bounds(F: Any, grad: Any, self: Any, min: Any, max: Any) -> Any:
    """Return the gradients of both bounds: of each where it was the result."""
    low = high = None
    if min is not None:
        low = F.where(
            self < min if max is None else (self < min) & (min < max), grad, 0.0
        )
    if max is not None:
        high = F.where(
            self > max if min is None else (self > max) | (max < min), grad, 0.0
        )
    return low, high


@hidden_op(
    {
        "self": lambda F, grad, self, min, max: F.where(
            _between(self, min, max), grad, 0.0
        ),
        ("min", "max"): _clamp_bounds,
    },
    name="clamp",
    check=_check_clamp,
    key="_clamp_tensors",
    **POINTWISE,
)
def _clamp_tensors(
    xp: Any, self: Array, min: Array | None = None, max: Array | None = None
) -> Any:
    return _clamped(xp, self, min, max)


@hidden_op(
    {"self": lambda F, grad, self, min: F.where(self >= min, grad, 0.0)},
    name="clamp_min",
    key="_clamp_min_number",
    check=_check_bound,
    out_rule=OWN_DTYPE,
    **POINTWISE,
)
def _clamp_min_number(xp: Any, self: Array, min: Operand) -> Any:
    if self.dtype.kind == "c":
        raise NotImplementedError(_NO_CLAMP)
    return xp.maximum(self, min)


@hidden_op(
    {
        "self": lambda F, grad, self, min: F.where(self >= min, grad, 0.0),
        "min": lambda F, grad, self, min: F.where(self < min, grad, 0.0),
    },
    name="clamp_min",
    key="_clamp_min_tensor",
    node="ClampMinBackward1",
    check=leaves_out("c", "maximum_cpu"),
    **POINTWISE,
)
def _clamp_min_tensor(xp: Any, self: Array, min: Array) -> Any:
    return xp.maximum(self, min)


@hidden_op(
    {"self": lambda F, grad, self, max: F.where(self <= max, grad, 0.0)},
    name="clamp_max",
    key="_clamp_max_number",
    check=_check_bound,
    out_rule=OWN_DTYPE,
    **POINTWISE,
)
def _clamp_max_number(xp: Any, self: Array, max: Operand) -> Any:
    if self.dtype.kind == "c":
        raise NotImplementedError(_NO_CLAMP)
    return xp.minimum(self, max)


@hidden_op(
    {
        "self": lambda F, grad, self, max: F.where(self <= max, grad, 0.0),
        "max": lambda F, grad, self, max: F.where(self > max, grad, 0.0),
    },
    name="clamp_max",
    key="_clamp_max_tensor",
    node="ClampMaxBackward1",
    check=leaves_out("c", "minimum_cpu"),
    **POINTWISE,
)
def _clamp_max_tensor(xp: Any, self: Array, max: Array) -> Any:
    return xp.minimum(self, max)


def _clamp_form(min: Any, max: Any) -> str:
    if min is None and max is None:
        raise RuntimeError(_NO_BOUNDS)
    given = [b for b in (min, max) if b is not None]
    tensors = [b for b in given if isinstance(b, Tensor)]
    if tensors and len(tensors) < len(given):
        names = ", ".join(type_name(b) for b in given)
        raise TypeError(
            "clamp() received an invalid combination of arguments - got (Tensor, "
            f"{names}), but expected one of:"
        )
    return "_clamp_tensors" if tensors else "_clamp_numbers"


@method(function=True)
def clamp(
    input: Tensor, min: Any = None, max: Any = None, *, out: Tensor | None = None
) -> Tensor:
    """Bring every element between two bounds, numbers or tensors; one may be left out.

    Where the bounds contradict each other, ``max`` wins.
    """
    check_tensor(input, "clamp")
    return _FORMS[_clamp_form(min, max)](input, min, max, out=out)


@method()
def clamp_(self: Tensor, min: Any = None, max: Any = None) -> Tensor:
    """In-place version of clamp()."""
    return _IN_PLACE[_clamp_form(min, max)](self, min, max)


@method(function=True)
def clamp_min(input: Tensor, min: Any, *, out: Tensor | None = None) -> Tensor:
    """Raise every element to at least ``min``."""
    form = _clamp_min_tensor if isinstance(min, Tensor) else _clamp_min_number
    return form(input, min, out=out)


@method(function=True)
def clamp_max(input: Tensor, max: Any, *, out: Tensor | None = None) -> Tensor:
    """Lower every element to at most ``max``."""
    form = _clamp_max_tensor if isinstance(max, Tensor) else _clamp_max_number
    return form(input, max, out=out)


_FORMS = {"_clamp_numbers": _clamp_numbers, "_clamp_tensors": _clamp_tensors}
_IN_PLACE = {name: in_place(OPS[name]) for name in _FORMS}
for _name in ("clamp_min", "clamp_max"):
    in_place_by_operand(_name, f"_{_name}_number", f"_{_name}_tensor")
aliases(clip="clamp")
