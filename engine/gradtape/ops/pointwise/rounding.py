"""Rounding, and the parts that floats consist of."""

from __future__ import annotations

from math import log
from typing import Any

from ... import return_types
from ..._dispatch.declare import OPS, Array, method, op, pointwise
from ..._dispatch.inplace import in_place, inplace
from ..._dtypes import bfloat16, bool_, finfo, int32
from ..._graph.op import Check
from ..._tensor.tensor import Tensor
from .._support.arguments import check_tensor
from .._support.operands import (
    OWN_DTYPE,
    POINTWISE,
    UNDERIVED,
    aliases,
    c_name,
    hidden_op,
    kind_of,
    leaves_out,
    not_implemented,
    underived,
)
from .._support.out_argument import CASTABLE, into
from .._support.reduction import axes_of, finish


def _check_real(name: str) -> Check:
    no_bool = leaves_out("b", f"{name}_vml_cpu")

    def check(given: str, *args: Any) -> None:
        if kind_of(args[0]) == "c":
            if name == "round":
                raise not_implemented("round_vml_cpu", args[0])
            raise NotImplementedError(f"{name} is not supported for complex inputs")
        no_bool(given, *args)

    return check


def _staircase(name: str, ufunc: str) -> Any:
    def general(xp: Any, self: Array) -> Any:
        return (
            xp.positive(self) if self.dtype.kind in "iu" else getattr(xp, ufunc)(self)
        )

    return pointwise(
        name,
        ufunc,
        {"self": lambda F, grad: F.zeros_like(grad)},
        general=general,
        check=_check_real(name),
        out_rule=OWN_DTYPE,
    )


floor = _staircase("floor", "floor")
ceil = _staircase("ceil", "ceil")
trunc = _staircase("trunc", "trunc")


@hidden_op(
    {"self": lambda F, grad: F.zeros_like(grad)},
    check=_check_real("round"),
    out_rule=OWN_DTYPE,
    name="round",
    key="_round",
    **POINTWISE,
)
def _round(xp: Any, self: Array) -> Any:
    return xp.positive(self) if self.dtype.kind in "iu" else xp.rint(self)


@hidden_op(
    {"self": lambda F, grad: F.zeros_like(grad)},
    name="round",
    key="_round_decimals",
    node="RoundBackward1",
    out_rule=OWN_DTYPE,
    check=lambda name, self, decimals: leaves_out(
        "biuc", "round_cpu" if decimals else "round_vml_cpu"
    )(name, self),
    **POINTWISE,
)
def _round_decimals(xp: Any, self: Array, *, decimals: int) -> Any:
    # As PyTorch: scale, round half to even, scale back, in the tensor's own dtype.
    scale = self.dtype.type(10.0 ** abs(decimals))
    if decimals > 0:
        return xp.rint(self * scale) / scale
    return xp.rint(self / scale) * scale


@method(function=True)
def round(
    input: Tensor, *, decimals: int | None = None, out: Tensor | None = None
) -> Tensor:
    """Round half to even, to ``decimals`` digits after the point."""
    if decimals is None:
        return _round(input, out=out)
    return _round_decimals(input, decimals=decimals, out=out)


@method()
def round_(self: Tensor, *, decimals: int | None = None) -> Tensor:
    """In-place version of round()."""
    if decimals is None:
        return _round_in_place(self)
    return _round_decimals_in_place(self, decimals=decimals)


@op(
    {"self": lambda F, grad: grad},
    check=leaves_out("biuc", "frac_cpu"),
    out_rule=OWN_DTYPE,
    **POINTWISE,
)
def frac(xp: Any, self: Array) -> Any:
    """Return what is after the point, with the sign."""
    return self - xp.trunc(self)


@op(
    {"self": lambda F, grad, self, nan, posinf, neginf: grad * F.isfinite(self)},
    out_rule="nan_to_num: dtype of out: {out} should be same as input: {result}",
    recorded="real",
    **POINTWISE,
)
def nan_to_num(
    xp: Any,
    self: Array,
    nan: float | None = None,
    posinf: float | None = None,
    neginf: float | None = None,
) -> Any:
    """Replace NaN by 0 and infinities by the largest numbers, or by what is given."""
    if self.dtype.kind == "V":
        top = finfo(bfloat16).max
        found = self.astype("float32")
        high, low = (
            top if posinf is None else posinf,
            -top if neginf is None else neginf,
        )
        return xp.nan_to_num(found, False, nan or 0.0, high, low).astype(self.dtype)
    if self.dtype.kind not in "fc":
        return self | self if self.dtype.kind == "b" else xp.positive(self)
    return xp.nan_to_num(self, nan=nan or 0.0, posinf=posinf, neginf=neginf)


_NO_MIXING = "heaviside is not yet implemented for tensors with different dtypes."


def _check_heaviside(_name: str, self: Any, values: Any) -> None:
    if self.dtype.is_complex or values.dtype.is_complex:
        raise RuntimeError("heaviside is not yet implemented for complex tensors.")
    if self.dtype is not values.dtype:
        raise RuntimeError(_NO_MIXING)


