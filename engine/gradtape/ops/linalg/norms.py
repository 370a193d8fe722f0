"""Norms of vectors and matrices, composed of one op and singular values."""

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np

from ..._autocast.autocast import autocasts
from ..._dispatch.declare import FUNCTIONS, method, public
from ..._dtypes import can_cast, parse_dtype
from ..._tensor.tensor import Tensor
from .._support.arguments import check_tensor, is_integer, wrap_dim
from .._support.linalg import at_least_matrix, inexact, into
from .._support.operands import number
from .._support.reduction import as_dims, axes_of, check_dims, numpy_names
from ..pointwise.scalar import norm as norm_along
from ..reduction.norms import linalg_vector_norm
from ..views.permute import permute
from .svd import singular_values

_NOT_WHOLE = (
    "norm_sparse currently only supports full reductions, so 'dim' must either be "
    "empty or contain all dimensions of the input"
)
_NOTHING = "linalg.vector_norm cannot compute the {ord} norm on {what}"


# ---- vectors -----------------------------------------------------------------------


@numpy_names
def vector_norm(
    input: Tensor,
    ord: float = 2,
    dim: Any = None,
    keepdim: bool = False,
    *,
    dtype: Any = None,
    out: Tensor | None = None,
) -> Tensor:
    """Return the p-norm over all elements, or along ``dim``: one or several.

    ``ord`` is any number: 0 counts what is not zero, inf is the largest size, -inf the
    smallest. Raises RuntimeError for integers, and for norms of nothing.

    >>> import gradtape as torch
    >>> torch.linalg.vector_norm(torch.tensor([3.0, -4.0]))
    tensor(5.)
    """
    check_tensor(input, "linalg_vector_norm")
    order = _order(ord)
    check_dims("linalg_vector_norm", dim)
    axes = as_dims(dim, "linalg_vector_norm")

    def compute() -> Tensor:
        inexact("linalg.vector_norm", input._data)
        tensor = _in_dtype("linalg.vector_norm", input, dtype)
        _has_norm(tensor, order, axes)
        return linalg_vector_norm(tensor, order, axes, bool(keepdim))

    return into("linalg_vector_norm", out, (input,), compute)


def _order(ord: Any) -> Any:
    if isinstance(ord, Tensor | np.number):
        ord = ord.item()
    if isinstance(ord, str) or not isinstance(ord, int | float | complex):
        raise TypeError(
            "linalg_vector_norm(): argument 'ord' (position 2) must be Number, not "
            f"{type(ord).__name__}"
        )
    if isinstance(ord, complex):
        raise RuntimeError(
            "linalg.vector_norm: Expected a non-complex scalar as the order of norm."
        )
    return ord


def _in_dtype(name: str, input: Tensor, dtype: Any) -> Tensor:
    if dtype is None:
        return input
    wanted = parse_dtype(dtype, name)
    shown, given = wanted.cpp_name, input.dtype.cpp_name
    if not (wanted.is_floating_point or wanted.is_complex):
        raise RuntimeError(
            f"{name}: dtype should be floating point or complex, but got {shown}"
        )
    if wanted.is_complex != input.is_complex():
        meant = "complex" if input.is_complex() else "real"
        raise RuntimeError(
            f"{name}: dtype should be {meant} for {meant} inputs, but got {shown}"
        )
    if not can_cast(input.dtype, wanted) or input.dtype.itemsize > wanted.itemsize:
        raise RuntimeError(
            f"{name}: the dtype of the input ({given}) should be convertible without "
            f"narrowing to the specified dtype ({shown})"
        )
    return input if input.dtype is wanted else input.to(wanted)


def _has_norm(tensor: Tensor, ord: Any, axes: Any) -> None:
    """Refuse norms of no elements where the norm of nothing is not zero."""
    if tensor.numel() or not (ord < 0 or ord == inf):
        return
    shown = f"{float(ord):g}" if ord not in (inf, -inf) else str(float(ord))
    if not axes:
        what = "an empty tensor because the operation does not have an identity"
        raise RuntimeError(_NOTHING.format(ord=shown, what=what))
    for axis in axes_of(axes, tensor.dim()):
        if tensor.shape[axis] == 0:
            what = (
                f"the dimension {axis}because this dimension is empty and the operation"
                " does not have an identity"
            )
            raise RuntimeError(_NOTHING.format(ord=shown, what=what))


