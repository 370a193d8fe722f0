"""Conjugates and the parts of complex tensors; real tensors pass through unchanged."""

from __future__ import annotations

from collections.abc import Callable
from operator import methodcaller
from typing import Any

import numpy as np

from ..._dispatch.declare import Array, method, public, raw_ops, tensor_ops
from ..._tensor.tensor import Tensor
from .._support.arguments import check_tensor
from .._support.operands import hidden_op
from ..views.reinterpret import view_as_real
from ..views.slices import select


@hidden_op({"self": lambda F, grad: F.conj(grad)}, name="conj")
def _conjugated(xp: Any, self: Array) -> Any:
    """Conjugate a complex tensor."""
    return self.conjugate()


@public
@method()
def conj(input: Tensor) -> Tensor:
    """Return the complex conjugate; a real tensor is returned itself."""
    check_tensor(input, "conj")
    return _conjugated(input) if input._data.dtype.kind == "c" else input


@public
@method()
def resolve_conj(input: Tensor) -> Tensor:
    """Return the tensor itself: conjugates are never lazy here."""
    return input


def _conj_operand(value: Any) -> Any:
    return conj(value) if isinstance(value, Tensor) else value.conjugate()


# Formulas conjugate whatever they meet, numbers too, on the hottest path there is.
# NumPy's method answers a real array with the array itself, in 40 ns.
tensor_ops.conj = _conj_operand
raw_ops(np.empty(0)).conj = methodcaller("conjugate")


@hidden_op({"self": lambda F, grad: grad}, name="real", view="")
def _real_part(xp: Any, self: Array) -> Any:
    """See the real parts."""
    return self.real


@hidden_op({"self": lambda F, grad: grad * 1j}, name="imag", view="")
def _imaginary_part(xp: Any, self: Array) -> Any:
    """See the imaginary parts."""
    return self.imag


@public
def real(input: Tensor) -> Tensor:
    """Return a view of the real parts; a real tensor is returned itself."""
    check_tensor(input, "real")
    if input._data.dtype.kind != "c":
        return input
    return select(view_as_real(input), -1, 0)


@public
def imag(input: Tensor) -> Tensor:
    """Return a view of the imaginary parts.

    Raises RuntimeError for a real tensor.
    """
    check_tensor(input, "imag")
    if input._data.dtype.kind != "c":
        raise RuntimeError(
            "imag is not implemented for tensors with non-complex dtypes."
        )
    return select(view_as_real(input), -1, 1)


def _assigned(part: Callable[[Tensor], Tensor]) -> Callable[[Tensor, Any], None]:
    """Return the function that ``x.real = value`` calls."""

    def assign(self: Tensor, value: Any) -> None:
        part(self).copy_(value)

    return assign


for _name, _part in {"real": real, "imag": imag}.items():
    setattr(Tensor, _name, property(_part, _assigned(_part)))
