"""Comparisons, logic, bits: ops whose results carry no gradient."""

from __future__ import annotations

from typing import Any

from ..._dispatch.declare import Array, Operand, method, op, pointwise
from ..._dispatch.inplace import inplace
from ..._dispatch.operands import broadcast_error
from ..._dtypes import DTYPE_OF, get_default_dtype
from ..._modes.grad_mode import mode
from ..._tensor.tensor import Tensor
from .._support.arguments import check_tensor, check_tensors, float_argument
from .._support.operands import (
    HIDDEN,
    OWN_DTYPE,
    POINTWISE,
    aliases,
    hidden_op,
    in_place_by_operand,
    leaves_out,
    refuses,
)


def _compare_in_place(name: str, ufunc: str) -> None:
    """Install ``name_``, which unlike the comparison itself has a derivative: zero."""

    def kernel(xp: Any, self: Operand, other: Operand) -> Any:
        return getattr(xp, ufunc)(self, other)

    def nothing(F: Any, grad: Any) -> Any:
        return F.zeros_like(grad)

    facts: dict[str, Any] = {
        "name": name,
        "promotion": "compare",
        "pointwise": True,
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
    _compare_in_place(_name, _ufunc)

for _name in ("logical_and", "logical_or", "logical_xor"):
    pointwise(_name, _name, {}, arity=2, promotion="compare", numbers=False)
    inplace(_name)

for _name in ("isnan", "isinf", "isfinite"):
    pointwise(_name, _name, {}, promotion="compare", out=False)
_REFUSED = {"signbit": "c", "logical_not": ""}
_NO_COMPLEX = "{name} is not implemented for complex tensors."
for _name, _ufunc in {"signbit": "signbit", "logical_not": "logical_not"}.items():
    pointwise(
        _name,
        _ufunc,
        {},
        promotion="compare",
        check=refuses(_REFUSED[_name], _NO_COMPLEX, NotImplementedError),
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
def _isclose(
    xp: Any, self: Array, other: Array, rtol: float, atol: float, equal_nan: bool
) -> Any:
    close = self == other
    if equal_nan and self.dtype.kind in "fc":
        close |= xp.isnan(self) & xp.isnan(other)
    if (rtol == 0 and atol == 0) or self.dtype.kind == "b":
        return close
    if other.dtype.kind in "iub":
        other = other.astype(get_default_dtype().numpy)  # in it, integers are compared
    allowed = atol + _size(xp, rtol * other)
    apart = _size(xp, self - other)
    return close | (xp.isfinite(apart) & (apart <= allowed))


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
    try:
        return _isclose(input, other, rtol, atol, equal_nan)
    except ValueError:
        raise broadcast_error(input.shape, other.shape) from None


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
