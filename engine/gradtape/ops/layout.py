"""Ops the engine itself relies on: copies, casts and reshaped views."""

from __future__ import annotations

from typing import Any

from .._define import Array, method, op
from .._dtypes import dtype as DType  # noqa: N812 - a class with a lower-case name
from .._tensor import Tensor, wrap_alias


@op({"self": lambda F, grad: grad})
def clone(xp: Any, self: Array) -> Any:
    """Copy the tensor; gradients flow through to the original."""
    return xp.copy(self, order="K")


@op(
    {"self": lambda F, grad, self_dtype: F._to_copy(grad, self_dtype)},
    node="ToCopyBackward0",
    method=False,
    function=False,
)
def _to_copy(xp: Any, self: Array, dtype: DType) -> Any:
    """Cast to another dtype."""
    return self.astype(dtype.numpy)


@op(
    {"self": lambda F, grad, self_shape: F.reshape(grad, self_shape)},
    view="",
    function=False,
)
def view(xp: Any, self: Array, size: tuple[int, ...]) -> Any:
    """Look at the same memory in another shape; the shape must fit the strides."""
    return self.reshape(size)


@method("detach")
def detach(self: Tensor) -> Tensor:
    """Return a tensor over the same memory that no gradient flows through."""
    return wrap_alias(self._data, self)