# ---- matrices ----------------------------------------------------------------------


@numpy_names
@autocasts("linalg_matrix_norm")
def matrix_norm(
    input: Tensor,
    ord: Any = "fro",
    dim: Any = (-2, -1),
    keepdim: bool = False,
    *,
    dtype: Any = None,
    out: Tensor | None = None,
) -> Tensor:
    """Return norms of matrices, which are two dimensions of ``input``.

    ``ord`` is "fro", "nuc" (the sum of singular values), 2 and -2 (the largest and the
    smallest), 1 and -1 (sums of columns), inf and -inf (sums of rows).

    >>> import gradtape as torch
    >>> torch.linalg.matrix_norm(torch.tensor([[1.0, -2.0], [3.0, 4.0]]), 1)
    tensor(6.)
    """
    check_tensor(input, "linalg_matrix_norm")

    def compute() -> Tensor:
        return _matrix_norm(input, number(ord), dim, bool(keepdim), dtype)

    rule = "linalg.matrix_norm expected out tensor dtype {result} but got: {out}"
    return into("linalg_matrix_norm", out, (input,), compute, rule)


def _matrix_norm(input: Tensor, ord: Any, dim: Any, keep: bool, dtype: Any) -> Tensor:
    name = "linalg.matrix_norm"
    spectral = ord in (2, -2, "nuc")
    if isinstance(ord, complex):
        raise RuntimeError(
            f"{name}: Expected a non-complex scalar as the order of norm."
        )
    if not (isinstance(ord, str) or abs(ord) in (1, 2, inf)) or (
        isinstance(ord, str) and ord not in ("fro", "nuc")
    ):
        raise RuntimeError(f"{name}: Order {_shown(ord)} not supported.")
    at_least_matrix(name, input)
    inexact(name, input._data, low=not spectral)
    dims = (dim,) if is_integer(dim) else tuple(dim)
    if len(dims) != 2:
        listed = " ".join(str(d) for d in dims)
        raise RuntimeError(f"{name}: dim must be a 2-tuple. Got {listed}")
    rows, columns = (wrap_dim(d, input.dim()) for d in dims)
    if rows == columns:
        raise RuntimeError(
            f"{name}: dims must be different. Got ({dims[0]}, {dims[1]})"
        )
    tensor = _in_dtype(name, input, dtype)
    if ord == "fro":
        return vector_norm(tensor, 2, (rows, columns), keep)
    if spectral:
        return _spectral(tensor, ord, rows, columns, keep)
    if abs(ord) == inf:
        rows, columns = columns, rows
    sums = vector_norm(tensor, 1, (rows,), keep)
    over = columns - (not keep and columns > rows)
    return _extreme(sums, ord, over, keep)


def _extreme(values: Tensor, ord: Any, axis: int, keep: bool) -> Tensor:
    """Return the largest values along an axis, or the smallest; 0 if there are none."""
    if ord > 0 and not values.shape[axis]:
        shape = list(values.shape)
        shape[axis : axis + 1 or None] = [1] if keep else []
        return FUNCTIONS["zeros"](shape, dtype=values.dtype, device=values.device)
    return FUNCTIONS["amax" if ord > 0 else "amin"](values, axis, keep)


def _shown(ord: Any) -> str:
    return ord if isinstance(ord, str) else f"{ord:g}"


def _spectral(tensor: Tensor, ord: Any, rows: int, columns: int, keep: bool) -> Tensor:
    """Return the norm of the singular values; the matrices are moved to the end."""
    ndim = tensor.dim()
    order = [d for d in range(ndim) if d not in (rows, columns)] + [rows, columns]
    values = singular_values(permute(tensor, tuple(order)))
    if ord == "nuc":
        found = FUNCTIONS["sum"](values, -1, keep)
    else:
        found = _extreme(values, ord, -1, keep)
    if not keep:
        return found
    back = tuple(order.index(d) for d in range(ndim))
    return permute(FUNCTIONS["unsqueeze"](found, -1), back)


