"""Solving with LU factors, and the older functions of LU."""

# ruff: noqa: N803, N806 - matrices have capital names, here as in PyTorch

from __future__ import annotations

from typing import Any

from ... import return_types
from ..._autocast.autocast import autocasts
from ..._common.warn import warn_once
from ..._dispatch.declare import Array, method, public
from ..._tensor.tensor import Tensor
from .._kernels import lapack as _lapack
from .._support.arguments import check_tensor
from .._support.linalg import adjoint as turned
from .._support.linalg import (
    common_batch,
    equation,
    implemented,
    inexact,
    into,
    raise_for,
    same_kind,
    square,
)
from .._support.operands import hidden_op
from .lu import ZERO, factor

_PIVOTS = (
    "Pivots given to lu_solve must all be {}. Did you properly pass the result of "
    "lu_factor?"
)


def _solve_backward(
    F: Any,
    grad: Any,
    LU: Any,
    pivots: Any,
    result: Any,
    left: bool,
    adjoint: bool,
    needs: Any,
) -> Any:
    into_b = F.linalg_lu_solve(LU, pivots, grad, left=left, adjoint=not adjoint)
    if not needs[0]:
        return None, into_b
    first, second = (into_b, result) if left != adjoint else (result, into_b)
    product = _by_adjoint(F, first, second, left)
    P, L, U = F._lu_unpack(LU, pivots, True, True)
    into_a = -F.matmul(F.transpose(P, -2, -1), product)
    low = F.tril(_by_adjoint(F, into_a, U, True), -1)
    return low + F.triu(_by_adjoint(F, L, into_a, False), 0), into_b


def _by_adjoint(F: Any, first: Any, second: Any, right: bool) -> Any:
    """Multiply two matrices, the right or the left one turned to its adjoint."""
    if right:
        return F.matmul(first, turned(F, second))
    return F.matmul(turned(F, first), second)


@hidden_op({("LU", "B"): _solve_backward})
def linalg_lu_solve(
    xp: Any,
    LU: Array,
    pivots: Array,
    B: Array,
    *,
    left: bool = True,
    adjoint: bool = False,
) -> Any:
    """Solve AX = B from the factors of A."""
    square("torch.linalg.lu_solve", LU)
    inexact("torch.linalg.lu_solve", LU)
    same_kind("linalg.lu_solve", LU, B, "LU B")
    if pivots.dtype != "int32":
        raise RuntimeError(
            "linalg.lu_solve: pivots should be a Tensor of scalar type torch.int32"
        )
    equation("linalg.lu_solve", LU, B, left)
    if pivots.shape[-1:] != LU.shape[-1:]:
        raise RuntimeError(
            "linalg.lu_solve: Number of pivots per batch should be same as the "
            "dimension of the matrix"
        )
    if pivots.shape != LU.shape[:-1]:
        raise RuntimeError(
            "linalg.lu_solve: Expected LU.shape[:-1] and pivots.shape to be the same, "
            f"but got pivots with shape {list(pivots.shape)} instead"
        )
    implemented("lu_solve_cpu", LU)
    common_batch(LU, B)
    _check_pivots(pivots, LU.shape[-2])
    return _lapack.lu_solve(LU, pivots, B, left, adjoint)


def _check_pivots(pivots: Any, size: int) -> None:
    """Refuse rows that the factors do not have: LAPACK would swap beyond its memory."""
    if (pivots < 1).any():
        raise RuntimeError(_PIVOTS.format("greater or equal to 1"))
    if (pivots > size).any():
        raise RuntimeError(_PIVOTS.format("smaller or equal to LU.size(-2)"))


def lu_solve(
    LU: Tensor,
    pivots: Tensor,
    B: Tensor,
    *,
    left: bool = True,
    adjoint: bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """Solve AX = B, or XA = B, from what ``lu_factor(A)`` returned.

    With ``adjoint`` solve with the conjugate transpose of A.
    """
    return into(
        "linalg_lu_solve",
        out,
        (LU, pivots, B),
        lambda: linalg_lu_solve(LU, pivots, B, left=left, adjoint=adjoint),
    )


# ---- the older functions -----------------------------------------------------------

_SOLVE_DEPRECATED = (
    "torch.lu_solve is deprecated in favor of torch.linalg.lu_solveand will be removed "
    "in a future PyTorch release.\n"
    "Note that torch.linalg.lu_solve has its arguments reversed.\n"
    "X = torch.lu_solve(B, LU, pivots)\n"
    "should be replaced with\n"
    "X = torch.linalg.lu_solve(LU, pivots, B)"
)
_LU_DEPRECATED = (
    "torch.lu is deprecated in favor of torch.linalg.lu_factor / "
    "torch.linalg.lu_factor_ex and will be removed in a future PyTorch release.\n"
    "LU, pivots = torch.lu(A, compute_pivots)\n"
    "should be replaced with\n"
    "LU, pivots = torch.linalg.lu_factor(A, compute_pivots)\n"
    "and\n"
    "LU, pivots, info = torch.lu(A, compute_pivots, get_infos=True)\n"
    "should be replaced with\n"
    "LU, pivots, info = torch.linalg.lu_factor_ex(A, compute_pivots)"
)


@method("lu_solve", function=True)
@autocasts("lu_solve")
def old_lu_solve(
    input: Tensor,
    LU_data: Tensor,
    LU_pivots: Tensor,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Solve AX = input from the factors of A.

    Deprecated, as in PyTorch: use :func:`gradtape.linalg.lu_solve`.
    """
    warn_once(_SOLVE_DEPRECATED)
    return lu_solve(LU_data, LU_pivots, input, out=out)


@public
def lu(A: Tensor, pivot: bool = True, get_infos: bool = False, out: Any = None) -> Any:
    """Return (LU, pivots), or (LU, pivots, info) where ``get_infos`` asks for it.

    Deprecated, as in PyTorch: use :func:`gradtape.linalg.lu_factor`.
    """
    check_tensor(A, "lu", "A")
    warn_once(_LU_DEPRECATED)

    def compute() -> Any:
        found = factor(A, pivot)
        if get_infos:
            return return_types._lu_with_info(found)
        raise_for(found[2]._data, ZERO, "torch.linalg.lu_factor_ex", RuntimeError)
        return found[0], found[1]

    return into("linalg_lu_factor_ex", out, (A,), compute)


@method("lu")
def _lu_of(self: Tensor, pivot: bool = True, get_infos: bool = False) -> Any:
    """Return what :func:`lu` returns, as a plain tuple."""
    return tuple(lu(self, pivot, get_infos))
