"""Sums, differences, products, quotients and signs."""

from __future__ import annotations

from typing import Any

from ..._dispatch.declare import OPS, Array, Operand, method, op, pointwise, public
from ..._dispatch.inplace import inplace
from ..._dispatch.pointwise import Option
from ..._sparse.array import SparseArray
from ..._tensor.tensor import Tensor
from .._support.arguments import check_tensor
from .._support.operands import (
    HIDDEN,
    OWN_DTYPE,
    POINTWISE,
    aliases,
    computed_in,
    hidden_op,
    is_complex,
    kind_of,
    leaves_out,
    number,
    refuses,
)
from .._support.reuse_gradient import times
from .._support.scalar_range import in_range

NO_BOOL_MINUS = (
    "Subtraction, the `-` operator, with two bool tensors is not supported. Use the "
    "`^` or `logical_xor()` operator instead."
)
_NO_MIXED_MINUS = (
    "Subtraction, the `-` operator, with a bool tensor is not supported. If you are "
    "trying to invert a mask, use the `~` or `logical_not()` operator instead."
)
_NO_BOOL_NEGATION = (
    "Negation, the `-` operator, on a bool tensor is not supported. If you are trying "
    "to invert a mask, use the `~` or `logical_not()` operator instead."
)
_NO_COMPLEX_SIGN = (
    "Unlike NumPy, torch.sign is not intended to support complex numbers. Please use "
    "torch.sgn instead."
)
_ALPHA = "For {kind} input tensors, argument alpha must not be a {number} number."

# ---- add, sub ----


def _check_alpha(_name: str, self: Any, other: Any, alpha: Any = 1) -> None:
    kind = kind_of(self, other)
    if isinstance(alpha, bool):
        if kind != "b":
            raise RuntimeError("Boolean alpha only supported for Boolean results.")
    elif isinstance(alpha, float) and kind in "biu":
        raise RuntimeError(_ALPHA.format(kind="integral", number="floating point"))
    elif isinstance(alpha, complex) and kind != "c":
        raise RuntimeError(_ALPHA.format(kind="non-complex", number="complex"))
    in_range(number(alpha), computed_in(self, other))


def _check_minus(name: str, self: Any, other: Any, alpha: Any = 1) -> None:
    kinds = kind_of(self) + kind_of(other)
    if kinds == "bb":
        raise RuntimeError(NO_BOOL_MINUS)
    if "b" in kinds:
        raise RuntimeError(_NO_MIXED_MINUS)
    _check_alpha(name, self, other, alpha)


def _scaled(grad: Any, alpha: Any) -> Any:
    return grad if alpha == 1 else grad * alpha.conjugate()


def _times(xp: Any, other: Any, alpha: Any) -> Any:
    return (
        other if alpha == 1 else other * xp.asarray(number(alpha)).astype(other.dtype)
    )


@hidden_op(
    {
        "self": lambda F, grad: grad,
        "other": lambda F, grad, alpha: _scaled(grad, alpha),
    },
    name="add",
    key="add_scaled",
    promotion="common",
    pointwise=True,
    check=_check_alpha,
    out=True,
)
def _add_scaled(xp: Any, self: Operand, other: Operand, *, alpha: Any = 1) -> Any:
    return xp.add(self, _times(xp, other, alpha))


@hidden_op(
    {
        "self": lambda F, grad: grad,
        "other": lambda F, grad, alpha: -_scaled(grad, alpha),
    },
    name="sub",
    key="sub_scaled",
    promotion="common",
    pointwise=True,
    check=_check_minus,
    out=True,
)
def _sub_scaled(xp: Any, self: Operand, other: Operand, *, alpha: Any = 1) -> Any:
    return xp.subtract(self, _times(xp, other, alpha))


add = pointwise(
    "add",
    "add",
    {"self": lambda F, grad: grad, "other": lambda F, grad: grad},
    arity=2,
    option=Option("alpha", 1, _add_scaled),
)
sub = pointwise(
    "sub",
    "subtract",
    {"self": lambda F, grad: grad, "other": lambda F, grad: -grad},
    arity=2,
    check=_check_minus,
    option=Option("alpha", 1, _sub_scaled),
)


@hidden_op(
    {
        "self": lambda F, grad, alpha: -_scaled(grad, alpha),
        "other": lambda F, grad: grad,
    },
    name="rsub",
    key="_rsub_tensor",
    promotion="common",
    pointwise=True,
    check=_check_minus,
)
def _rsub_tensor(xp: Any, self: Array, other: Array, alpha: Any = 1) -> Any:
    return other - _times(xp, self, alpha)