@numpy_names
def norm(
    input: Tensor,
    ord: Any = None,
    dim: Any = None,
    keepdim: bool = False,
    *,
    out: Tensor | None = None,
    dtype: Any = None,
) -> Tensor:
    """Return a vector norm along one dimension, or a matrix norm along two.

    Without ``ord`` it is the 2-norm of all elements, or of those along ``dim``. With
    ``ord`` alone, the input itself must be a vector or a matrix.

    >>> import gradtape as torch
    >>> torch.linalg.norm(torch.tensor([[3.0, 0.0], [0.0, 4.0]]), 2)
    tensor(4.)
    """
    check_tensor(input, "linalg_norm")

    def compute() -> Tensor:
        return _norm(input, number(ord), dim, bool(keepdim), dtype)

    rule = "linalg.norm expected out tensor dtype {result} but got: {out}"
    return into("linalg_norm", out, (input,), compute, rule)


def _norm(input: Tensor, ord: Any, dim: Any, keep: bool, dtype: Any) -> Tensor:
    check_dims("linalg_norm", dim)
    dims = as_dims(dim, "linalg_norm")
    if dims is not None and len(dims) not in (1, 2):
        raise RuntimeError(
            "linalg.norm: If dim is specified, it must be of length 1 or 2. Got "
            f"{list(dims)}"
        )
    if ord is None:
        return vector_norm(input, 2.0, dims, keep, dtype=dtype)
    if dims is None:
        if input.dim() not in (1, 2):
            raise RuntimeError(
                "linalg.norm: If dim is not specified but ord is, the input must be 1D "
                f"or 2D. Got {input.dim()}D."
            )
        dims = None if input.dim() == 1 else (0, 1)
    if isinstance(ord, str):
        return matrix_norm(input, ord, dims or (-2, -1), keep, dtype=dtype)
    if dims is not None and len(dims) == 2:
        return matrix_norm(input, ord, dims, keep, dtype=dtype)
    return vector_norm(input, ord, dims, keep, dtype=dtype)


# ---- the older functions -----------------------------------------------------------


@method("norm", function=True)
@autocasts("norm")
def _old_norm(
    input: Tensor,
    p: Any = "fro",
    dim: Any = None,
    keepdim: bool = False,
    out: Tensor | None = None,
    dtype: Any = None,
) -> Tensor:
    """Return the p-norm of elements; "fro" is the 2-norm, "nuc" is one of matrices."""
    check_tensor(input, "norm")
    dims = as_dims(dim, "norm")
    if input.is_sparse and (p == "fro" or not isinstance(p, str)):
        return _norm_of_sparse(input, p, dims, keepdim, dtype)
    if not isinstance(p, str):
        order = 2.0 if p is None else p
        return vector_norm(input, order, dims, keepdim, dtype=dtype, out=out)
    if p == "fro" and (dims is None or len(dims) <= 2):
        return vector_norm(input, 2, dims, keepdim, dtype=dtype, out=out)
    given = tuple(range(input.dim())) if dims is None else dims
    return matrix_norm(input, p, given, keepdim, dtype=dtype, out=out)


def _norm_of_sparse(input: Tensor, p: Any, dims: Any, keep: bool, dtype: Any) -> Tensor:
    """Return the norm of all elements: PyTorch has no other of sparse tensors."""
    if p == "fro" and dtype is not None:
        raise ValueError("dtype argument is not supported in frobenius norm")
    if len(axes_of(dims or None, input.dim())) < input.dim():
        raise RuntimeError(_NOT_WHOLE)
    if keep or dtype is not None:
        what = "keepdim=True" if keep else "'dtype' argument"
        raise RuntimeError(f"norm_sparse currently does not support {what}")
    return vector_norm(input.coalesce().values(), 2.0 if p in (None, "fro") else p)


@public
@autocasts("frobenius_norm")
def frobenius_norm(
    input: Tensor, dim: Any, keepdim: bool = False, *, out: Tensor | None = None
) -> Tensor:
    """Return the square root of the sum of squares along at most two dimensions."""
    check_tensor(input, "frobenius_norm")
    dims = as_dims(dim, "frobenius_norm") or ()
    if len(dims) > 2:
        raise RuntimeError(
            f"Expected at most 2 dimensions, but got {len(dims)} dimensions instead."
        )
    return into(
        "frobenius_norm", out, (input,), lambda: norm_along(input, 2.0, dims, keepdim)
    )


@public
@autocasts("nuclear_norm")
def nuclear_norm(
    input: Tensor, dim: Any = (-2, -1), keepdim: bool = False, *, out: Any = None
) -> Tensor:
    """Return the sum of the singular values of matrices."""
    check_tensor(input, "nuclear_norm")
    return matrix_norm(input, "nuc", dim, keepdim, out=out)
