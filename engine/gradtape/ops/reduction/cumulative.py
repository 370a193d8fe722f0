"""Running sums, products and extremes along a dimension."""

from __future__ import annotations

import functools
from math import inf
from typing import Any

from ... import return_types
from ..._backend import backend_of
from ..._dispatch.declare import ABSENT, OPS, Array, method, op
from ..._dispatch.inplace import in_place
from ..._dtypes import CPP_TYPE, DTYPE_OF, bool_, finfo, parse_dtype
from ..._dtypes import dtype as DType
from ..._tensor.tensor import Tensor, wrap
from .._kernels.bitwise_select import check_floating
from .._support.arguments import wrap_dim
from .._support.operands import hidden_op, is_complex
from .._support.out_argument import SAME_DTYPE
from .._support.reduction import in_dtype, values_of, wide
from ..memory.memory_format import contiguous_format
from ..pointwise.power import complex_logaddexp
from .reduce_ops import on_diagonal

_SCALAR_TYPE = "expected scalar_type {result} but found {out}"


def _scanned(ufunc: Any, self: Any, dim: int, kept: bool = False) -> Any:
    """Scan along a dimension, whole numbers in 64 bits unless their kind is kept."""
    axis = wrap_dim(dim, self.ndim)
    kind = self.dtype if kept and self.dtype.kind in "biu" else wide(self)
    if self.ndim == 0:
        found = self.astype(kind)
    else:
        found = ufunc.accumulate(self, axis=axis, dtype=kind)
    if self.dtype.kind not in "biu":
        found = found.astype(self.dtype, copy=False)
    return found if found.flags.c_contiguous else found.copy(order="C")


def _check_scanned(name: str, self: Any, dtype: DType | None) -> None:
    if dtype is bool_ and self.ndim and self.size:  # else there is nothing to scan
        raise NotImplementedError(f"\"{name}_out_cpu\" not implemented for 'Bool'")


def _scanned_back(xp: Any, ufunc: Any, self: Any, dim: int) -> Any:
    """Scan from the end of a dimension to its beginning."""
    if self.ndim == 0:
        return self.copy()
    found = xp.flip(_scanned(ufunc, xp.flip(self, dim), dim), dim)
    return xp.ascontiguousarray(found)  # a tensor's strides are never negative


# ---- cumsum ----


@hidden_op(
    {"self": lambda F, grad, dim: F._reverse_cumsum(grad, dim)},
    name="cumsum",
    key="_cumsum",
    out=True,
    out_rule=SAME_DTYPE,
)
def _cumsum(xp: Any, self: Array, dim: int, *, dtype: DType | None = None) -> Any:
    _check_scanned("cumsum", self, dtype)
    return _scanned(xp.add, in_dtype(self, dtype), dim, dtype is not None)


@hidden_op({"self": lambda F, grad, dim: F._cumsum(grad, dim)})
def _reverse_cumsum(xp: Any, self: Array, dim: int) -> Any:
    """Add up from the end of a dimension to its beginning."""
    return _scanned_back(xp, xp.add, self, dim)


# ---- cumprod ----


def _upto(F: Any, like: Any, n: int) -> Any:
    """Return a square mask: may element k (row) be part of product i (column)?"""
    mask = backend_of(values_of(like)).xp.tri(n, dtype=bool).T
    return mask if F.raw else wrap(mask)


def _cumprod_backward(F: Any, grad: Any, self: Any, result: Any, dim: int) -> Any:
    if values_of(self).size <= 1:
        return grad
    if not (values_of(self) == 0).any():
        weighted = grad * F.conj(result)
        return F._reverse_cumsum(weighted, dim) / F.conj(self)
    # With zeros, leave each element out of all the products it is part of.
    last = F.transpose(self, dim, -1)
    n = last.shape[-1]
    rows = F.expand(F.unsqueeze(last, -2), (*last.shape, n))
    products = F._cumprod(F.where(on_diagonal(F, self, n), 1.0, rows), -1)
    grads = F.unsqueeze(F.transpose(grad, dim, -1), -2)
    parts = F.where(_upto(F, self, n), grads * F.conj(products), 0.0)
    return F.clone(F.transpose(F.sum(parts, -1, False), dim, -1), contiguous_format)


