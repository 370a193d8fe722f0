"""Ops of three operands: choosing, interpolating, multiplying and adding."""

from __future__ import annotations

from typing import Any

from ..._common.type_name import type_name
from ..._dispatch.declare import ABSENT, OPS, Array, Operand, method, op, public
from ..._dispatch.inplace import in_place, inplace
from ..._dtypes import DTYPE_OF
from ..._modes.grad_mode import mode
from ..._tensor.tensor import Tensor
from .._kernels.bitwise_select import choose
from .._support.arguments import check_tensor
from .._support.operands import (
    OWN_DTYPE,
    POINTWISE,
    check_numbers,
    hidden_op,
    kind_of,
    leaves_out,
    not_implemented,
    number,
    same_dtype,
)
from .._support.scalar_range import as_element, in_range

# ---- where ----


def _check_condition(_name: str, condition: Any, *operands: Any) -> None:
    if condition._data.dtype.kind != "b" and condition._data.dtype.name != "uint8":
        raise RuntimeError(
            "where expected condition to be a boolean tensor, but got a tensor with "
            f"dtype {DTYPE_OF[condition._data.dtype].cpp_name}"
        )
    check_numbers(*operands, convert=as_element)


@hidden_op(
    {
        "self": lambda F, grad, condition: F.where(condition, grad, 0.0),
        "other": lambda F, grad, condition: F.where(condition, 0.0, grad),
    },
    name="where",
    promotion="rest",
    pointwise=True,
    check=_check_condition,
    out_rule="Expected out type to be {result} but got {out}",
    out=True,
)
def _where(xp: Any, condition: Array, self: Operand, other: Operand) -> Any:
    return choose(xp, condition, self, other)


_WHERE_FORMS = """\
where() received an invalid combination of arguments - got (Tensor, {}), but expected \
one of:
 * (Tensor condition)
 * (Tensor condition, Tensor input, Tensor other, *, Tensor out = None)
 * (Tensor condition, Number self, Tensor other)
 * (Tensor condition, Tensor input, Number other)
 * (Tensor condition, Number self, Number other)
"""


@public
def where(
    condition: Tensor, input: Any = ABSENT, other: Any = ABSENT, *, out: Any = None
) -> Any:
    """Take elements from ``input`` where ``condition`` holds, from ``other`` elsewhere.

    With the condition alone, return the positions where it holds, one tensor per
    dimension.
    """
    check_tensor(condition, "where", "condition")
    if input is ABSENT and other is ABSENT:
        if mode.now.watch is not None:
            mode.now.watch.check_read(condition, "where")
        return condition.nonzero(as_tuple=True)
    if input is ABSENT or other is ABSENT:
        given = f"other={type_name(other)}" if input is ABSENT else type_name(input)
        raise TypeError(_WHERE_FORMS.format(given))
    return _where(condition, input, other, out=out)


@method("where")
def _where_method(self: Any, condition: Tensor, other: Any) -> Tensor:
    """Keep elements where ``condition`` holds; take ``other`` elsewhere."""
    return _where(condition, self, other)


# ---- lerp ----


def _check_lerp(_name: str, self: Any, end: Any, weight: Any) -> None:
    same_dtype("lerp", self, end=end)
    if isinstance(weight, Tensor) and weight.dim():  # without, it counts as a number
        same_dtype("lerp", self, weight=weight)
    by_tensor = isinstance(weight, Tensor)
    if kind_of(*((self, end, weight) if by_tensor else (self,))) in "biu":
        kind = "tensor" if by_tensor else "scalar"
        raise not_implemented(f"lerp_kernel_{kind}", self)


def _interpolate(xp: Any, self: Any, end: Any, weight: Any) -> Any:
    # Two forms, so that both ends are met exactly.
    number = isinstance(weight, float | int | complex)
    if number and abs(weight) < 0.5:
        return self + weight * (end - self)
    far = end - (end - self) * (1 - weight)
    if number:
        return far
    return xp.where(xp.abs(weight) < 0.5, self + weight * (end - self), far)


