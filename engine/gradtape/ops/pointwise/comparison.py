"""Comparing two tensors: which is larger, both where, and clamping between bounds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..._common.type_name import type_name
from ..._dispatch.declare import OPS, Array, Operand, method, op, pointwise
from ..._dispatch.inplace import in_place, inplace
from ..._dtypes import DTYPE_OF, get_default_dtype
from ..._graph.op import Check, Derivative
from ..._modes.grad_mode import mode
from ..._tensor.tensor import Tensor
from .._support.arguments import (
    check_tensor,
    check_tensors,
    float_argument,
)
from .._support.operands import (
    HIDDEN,
    OWN_DTYPE,
    POINTWISE,
    aliases,
    check_numbers,
    hidden_op,
    in_place_by_operand,
    kind_of,
    leaves_out,
    not_implemented,
    number,
    refuses,
)
from .._support.signed import renamed


def _compare_in_place(name: str, ufunc: str, check: Check | None) -> None:
    """Install ``name_``, which unlike the comparison itself has a derivative: zero."""

    def kernel(xp: Any, self: Operand, other: Operand) -> Any:
        return getattr(xp, ufunc)(self, other)

    def nothing(F: Any, grad: Any) -> Any:
        return F.zeros_like(grad)

    facts: dict[str, Any] = {
        "name": name,
        "promotion": "compare",
        "pointwise": True,
        "check": check,
        **HIDDEN,
    }
    number, tensor = f"_{name}_number", f"_{name}_tensor"
    op({"self": nothing}, key=number, **facts)(kernel)
    node = f"{name.capitalize()}Backward1"
    op({"self": nothing, "other": nothing}, key=tensor, node=node, **facts)(kernel)
    in_place_by_operand(name, number, tensor)


for _name, _ufunc in {
    "eq": "equal",
    "ne": "not_equal",
    "lt": "less",
    "le": "less_equal",
    "gt": "greater",
    "ge": "greater_equal",
}.items():
    _check = None if _name in ("eq", "ne") else leaves_out("c", f"{_name}_cpu")
    pointwise(_name, _ufunc, {}, arity=2, promotion="compare", check=_check)
    _compare_in_place(_name, _ufunc, _check)

for _name in ("logical_and", "logical_or", "logical_xor"):
    pointwise(_name, _name, {}, arity=2, promotion="compare", numbers=False)
    inplace(_name)

for _name in ("isnan", "isinf", "isfinite"):
    pointwise(_name, _name, {}, promotion="compare", out=False)
_REFUSED = {"signbit": "c", "logical_not": ""}
_NOT_OF_COMPLEX = "{name} is not implemented for complex tensors."
for _name, _ufunc in {"signbit": "signbit", "logical_not": "logical_not"}.items():
    pointwise(
        _name,
        _ufunc,
        {},
        promotion="compare",
        check=refuses(_REFUSED[_name], _NOT_OF_COMPLEX, NotImplementedError),
        out_rule="signbit does not support non-boolean outputs." * (_name == "signbit"),
    )
inplace("logical_not")


# ---- closeness ----


def _size(xp: Any, array: Any) -> Any:
    """Return absolute values; NumPy's own of complex numbers may be a bit too small."""
    if array.dtype.kind == "c":
        return xp.hypot(array.real, array.imag)
    return xp.abs(array)


@hidden_op({}, family="upcast")
def _is_near(xp: Any, self: Array, other: Array, rtol: float, atol: float) -> Any:
    if self.dtype.kind == "b":
        return self == other
    if other.dtype.kind in "iub":
        other = other.astype(get_default_dtype().numpy)  # in it, integers are compared
    allowed = atol + _size(xp, rtol * other)
    apart = _size(xp, self - other)
    return xp.isfinite(apart) & (apart <= allowed)


@method(function=True)
def isclose(
    input: Tensor,
    other: Tensor,
    rtol: float = 1e-05,
    atol: float = 1e-08,
    equal_nan: bool = False,
) -> Tensor:
    """Tell where ``|input - other| <= atol + rtol * |other|``."""
    check_tensor(input, "isclose")
    check_tensor(other, "isclose", "other", 2)
    if input._data.dtype != other._data.dtype:
        a, b = (DTYPE_OF[t._data.dtype].cpp_name for t in (input, other))
        raise RuntimeError(f"{a} did not match {b}")
    rtol = float_argument(rtol, "isclose", "rtol", 3)
    atol = float_argument(atol, "isclose", "atol", 4)
    for name, value in (("rtol", rtol), ("atol", atol)):
        if value < 0:
            raise RuntimeError(
                f"{name} must be greater than or equal to zero, but got {value:g}"
            )
    if type(equal_nan) is not bool:
        kind = type_name(equal_nan)
        raise TypeError(f"isclose(): argument 'equal_nan' must be bool, not {kind}")
    close = input.eq(other)
    if equal_nan and input._data.dtype.kind in "fcV":
        close.bitwise_or_(input.isnan().bitwise_and(other.isnan()))
    if rtol or atol:
        close.bitwise_or_(_is_near(input, other, rtol, atol))
    return close


@method(function=True)
def allclose(
    input: Tensor,
    other: Tensor,
    rtol: float = 1e-05,
    atol: float = 1e-08,
    equal_nan: bool = False,
) -> bool:
    """Tell whether isclose() holds everywhere."""
    if mode.now.watch is not None:
        mode.now.watch.check_read(input, "allclose")
    return bool(isclose(input, other, rtol, atol, equal_nan)._data.all())