@hidden_op(
    {"self": _cumprod_backward},
    name="cumprod",
    key="_cumprod",
    out=True,
    out_rule=SAME_DTYPE,
)
def _cumprod(xp: Any, self: Array, dim: int, *, dtype: DType | None = None) -> Any:
    _check_scanned("cumprod", self, dtype)
    given = in_dtype(self, dtype)
    if given.dtype.kind == "c" and given.ndim and given.size:
        given = _from_one(xp, given, dim)
    return _scanned(xp.multiply, given, dim, dtype is not None)


def _from_one(xp: Any, self: Any, dim: int) -> Any:
    """Multiply what comes first by 1, as PyTorch does: of infinities that makes NaN."""
    first = xp.moveaxis(self, wrap_dim(dim, self.ndim), 0)[0]
    if xp.isfinite(first).all():
        return self
    found = self.copy()
    xp.moveaxis(found, dim, 0)[0] *= 1
    return found


# ---- logcumsumexp, cummax, cummin ----


def _logcumsumexp_backward(F: Any, grad: Any, self: Any, result: Any, dim: int) -> Any:
    if not tuple(self.shape) or not values_of(self).size:
        return grad
    if is_complex(self):
        sums = _log_sums_from_end(F, F.log(F.conj(grad)) - result, dim)
        return F.conj(F.exp(sums + self))
    # The least float in place of log(0): its slope is 0, where that of log is not.
    least, size = _least(F, values_of(self)), F.log(F.abs(grad))
    ups, downs = (
        _log_sums_from_end(F, F.where(part, size, least) - result, dim)
        for part in (grad > 0, grad < 0)
    )
    return F.exp(ups + self) - F.exp(downs + self)


def _least(F: Any, like: Any) -> Any:
    """Return an array's least float as one, so that bfloat16 stays bfloat16."""
    xp, number = backend_of(like).xp, finfo(DTYPE_OF[like.dtype]).min
    least = xp.asarray(number, like.dtype)
    return least if F.raw else wrap(least)


def _log_sums_from_end(F: Any, values: Any, dim: int) -> Any:
    return F.flip(F.logcumsumexp(F.flip(values, (dim,)), dim), (dim,))


@op({"self": _logcumsumexp_backward}, out=True, out_rule=_SCALAR_TYPE)
def logcumsumexp(xp: Any, self: Array, dim: int) -> Any:
    """Return the logarithm of the running sum of exponentials."""
    check_floating(self, "logcumsumexp_out_cpu", "iub")
    if self.dtype.kind == "c":
        found = _complex_scan(xp, self.astype("complex128", copy=False), dim)
    else:  # added up in double, as PyTorch does
        found = _scanned(xp.logaddexp, self.astype("float64", copy=False), dim)
    return found.astype(self.dtype, copy=False)


def _complex_scan(xp: Any, self: Any, dim: int) -> Any:
    """Add one position at a time: NumPy's logaddexp is for real numbers."""
    found = self.copy(order="C")
    if not self.ndim:
        return found
    rows = xp.moveaxis(found, wrap_dim(dim, self.ndim), 0)
    total = xp.full(rows.shape[1:], -inf, self.dtype)
    for at, row in enumerate(rows):
        total = rows[at] = complex_logaddexp(xp, row, total)
    return found


