"""LU factors: ``lu``, ``lu_factor`` and ``lu_unpack``."""

# ruff: noqa: N803, N806 - matrices have capital names, here as in PyTorch

from __future__ import annotations

from typing import Any

from ... import return_types
from ..._dispatch.declare import Array, public
from ..._tensor.tensor import Tensor
from .._kernels import lapack as _lapack
from .._support.arguments import check_tensor
from .._support.linalg import adjoint, implemented, into, raise_for, rows
from .._support.operands import hidden_op

ZERO = (
    "U[{number},{number}] is zero and using it on lu_solve would result in a division "
    "by zero. If you still want to perform the factorization, consider calling "
    "linalg.lu(A, pivot) or linalg.lu_factor_ex(A, pivot)"
)
_NO_PIVOTS = "linalg.lu_factor: LU without pivoting is not implemented on the CPU"


@hidden_op(
    {
        "self": lambda F, grad, self_shape: F._corner(
            grad, self_shape[-2], self_shape[-1]
        )
    }
)
def _corner(xp: Any, self: Array, m: int, n: int) -> Any:
    """Crop matrices to their first m rows and n columns, or fill up with zeros."""
    found = xp.zeros((*self.shape[:-2], m, n), self.dtype)
    i, j = min(m, self.shape[-2]), min(n, self.shape[-1])
    found[..., :i, :j] = self[..., :i, :j]
    return found


def _product_backward(
    F: Any,
    into_l: Any,
    into_u: Any,
    P: Any,
    L: Any,
    U: Any,
) -> Any:
    """Return the gradient of A = P L U; one of the two gradients may be None."""
    m, n = int(L.shape[-2]), int(U.shape[-1])
    k = min(m, n)
    low, high = L[..., :k, :], U[..., :, :k]
    strict, upper = None, None
    if into_l is not None:
        strict = F.matmul(adjoint(F, low), into_l[..., :k, :])
        if m > k:
            upper = -F.matmul(adjoint(F, L[..., k:, :]), into_l[..., k:, :])
    if into_u is not None:
        own = F.matmul(into_u[..., :, :k], adjoint(F, high))
        upper = own if upper is None else upper + own
        if n > k:
            beyond = F.matmul(into_u[..., :, k:], adjoint(F, U[..., :, k:]))
            strict = -beyond if strict is None else strict - beyond
    parts = [] if strict is None else [F.tril(strict, -1)]
    parts += [] if upper is None else [F.triu(upper, 0)]
    inner = parts[0] if len(parts) == 1 else parts[0] + parts[1]
    inner = F.linalg_solve_triangular(adjoint(F, high), inner, upper=False, left=False)
    found = F.linalg_solve_triangular(
        adjoint(F, low), inner, upper=True, unitriangular=True
    )
    if m > k:
        below = 0 * L[..., k:, :]
        if into_l is not None:
            below = F.linalg_solve_triangular(
                adjoint(F, high), into_l[..., k:, :], upper=False, left=False
            )
        found = F.cat([found, below], -2)
    elif n > k:
        beside = 0 * U[..., :, k:]
        if into_u is not None:
            beside = F.linalg_solve_triangular(
                adjoint(F, low), into_u[..., :, k:], upper=True, unitriangular=True
            )
        found = F.cat([found, beside], -1)
    return F.matmul(P, found)


def _factor_backward(
    F: Any,
    grad: Any,
    result0: Any,
    result1: Any,
    pivot: bool,
) -> Any:
    P, L, U = F._lu_unpack(result0, result1, True, True)
    m, n = result0.shape[-2:]
    k = min(m, n)
    into_l, into_u = F.tril(grad[0], -1)[..., :, :k], F.triu(grad[0], 0)[..., :k, :]
    return _product_backward(F, into_l, into_u, P, L, U)


def _check_matrix(name: str, array: Any) -> None:
    if array.ndim < 2:
        raise RuntimeError(
            f"{name}: Expected tensor with 2 or more dimensions. Got size: "
            f"{list(array.shape)} instead"
        )


@hidden_op(
    {"self": _factor_backward},
    name="linalg_lu_factor_ex",
    key="_linalg_lu_factor_ex",
    outputs=3,
    output_names=("LU", "pivots", "info"),
)
def factor(xp: Any, self: Array, pivot: bool) -> Any:
    _check_matrix("torch.lu_factor", self)
    implemented("lu_cpu", self)
    if not pivot:
        raise RuntimeError(_NO_PIVOTS)
    return _lapack.lu_factor(self)


def lu_factor_ex(
    A: Tensor,
    *,
    pivot: bool = True,
    check_errors: bool = False,
    out: Any = None,
) -> Any:
    """Return (LU, pivots, info): ``info`` is where the first zero in U is, or 0.

    Raises RuntimeError for such a zero where ``check_errors`` asks for it.
    """
    check_tensor(A, "linalg_lu_factor_ex", "A")
    return into(
        "linalg_lu_factor_ex",
        out,
        (A,),
        lambda: _factors("torch.linalg.lu_factor_ex", A, pivot, check_errors),
    )


def _factors(name: str, A: Any, pivot: bool, check: bool) -> Any:
    found = factor(A, pivot)
    if check:
        raise_for(found[2]._data, ZERO, name, RuntimeError)
    return return_types.linalg_lu_factor_ex(found)


