"""softmax and log_softmax along one dimension."""

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np

from ..._autocast.autocast import autocasts
from ..._backend.compiled import kernel_for
from ..._dispatch.declare import FUNCTIONS, Array, method, op, public
from ..._dtypes import bool_
from ..._dtypes import dtype as DType
from ..._tensor.tensor import Tensor
from .._kernels.blas_sums import LONG, inner_sums
from .._kernels.row_max import highest
from .._kernels.upcast import rounded_once
from .._support.arguments import as_integer, check_tensor, wrap_dim
from .._support.matrix_product import scalar_name
from .._support.operands import hidden_op, not_implemented
from .._support.out_argument import SAME_DTYPE, with_out
from .._support.reduction import numpy_names
from .._support.special import widened


def _shifted(
    xp: Any, self: Any, dim: int, name: str, empty: float = -inf
) -> tuple[Any, int]:
    """Subtract the largest value along the dimension, so that exp stays finite.

    Where that is -inf, subtract ``empty``.
    """
    axis = wrap_dim(dim, self.ndim)
    if not self.size:
        return xp.empty(self.shape, self.dtype), axis
    if self.dtype.kind in "iubc":
        last = axis >= self.ndim - 1
        kernel = f"{name}_lastdim_kernel_impl" if last else f"{name}_kernel_impl"
        raise NotImplementedError(
            f"\"{kernel}\" not implemented for '{scalar_name(self)}'"
        )
    largest = highest(xp, self, axis) if self.ndim else self
    if empty != -inf:
        largest = xp.where(largest == -inf, self.dtype.type(empty), largest)
    return xp.subtract(self, largest, xp.empty(self.shape, self.dtype)), axis


_MILD = 40.0
"""Magnitudes up to which exp, and a sum over it, are far from any limit of float32."""

_MANY = 1 << 12
"""Elements from which on it pays to look at all magnitudes beforehand."""


def _exponentials(
    xp: Any, self: Any, dim: int, name: str, empty: float = -inf
) -> tuple[Any, int]:
    """Return the exponential of each element, scaled so that it stays finite.

    What is mild all over needs no scaling, which is half of the time of a softmax: of
    2,048 rows of 64 float32 the largest elements and their subtraction take 120 µs,
    the two looks 13.
    """
    plain = xp is np and self.size >= _MANY and self.dtype.char in "fd"
    if plain and self.max() < _MILD and self.min() > -_MILD:  # nor is any NaN
        return np.exp(self, np.empty(self.shape, self.dtype)), wrap_dim(dim, self.ndim)
    found, axis = _shifted(xp, self, dim, name, empty)
    if found.size:  # an empty result may be of whole numbers
        xp.exp(found, found)
    return found, axis


def _total(xp: Any, array: Any, axis: int) -> Any:
    if not array.ndim:
        return array
    if axis == array.ndim - 1:
        return inner_sums(xp, array)[..., None]
    return array.sum(axis=axis, keepdims=True)


@hidden_op(
    {"self": lambda F, grad, result, dim: F._softmax_backward_data(grad, result, dim)},
    name="softmax",
    key="_softmax",
)
@rounded_once
def _softmax(xp: Any, self: Array, dim: int) -> Any:
    found, axis = _exponentials(xp, self, dim, "softmax")
    if not found.size:
        return found
    return xp.divide(found, _total(xp, found, axis), found)


@op(
    {"self": lambda F, grad, result, dim: F._softmax_backward_data(grad, result, dim)},
    method=False,
)
@rounded_once
def _safe_softmax(xp: Any, self: Array, dim: int, dtype: Any = None) -> Any:
    """Return softmax, where a row of nothing but -inf becomes zeros."""
    del dtype
    found, axis = _exponentials(xp, self, dim, "softmax", empty=0.0)
    total = _total(xp, found, axis)
    return xp.divide(found, xp.where(total == 0, 1, total), found)


@hidden_op(
    {
        "self": lambda F, grad, result, mask, dim: F._masked_fill_value(
            F._softmax_backward_data(grad, result, dim), mask, 0
        )
    },
    node="MaskedSoftmaxBackward0",
)
@rounded_once
def _softmax_where(xp: Any, self: Array, mask: Array, dim: int) -> Any:
    """Return softmax of the elements that ``mask`` is not true of, and zeros."""
    seen = xp.where(mask, self.dtype.type(-inf), self)
    found, axis = _shifted(xp, seen, dim, "masked_softmax")
    xp.exp(found, found)
    return xp.divide(found, _total(xp, found, axis), found)


@hidden_op(
    {
        "grad_output": lambda F, grad, output, dim: F._softmax_backward_data(
            grad, output, dim
        ),
        "output": lambda F, grad, grad_output, output, dim: (
            grad * grad_output
            - F.sum(grad * output, dim, True) * grad_output
            - F.sum(grad_output * output, dim, True) * grad
        ),
    },
    node="SoftmaxBackwardDataBackward0",
)
@rounded_once
def _softmax_backward_data(xp: Any, grad_output: Array, output: Array, dim: int) -> Any:
    """Return ``(grad - sum(grad * output)) * output``."""
    found, axis = xp.empty(output.shape, output.dtype), wrap_dim(dim, output.ndim)
    compiled = kernel_for("rows.softmax_back", found, grad_output, output)
    if compiled and axis == output.ndim - 1 and output.shape[-1] <= LONG:
        arrays = (found, grad_output, output)
        compiled(*[each.reshape(-1, output.shape[-1]) for each in arrays])
        return found
    xp.multiply(grad_output, output, found)
    total = _total(xp, found, axis)
    xp.subtract(grad_output, total, found)
    return xp.multiply(found, output, found)