def _running(name: str, ufunc: str, better: str) -> Any:
    def kernel(xp: Any, self: Array, dim: int) -> Any:
        axis = wrap_dim(dim, self.ndim)
        if self.ndim == 0:
            return self.copy(), xp.zeros((), "int64")
        check_floating(self, f"{name}_cpu", "c")
        values = getattr(xp, ufunc).accumulate(self, axis=axis)
        # A new place wherever an element equals the extreme so far: the last of ties.
        same = self == values
        if self.dtype.kind in "fV":
            same |= xp.isnan(self)
        steps = xp.arange(self.shape[axis])
        along = steps.reshape([-1 if i == axis else 1 for i in range(self.ndim)])
        places = xp.maximum.accumulate(xp.where(same, along, 0), axis=axis)
        return tuple(xp.ascontiguousarray(v) for v in (values, places))

    declared = hidden_op(
        {
            "self": lambda F, grad, self, result1, dim: F._add_picked(
                grad[0], result1, dim
            )
        },
        name=name,
        key=f"_{name}",
        outputs=2,
        output_names=("values", "indices"),
        out=True,
        out_rule=_SCALAR_TYPE,
        recorded="real",
    )(kernel)
    kind = getattr(return_types, name)

    def running(
        input: Tensor, dim: Any = ABSENT, *, out: Any = None, axis: Any = ABSENT
    ) -> Any:
        return kind(declared(input, dim if axis is ABSENT else axis, out=out))

    running.__name__ = running.__qualname__ = name
    running.__doc__ = f"Return the {better} so far along a dimension, and its places."
    return method(name, function=True)(running)


@hidden_op(
    {
        "self": lambda F, grad, indices, dim: (
            F._picked_again(grad, indices, dim) if tuple(grad.shape) else grad
        )
    }
)
def _add_picked(xp: Any, self: Array, indices: Array, dim: int) -> Any:
    """Add gradients up where elements were picked, some of them several times."""
    if self.ndim == 0:
        return self.copy()
    found = xp.zeros_like(self)
    at = list(xp.indices(self.shape, sparse=True))
    at[dim] = indices
    xp.add.at(found, tuple(at), self)
    return found


@hidden_op({"self": lambda F, grad, indices, dim: F._add_picked(grad, indices, dim)})
def _picked_again(xp: Any, self: Array, indices: Array, dim: int) -> Any:
    """Read at places that may repeat, where ``_take_picked`` has each place once."""
    return xp.take_along_axis(self, indices, dim)


cummax = _running("cummax", "maximum", "largest")
cummin = _running("cummin", "minimum", "smallest")


# ---- public forms ----


def _public(name: str, form: Any, says: str) -> None:
    def scan(
        input: Tensor,
        dim: Any = ABSENT,
        *,
        dtype: Any = None,
        out: Tensor | None = None,
        axis: Any = ABSENT,
    ) -> Tensor:
        dim = dim if axis is ABSENT else axis
        kind = None if dtype is None else parse_dtype(dtype, name)
        if kind is None and isinstance(out, Tensor):
            kind = out.dtype  # which the scan then computes in
        return form(input, dim, dtype=kind, out=out)

    scan.__name__ = scan.__qualname__ = name
    scan.__doc__ = says
    method(name, function=True)(scan)
    method(f"{name}_")(_written(in_place(OPS[f"_{name}"])))


def _written(form: Any) -> Any:
    """Return an in-place form that refuses to compute in another dtype."""

    @functools.wraps(form)
    def scan(self: Tensor, dim: Any, *, dtype: Any = None) -> Tensor:
        kind = None if dtype is None else parse_dtype(dtype, form.__name__)
        if kind is not None and kind is not self.dtype:
            raise RuntimeError(
                f"Bad in-place call: input tensor dtype {CPP_TYPE[self.dtype]} and "
                f"output tensor dtype {CPP_TYPE[kind]} should match"
            )
        # Elsewhere, sums and products of bools are whole numbers.
        return form(self, dim, dtype=bool_ if self.dtype is bool_ else kind)

    return scan


_public("cumsum", _cumsum, "Add up step by step along a dimension.")
_public("cumprod", _cumprod, "Multiply step by step along a dimension.")