def lu_factor(A: Tensor, *, pivot: bool = True, out: Any = None) -> Any:
    """Return (LU, pivots): both factors of A in one matrix, and the rows swapped.

    Raises RuntimeError where A, of shape (*, m, n), has a U with zeros on its diagonal.

    >>> import gradtape as torch
    >>> torch.linalg.lu_factor(torch.tensor([[1.0, 2.0], [2.0, 6.0]])).LU
    tensor([[ 2.0000,  6.0000],
            [ 0.5000, -1.0000]])
    """
    check_tensor(A, "linalg_lu_factor", "A")

    def compute() -> Any:
        found = _factors("torch.linalg.lu_factor", A, pivot, True)
        return return_types.linalg_lu_factor(found[:2])

    return into("linalg_lu_factor_ex", out, (A,), compute)


# ---- unpacking ---------------------------------------------------------------------


def _unpack_backward(F: Any, grad: Any, LU_data_shape: Any) -> Any:
    m, n = LU_data_shape[-2:]
    _, into_l, into_u = grad
    parts: list[Any] = []
    if into_l is not None and len(into_l.shape) > 1:
        parts.append(F._corner(F.tril(into_l, -1), m, n))
    if into_u is not None and len(into_u.shape) > 1:
        parts.append(F._corner(F.triu(into_u, 0), m, n))
    if not parts:
        return None
    return parts[0] if len(parts) == 1 else parts[0] + parts[1]


def permutation(xp: Any, pivots: Any, size: int, dtype: Any) -> Any:
    """Return the permutation matrices that swapping rows one by one amounts to."""
    batch = pivots.shape[:-1]
    order = xp.broadcast_to(xp.arange(size), (*batch, size)).copy()
    for step in range(pivots.shape[-1]):
        swapped = pivots[..., step, None].astype("int64") - 1
        here = order[..., step, None].copy()
        order[..., step, None] = xp.take_along_axis(order, swapped, -1)
        xp.put_along_axis(order, swapped, here, -1)
    found = xp.zeros((*batch, size, size), dtype)
    xp.put_along_axis(found, order[..., None, :], 1, -2)
    return found


def unpacked(xp: Any, lu: Any) -> Any:
    """Return (L, U) of both factors in one matrix."""
    m, n = lu.shape[-2:]
    k = min(m, n)
    L, U = xp.tril(lu[..., :, :k], -1), xp.triu(lu[..., :k, :])
    steps = xp.arange(k)
    L[..., steps, steps] = 1
    return rows(xp, L), rows(xp, U)


@hidden_op(
    {"LU_data": _unpack_backward},
    name="lu_unpack",
    key="_lu_unpack",
    outputs=3,
    differentiable=(1, 2),
)
def _lu_unpack(
    xp: Any,
    LU_data: Array,
    LU_pivots: Array,
    unpack_data: bool,
    unpack_pivots: bool,
) -> Any:
    _check_matrix("torch.lu_unpack", LU_data)
    if unpack_pivots and LU_pivots.dtype != "int32":
        raise RuntimeError(
            "torch.lu_unpack: LU_pivots is expected to be a contiguous tensor of "
            "torch.int32 dtype.\nNote: this function is intended to be used with the "
            "output produced by torch.linalg.lu_factor"
        )
    swaps, low, high = (xp.zeros(0, LU_data.dtype) for _ in range(3))
    m = LU_data.shape[-2]
    if unpack_pivots:
        if LU_pivots.size and not ((LU_pivots >= 1) & (LU_pivots <= m)).all():
            raise RuntimeError(
                "pivots passed to lu_unpack must be between 1 and LU.size(-2) inclusive"
                ".Did you properly pass the result of lu_factor?"
            )
        swaps = permutation(xp, LU_pivots, m, LU_data.dtype)
    if unpack_data:
        low, high = unpacked(xp, LU_data)
    return swaps, low, high


@public
def lu_unpack(
    LU_data: Tensor,
    LU_pivots: Tensor,
    unpack_data: bool = True,
    unpack_pivots: bool = True,
    *,
    out: Any = None,
) -> Any:
    """Return (P, L, U) from what ``linalg.lu_factor`` returned.

    What is not asked for is an empty tensor.
    """
    check_tensor(LU_data, "lu_unpack", "LU_data")
    check_tensor(LU_pivots, "lu_unpack", "LU_pivots", 2)
    return into(
        "lu_unpack",
        out,
        (LU_data, LU_pivots),
        lambda: return_types.lu_unpack(
            _lu_unpack(LU_data, LU_pivots, unpack_data, unpack_pivots)
        ),
    )


@hidden_op(
    {
        "self": lambda F, grad, result0, result1, result2, pivot: _product_backward(
            F, grad[1], grad[2], result0, result1, result2
        )
    },
    name="linalg_lu",
    key="_linalg_lu",
    outputs=3,
    differentiable=(1, 2),
    output_names=("P", "L", "U"),
)
def _lu(xp: Any, self: Array, pivot: bool) -> Any:
    _check_matrix("linalg.lu", self)
    implemented("lu_cpu", self)
    if not pivot:
        raise RuntimeError(_NO_PIVOTS)
    factors, pivots, _ = _lapack.lu_factor(self)
    return permutation(xp, pivots, self.shape[-2], self.dtype), *unpacked(xp, factors)


def lu(A: Tensor, *, pivot: bool = True, out: Any = None) -> Any:
    """Return (P, L, U) with A = P L U: a permutation, a lower and an upper triangle.

    >>> import gradtape as torch
    >>> torch.linalg.lu(torch.tensor([[1.0, 2.0], [2.0, 6.0]])).U
    tensor([[ 2.,  6.],
            [ 0., -1.]])
    """
    check_tensor(A, "linalg_lu", "A")
    return into("linalg_lu", out, (A,), lambda: return_types.linalg_lu(_lu(A, pivot)))