@hidden_op(
    {
        "self": lambda F, grad, weight: grad * (1 - weight.conjugate()),
        "end": lambda F, grad, weight: grad * weight.conjugate(),
    },
    name="lerp",
    key="_lerp_number",
    check=_check_lerp,
    **POINTWISE,
)
def _lerp_number(xp: Any, self: Array, end: Array, weight: Any) -> Any:
    weight = in_range(weight, DTYPE_OF[self.dtype])
    return _interpolate(xp, self, end, weight)


@hidden_op(
    {
        "self": lambda F, grad, weight: grad * F.conj(1 - weight),
        "end": lambda F, grad, weight: grad * F.conj(weight),
        "weight": lambda F, grad, self, end: grad * F.conj(end - self),
    },
    name="lerp",
    key="_lerp_tensor",
    node="LerpBackward1",
    check=_check_lerp,
    out_rule=OWN_DTYPE,
    **POINTWISE,
)
def _lerp_tensor(xp: Any, self: Array, end: Array, weight: Array) -> Any:
    return _interpolate(xp, self, end, weight)


@method(function=True)
def lerp(input: Tensor, end: Tensor, weight: Any, *, out: Any = None) -> Tensor:
    """Return ``input + weight * (end - input)``."""
    form = _lerp_tensor if isinstance(weight, Tensor) else _lerp_number
    return form(input, end, weight, out=out)


@method()
def lerp_(self: Tensor, end: Tensor, weight: Any) -> Tensor:
    """In-place version of lerp()."""
    key = "_lerp_tensor" if isinstance(weight, Tensor) else "_lerp_number"
    return _IN_PLACE[key](self, end, weight)


_IN_PLACE = {key: in_place(OPS[key]) for key in ("_lerp_tensor", "_lerp_number")}

# ---- addcmul, addcdiv ----


def _valued(xp: Any, value: Any, like: Any) -> Any:
    return like.dtype.type(in_range(number(value), DTYPE_OF[like.dtype]))


@op(
    {
        "self": lambda F, grad: grad,
        "tensor1": lambda F, grad, tensor2, value: grad * F.conj(tensor2 * value),
        "tensor2": lambda F, grad, tensor1, value: grad * F.conj(tensor1 * value),
    },
    check=leaves_out("b", "addcmul_cpu_out", 3),
    **POINTWISE,
)
def addcmul(
    xp: Any, self: Array, tensor1: Array, tensor2: Array, *, value: Any = 1
) -> Any:
    """Add ``value`` times the product of two tensors."""
    product = tensor1 * tensor2
    return self + (product if value == 1 else _valued(xp, value, self) * product)


_INTEGERS_DIVIDED = (
    "Integer division with addcdiv is no longer supported, and in a future  release "
    "addcdiv will perform a true division of tensor1 and tensor2. The historic addcdiv "
    "behavior can be implemented as (input + value * torch.trunc(tensor1 / "
    "tensor2)).to(input.dtype) for integer inputs and as (input + value * tensor1 / "
    "tensor2) for float inputs. The future addcdiv behavior is just the latter "
    "implementation: (input + value * tensor1 / tensor2), for all dtypes."
)


def _check_quotient(_n: str, _self: Any, tensor1: Any, tensor2: Any, _v: Any) -> None:
    if kind_of(tensor1) in "biu" and kind_of(tensor2) in "biu":
        raise RuntimeError(_INTEGERS_DIVIDED)


@op(
    {
        "self": lambda F, grad: grad,
        "tensor1": lambda F, grad, tensor2, value: grad * F.conj(value / tensor2),
        "tensor2": lambda F, grad, tensor1, tensor2, value: (
            -grad * F.conj(value * tensor1 / (tensor2 * tensor2))
        ),
    },
    check=_check_quotient,
    **POINTWISE,
)
def addcdiv(
    xp: Any, self: Array, tensor1: Array, tensor2: Array, *, value: Any = 1
) -> Any:
    """Add ``value`` times the quotient of two tensors."""
    quotient = tensor1 / tensor2
    return self + (quotient if value == 1 else _valued(xp, value, self) * quotient)


inplace("addcmul", "addcdiv")
