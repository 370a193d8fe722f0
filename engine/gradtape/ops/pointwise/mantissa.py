"""Powers of two: frexp and ldexp; and the bits of numbers, combined: hash_tensor."""

from __future__ import annotations

from math import log
from typing import Any

from ... import return_types
from ..._dispatch.declare import Array, method, op
from ..._dispatch.inplace import inplace
from ..._dtypes import bool_, int32
from ..._tensor.tensor import Tensor
from .._support.arguments import check_tensor
from .._support.operands import c_name, hidden_op, not_implemented
from .._support.out_argument import CASTABLE, into
from .._support.reduction import axes_of, finish

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