_rsub_plain = pointwise(
    "rsub",
    lambda xp, self, other: other - self,
    {"self": lambda F, grad: -grad},
    arity=2,
    node="RsubBackward1",
    key="_rsub_plain",
    check=_check_minus,
    out=False,
    **HIDDEN,
)


@hidden_op(
    {"self": lambda F, grad, alpha: -_scaled(grad, alpha)},
    name="rsub",
    key="_rsub_number",
    node="RsubBackward1",
    promotion="common",
    pointwise=True,
    check=_check_minus,
)
def _rsub_number(xp: Any, self: Array, other: Operand, alpha: Any = 1) -> Any:
    return other - _times(xp, self, alpha)


@public
def rsub(input: Tensor, other: Any, *, alpha: Any = 1) -> Tensor:
    """Return ``other - alpha * input``."""
    if isinstance(other, Tensor):
        return _rsub_tensor(input, other, alpha)
    if alpha == 1:
        return _rsub_plain(input, other)
    return _rsub_number(input, other, alpha)


for _key in (
    "add",
    "sub",
    "_rsub_plain",
):  # what a node of the hot path need not keep itself
    OPS[_key].node_type._saved_alpha = 1

# ---- mul, signs ----

mul = pointwise(
    "mul",
    "multiply",
    {
        "self": lambda F, grad, other: (
            times(grad, F.conj(other)) if F.owns else grad * F.conj(other)
        ),
        "other": lambda F, grad, self: (
            times(grad, F.conj(self)) if F.owns else grad * F.conj(self)
        ),
    },
    arity=2,
)


neg = pointwise(
    "neg",
    "negative",
    {"self": lambda F, grad: -grad},
    check=refuses("b", _NO_BOOL_NEGATION),
    out_rule=OWN_DTYPE,
)
abs = pointwise(
    "abs",
    "absolute",
    {"self": lambda F, grad, self: grad * F.sgn(self)},
    check=leaves_out("b", "abs_cpu"),
    out_rule=OWN_DTYPE,
)
_NO_BOOL_PLUS = "The `+` operator, on a bool tensor is not supported."


@public
@method()
def positive(input: Tensor) -> Tensor:
    """Return the tensor itself."""
    if check_tensor(input, "positive")._data.dtype.kind == "b":
        raise RuntimeError(_NO_BOOL_PLUS)
    return input


def sign_of(xp: Any, array: Any) -> Any:
    """Return the sign of real elements; PyTorch gives NaN the sign 0."""
    if array.dtype.kind == "b":
        return array | array
    found = xp.asarray(xp.sign(array))
    if array.dtype.kind == "f":
        xp.copyto(found, 0, where=xp.isnan(found))
    return found


@op(
    {"self": lambda F, grad: F.zeros_like(grad)},
    check=refuses("c", _NO_COMPLEX_SIGN, NotImplementedError),
    out_rule=OWN_DTYPE,
    **POINTWISE,
)
def sign(xp: Any, self: Array) -> Any:
    """Return -1, 0 or 1 by the sign of each element."""
    return sign_of(xp, self)


def _sgn_backward(F: Any, grad: Any, self: Any, result: Any) -> Any:
    if not is_complex(result):
        return F.zeros_like(grad)
    size = F.abs(self)
    across = (grad - result * F.real(F.conj(result) * grad)) / size
    return F.where(size == 0, F.zeros_like(grad), across)


@op(
    {"self": lambda F, grad, self, result: _sgn_backward(F, grad, self, result)},
    out_rule=OWN_DTYPE,
    **POINTWISE,
)
def sgn(xp: Any, self: Array) -> Any:
    """Return the sign, or the direction of a complex number."""
    if type(self) is SparseArray:  # in a derivative
        once = self.coalesce()
        return once.with_values(_direction(xp, once.values))
    return _direction(xp, self)


def _direction(xp: Any, self: Any) -> Any:
    if self.dtype.kind != "c":
        return sign_of(xp, self)
    size = xp.abs(self)
    return xp.where(size == 0, 0, self / xp.where(size == 0, 1, size))


inplace("add_scaled", "sub_scaled", "mul", "neg", "abs", "sign", "sgn")
aliases(absolute="abs", multiply="mul", negative="neg", subtract="sub")