@hidden_op(
    {
        "self": lambda F, grad, result, dim: F._log_softmax_backward_data(
            grad, result, dim
        )
    },
    name="log_softmax",
    key="_log_softmax",
)
def _log_softmax(xp: Any, self: Array, dim: int) -> Any:
    wide_self = self if self.dtype.kind in "iu" else widened(self)
    found, axis = _shifted(xp, wide_self, dim, "log_softmax")
    if found.size:
        total, wide = _total(xp, xp.exp(found), axis), found.dtype
        if axis == self.ndim - 1:  # where PyTorch keeps both in the elements' type
            total = total.astype(self.dtype, copy=False).astype(wide, copy=False)
            logarithm = xp.log(total).astype(self.dtype, copy=False)
        else:
            logarithm = xp.log(total)
        xp.subtract(found, logarithm.astype(wide, copy=False), found)
    return found.astype(self.dtype, copy=False)


@hidden_op(
    {
        "grad_output": lambda F, grad, output, dim: (
            grad - F.sum(grad * F.exp(output), dim, True)
        ),
        "output": lambda F, grad, grad_output, output, dim: (
            -F.sum(grad_output, dim, True) * F.exp(output) * grad
        ),
    },
    node="LogSoftmaxBackwardDataBackward0",
)
@rounded_once
def _log_softmax_backward_data(
    xp: Any, grad_output: Array, output: Array, dim: int
) -> Any:
    """Return ``grad - exp(output) * sum(grad)``."""
    found = xp.exp(output, xp.empty(output.shape, output.dtype))
    found *= _total(xp, grad_output, wrap_dim(dim, found.ndim))
    return xp.subtract(grad_output, found, found)


def _cast(name: str, input: Any, dim: Any, dtype: DType | None) -> Tensor:
    tensor = check_tensor(input, name)
    if dim is not None:
        as_integer(dim, name, "dim", 2)
    else:
        raise TypeError(
            f"{name}() received an invalid combination of arguments - dim must be int"
        )
    wrap_dim(dim, tensor.dim())
    return tensor if dtype is None else tensor.to(dtype)


@method("softmax", function=True)
@numpy_names
@autocasts("softmax")
@with_out(SAME_DTYPE)
def softmax(input: Tensor, dim: int, dtype: DType | None = None) -> Tensor:
    """Return values in (0, 1) that sum to 1 along a dimension.

    >>> import gradtape as torch
    >>> torch.softmax(torch.zeros(2), 0)
    tensor([0.5000, 0.5000])
    """
    return _softmax(_cast("softmax", input, dim, dtype), dim)


_MASK_SHAPE = "For mask_type == {} mask shape should {}"


@public
def _masked_softmax(
    input: Tensor, mask: Tensor, dim: int | None = None, mask_type: int | None = None
) -> Tensor:
    """Return softmax of the elements that ``mask`` is not true of, and zeros.

    The mask is of the input's shape; for one of shape (B, H, L, L) also of (L, L) with
    a ``mask_type`` of 0, or of (B, L) with 1. Raises RuntimeError for others.

    >>> import gradtape as torch
    >>> torch._masked_softmax(torch.zeros(3), torch.tensor([True, False, False]))
    tensor([0.0000, 0.5000, 0.5000])
    """
    if mask.dtype is not bool_:
        raise RuntimeError("Mask should be a boolean tensor")
    if not input.dtype.is_floating_point:
        raise not_implemented("masked_softmax", input)
    axis = wrap_dim(-1 if dim is None else dim, input.dim())
    shape, side = tuple(input.shape), tuple(mask.shape)
    if len(side) == 2 and len(shape) == 4 and mask_type in (0, 1):
        if mask_type == 0 and side != (shape[2], shape[2]):
            raise RuntimeError(_MASK_SHAPE.format(0, "be (L, L)"))
        if mask_type == 1 and side != (shape[0], shape[2]):
            raise RuntimeError(_MASK_SHAPE.format(1, "be (B, L)"))
        mask = mask if mask_type == 0 else mask.view(shape[0], 1, 1, shape[2])
    elif side != shape:
        raise RuntimeError(_MASK_SHAPE.format(2, "match input shape"))
    return _softmax_where(input, mask, axis)


@method("log_softmax", function=True)
@numpy_names
@autocasts("log_softmax")
@with_out(SAME_DTYPE)
def log_softmax(input: Tensor, dim: int, dtype: DType | None = None) -> Tensor:
    """Return the logarithm of softmax, computed without overflow."""
    return _log_softmax(_cast("log_softmax", input, dim, dtype), dim)


def _inner(name: str, kernel: Any) -> None:
    """Give the op itself the name and arguments that it has in PyTorch's table."""

    def form(input: Tensor, dim: int, half_to_float: bool) -> Tensor:
        if half_to_float:
            raise RuntimeError(
                "softmax with half to float conversion is not supported on CPU"
            )
        return kernel(input, dim)

    form.__name__ = form.__qualname__ = name
    FUNCTIONS[name] = with_out(SAME_DTYPE)(form)


_inner("_softmax", _softmax)
_inner("_log_softmax", _log_softmax)