@op(
    underived("heaviside", "self", "values"),
    node=UNDERIVED,
    check=_check_heaviside,
    out_rule=_NO_MIXING,
    **POINTWISE,
)
def heaviside(xp: Any, self: Array, values: Array) -> Any:
    """Return 0 below zero, 1 above it, and ``values`` at zero; 0 for NaN."""
    return xp.where(self == 0, values, (self > 0).astype(self.dtype))


_round_in_place = in_place(OPS["_round"])
_round_decimals_in_place = in_place(OPS["_round_decimals"])
inplace("floor", "ceil", "trunc", "frac", "nan_to_num", "heaviside")
aliases(fix="trunc")


@op(
    {
        "self": lambda F, grad, self, other: F.where(self == other, 0.0, grad),
        "other": lambda F, grad: F.zeros_like(grad),
    },
    check=leaves_out("iubc", "nextafter_cpu"),
    **POINTWISE,
)
def nextafter(xp: Any, self: Array, other: Array) -> Any:
    """Return the next number that the dtype has, in the direction of ``other``."""
    return xp.nextafter(self, other)


inplace("nextafter")


_LOG_2 = log(2.0)


def _check_exponents(_name: str, self: Any, other: Any) -> None:
    if self.dtype.is_floating_point and other.dtype is bool_:
        raise NotImplementedError("\"ldexp_cpu_exp\" not implemented for 'Bool'")


@op(
    {
        "self": lambda F, grad, other: grad * F.conj(F.exp(other * _LOG_2)),
        "other": lambda F, grad, result: grad * F.conj(result * _LOG_2),
    },
    promotion="float",
    pointwise=True,
    out=True,
    check=_check_exponents,
)
def ldexp(xp: Any, self: Array, other: Array) -> Any:
    """Return ``self * 2 ** other``.

    >>> import gradtape as torch
    >>> torch.ldexp(torch.tensor([0.5, 0.75]), torch.tensor([1, 3]))
    tensor([1., 6.])
    """
    return self * xp.power(self.dtype.type(2), other)


inplace("ldexp")


@hidden_op(
    {
        "self": lambda F, grad, result1: grad[0] / F.exp2(result1),
    },
    name="frexp",
    key="_frexp",
    outputs=2,
    differentiable=(0,),
    output_names=("mantissa", "exponent"),
)
def _frexp(xp: Any, self: Array) -> Any:
    wide = self if self.dtype.kind == "f" else self.astype("float32")
    mantissa, exponent = xp.frexp(wide)
    endless = ~xp.isfinite(wide)
    exponent = xp.where(endless, 0, exponent).astype("int32")
    return xp.asarray(mantissa).astype(self.dtype, copy=False), exponent


@method(function=True)
def frexp(input: Tensor, *, out: Any = None) -> Any:
    """Return (mantissa, exponent) with ``input = mantissa * 2 ** exponent``.

    The mantissa is 0 or between 0.5 and 1 in size. Raises RuntimeError for dtypes
    that hold no fractions.
    """
    check_tensor(input, "frexp")
    if not input.is_floating_point():
        raise RuntimeError("torch.frexp() only supports floating-point dtypes")

    if out is not None:
        _check_out(input, *out)
    return into(
        "frexp", out, (input,), lambda: return_types.frexp(_frexp(input)), CASTABLE
    )


def _check_out(input: Tensor, mantissa: Tensor, exponent: Tensor) -> None:
    if mantissa.dtype is not input.dtype:
        raise RuntimeError(
            f"torch.frexp() expects mantissa to have dtype {c_name(input)} but got "
            f"{c_name(mantissa)}"
        )
    if exponent.dtype is not int32:
        raise RuntimeError(
            "torch.frexp() expects exponent to have int dtype but got "
            f"{c_name(exponent)}"
        )


@hidden_op({}, name="hash_tensor", key="_hash_tensor")
def _hash_tensor(xp: Any, self: Array, dim: Any, keepdim: bool) -> Any:
    kind = "int64" if self.dtype.kind in "iub" else "float64"
    bits = xp.ascontiguousarray(self.astype(kind)).view("uint64").reshape(self.shape)
    axes = axes_of(dim, self.ndim)
    found = xp.bitwise_xor.reduce(bits, axis=axes)
    return finish(xp, found, self.shape, axes, keepdim)


@method(function=True)
def hash_tensor(
    input: Tensor,
    dim: Any = (),
    *,
    keepdim: bool = False,
    mode: int = 0,
    out: Tensor | None = None,
) -> Tensor:
    """Combine the bits of elements, as 64-bit numbers, by exclusive or.

    ``mode`` is 0, the only way there is. Raises RuntimeError for another one.
    """
    if mode:
        raise RuntimeError(f"Unknown hash_tensor mode: {mode}")
    if input.is_complex():
        raise not_implemented("xor_sum_cpu", input)
    if not input.numel() and dim == ():
        raise RuntimeError(
            "hash_tensor: Expected reduction dim to be specified for input.numel() == "
            "0. Specify the reduction dim with the 'dim' argument."
        )
    return into(
        "hash_tensor",
        out,
        (input,),
        lambda: _hash_tensor(input, dim, keepdim),
        "Expected result to be of dtype uint64, but got {out}",
    )