@method(function=True)
def equal(input: Tensor, other: Tensor) -> bool:
    """Tell whether two tensors have the same shape and elements."""
    check_tensors("equal", input=input, other=other)
    if mode.now.watch is not None:
        mode.now.watch.check_read(input, "equal")
    a, b = input._data, other._data
    return a.shape == b.shape and bool((a == b).all())


# ---- bits ----


def _bitwise(name: str, ufunc: str, label: str, kinds: str) -> None:
    def kernel(xp: Any, self: Operand, other: Operand) -> Any:
        return getattr(xp, ufunc)(self, other)

    op({}, name=name, check=leaves_out(kinds, label), **POINTWISE)(kernel)
    inplace(name)


for _name in ("and", "or", "xor"):
    _bitwise(f"bitwise_{_name}", f"bitwise_{_name}", f"bitwise_{_name}_cpu", "fc")
_bitwise("bitwise_left_shift", "left_shift", "lshift_cpu", "fcb")
_bitwise("bitwise_right_shift", "right_shift", "rshift_cpu", "fcb")


@op({}, check=leaves_out("fc", "bitwise_not_cpu"), out_rule=OWN_DTYPE, **POINTWISE)
def bitwise_not(xp: Any, self: Array) -> Any:
    """Flip every bit; of a bool, its value."""
    return xp.invert(self)


inplace("bitwise_not")
aliases(greater="gt", greater_equal="ge", less="lt", less_equal="le", not_equal="ne")


_NO_BOUNDS = "torch.clamp: At least one of 'min' or 'max' must not be None"


def _halved(F: Any, grad: Any, self: Any, other: Any, beaten: Any) -> Any:
    """Give nothing to the beaten side, and half to each where both are equal."""
    shared = F.where(self == other, grad / 2, grad)
    return F.where(beaten, 0.0, shared)


_NO_COMPLEX = refuses("c", "{name} not implemented for complex tensors.")


def _extreme(
    name: str, into_self: Derivative, into_other: Derivative, doc: str
) -> Callable[..., Tensor]:
    @op(
        {"self": into_self, "other": into_other},
        name=name,
        check=_NO_COMPLEX,
        **POINTWISE,
    )
    @renamed(name, doc)
    def extreme(xp: Any, self: Array, other: Array) -> Any:
        return getattr(xp, name)(self, other)

    return extreme


maximum = _extreme(
    "maximum",
    lambda F, grad, self, other: _halved(F, grad, self, other, self < other),
    lambda F, grad, self, other: _halved(F, grad, self, other, self > other),
    "Return the larger of two elements; NaN wins.",
)
minimum = _extreme(
    "minimum",
    lambda F, grad, self, other: _halved(F, grad, self, other, self > other),
    lambda F, grad, self, other: _halved(F, grad, self, other, self < other),
    "Return the smaller of two elements; NaN wins.",
)
fmax = _extreme(
    "fmax",
    lambda F, grad, self, other: F.where((self >= other) | F.isnan(other), grad, 0.0),
    lambda F, grad, self, other: F.where((self >= other) | F.isnan(other), 0.0, grad),
    "Return the larger of two elements; NaN loses.",
)
fmin = _extreme(
    "fmin",
    lambda F, grad, self, other: F.where((self <= other) | F.isnan(other), grad, 0.0),
    lambda F, grad, self, other: F.where((self <= other) | F.isnan(other), 0.0, grad),
    "Return the smaller of two elements; NaN loses.",
)


# ---- clamp ----


_NO_CLAMP = "clamp is not supported for complex types"


def _check_clamp(_name: str, self: Any, *bounds: Any) -> None:
    kinds = kind_of(self, *bounds)
    if kinds == "c":
        raise NotImplementedError(_NO_CLAMP)
    if kinds == "b":
        low, high = (*bounds, None)[:2]
        if any(isinstance(each, Tensor) for each in bounds):
            if None in (low, high):
                return  # clamp_min and clamp_max of tensors have bools
            raise not_implemented("clamp_cpu", self)
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


def _clamp_call(min: Any, max: Any) -> tuple[str, Any, Any]:
    """Return the form to call and its bounds; beside a number, 0-d tensors are one."""
    if min is None and max is None:
        raise RuntimeError(_NO_BOUNDS)
    given = [b for b in (min, max) if b is not None]
    tensors = [b for b in given if isinstance(b, Tensor)]
    if tensors and len(tensors) < len(given):
        if not any(b.dim() or b.requires_grad for b in tensors):
            return "_clamp_numbers", number(min), number(max)
        names = ", ".join(type_name(b) for b in given)
        raise TypeError(
            "clamp() received an invalid combination of arguments - got (Tensor, "
            f"{names}), but expected one of:"
        )
    return "_clamp_tensors" if tensors else "_clamp_numbers", min, max


@method(function=True)
def clamp(
    input: Tensor, min: Any = None, max: Any = None, *, out: Tensor | None = None
) -> Tensor:
    """Bring every element between two bounds, numbers or tensors; one may be left out.

    Where the bounds contradict each other, ``max`` wins.
    """
    check_tensor(input, "clamp")
    form, low, high = _clamp_call(min, max)
    return _FORMS[form](input, low, high, out=out)


@method()
def clamp_(self: Tensor, min: Any = None, max: Any = None) -> Tensor:
    """In-place version of clamp()."""
    form, low, high = _clamp_call(min, max)
    return _IN_PLACE[form](self, low, high)


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
