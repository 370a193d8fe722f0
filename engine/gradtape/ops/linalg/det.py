"""Determinants, from LU factors: ``det``, ``slogdet``, ``logdet``."""

# ruff: noqa: N803 - matrices have capital names, here as in PyTorch

from __future__ import annotations

from typing import Any

from ... import return_types
from ..._dispatch.declare import FUNCTIONS, Array, method
from ..._tensor.tensor import Tensor
from .._kernels import lapack as _lapack
from .._support.arguments import check_tensor
from .._support.linalg import (
    adjoint,
    complex_in,
    implemented,
    inexact,
    into,
    raw,
    square,
)
from .._support.operands import hidden_op
from ..pointwise.ternary import where


def _on_diagonals(F: Any, values: Any, n: int) -> Any:
    """Return n by n matrices with one value each on the whole diagonal."""
    return F.diag_embed(F.expand(F.unsqueeze(values, -1), (*values.shape, n)))


def _adjoint_solved(F: Any, values: Any, A: Any, LU: Any, pivots: Any) -> Any:
    """Return A⁻ᴴ times a value per matrix."""
    right = _on_diagonals(F, values, A.shape[-1])
    if F.raw:
        return F.linalg_lu_solve(LU, pivots, right, adjoint=True)
    # The factors say nothing of A's own history: solve anew, so that it is recorded.
    return F._linalg_solve_ex(adjoint(F, A), right, True, "")[0]


def _det_backward(
    F: Any,
    grad: Any,
    A: Any,
    result0: Any,
    result1: Any,
    result2: Any,
) -> Any:
    grad = grad[0]
    if 0 in A.shape:
        return F.zeros_like(A)
    if A.shape[-1] == 1:  # the determinant is the element
        return F.reshape(grad, tuple(A.shape))
    tiny = _epsilon(result0)
    if F.raw:
        # det is smooth, so a zero on the diagonal of U may as well be nearly one.
        diagonal = F.diagonal(result1, 0, -2, -1)
        nudged = result1 + F.diag_embed(F.where(diagonal == 0, tiny, 0.0))
        factors = nudged.astype(result1.dtype, copy=False)
        return _adjoint_solved(F, grad * F.conj(result0), A, factors, result2)
    if (abs(raw(result0)) < 100 * tiny).any():
        return _singular_backward(F, grad, A)
    return _adjoint_solved(F, grad * F.conj(result0), A, result1, result2)


def _singular_backward(F: Any, grad: Any, A: Any) -> Any:
    """Return the adjugate's part through singular values, which may be zero."""
    u, s, vh = F._linalg_svd(A, True)
    alpha = F.conj(F._linalg_det(u)[0] * F._linalg_det(vh)[0]) * grad
    gamma = F.unsqueeze(alpha, -1) * F._product_of_others(s, -1)
    return F.matmul(u * F.unsqueeze(gamma, -2), vh)


def _epsilon(value: Any) -> float:
    return 1.1920929e-07 if raw(value).dtype.char in "fF" else 2.220446049250313e-16


@hidden_op(
    {"A": _det_backward},
    name="linalg_det",
    key="_linalg_det",
    outputs=3,
    output_names=("result", "LU", "pivots"),
)
def _linalg_det(xp: Any, A: Array) -> Any:
    square("linalg.det", A)
    inexact("linalg.det", A)
    implemented("lu_cpu", A)
    factors, pivots, _ = _lapack.lu_factor(A)
    found = xp.prod(_diagonal(factors), -1) * _sign_of(xp, pivots)
    return xp.asarray(found, A.dtype), factors, pivots


def _diagonal(factors: Any) -> Any:
    return factors.diagonal(0, -2, -1)


def _sign_of(xp: Any, pivots: Any) -> Any:
    """Return 1 for an even number of swaps, -1 for an odd one."""
    swaps = (pivots != xp.arange(1, pivots.shape[-1] + 1)).sum(-1)
    return 1 - 2 * (swaps % 2)


def det(A: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the determinants of square matrices of shape (*, n, n).

    Raises RuntimeError for other shapes, and for integers.

    >>> import gradtape as torch
    >>> torch.linalg.det(torch.tensor([[1.0, 2.0], [2.0, 2.0]]))
    tensor(-2.)
    """
    check_tensor(A, "linalg_det", "A")
    return into("_linalg_det", out, (A,), lambda: _linalg_det(A)[0])


@method("det", function=True)
def _det(input: Tensor) -> Tensor:
    """Return the determinants of square matrices."""
    check_tensor(input, "det")
    return _linalg_det(input)[0]


# ---- sign and logarithm ------------------------------------------------------------


def _slogdet_backward(
    F: Any,
    grad: Any,
    A: Any,
    result0: Any,
    result2: Any,
    result3: Any,
) -> Any:
    into_sign, into_log = grad[0], grad[1]
    values = into_log
    if into_sign is not None and complex_in(F, A):
        turn = F.imag(F.conj(result0) * into_sign) * 1j
        values = turn if values is None else values + turn
    if values is None:
        return 0 * A
    if complex_in(F, A) and not complex_in(F, values):
        values = values + 0j
    return _adjoint_solved(F, values, A, result2, result3)


@hidden_op(
    {"A": _slogdet_backward},
    name="linalg_slogdet",
    key="_linalg_slogdet",
    outputs=4,
    differentiable=(0, 1),
    output_names=("sign", "logabsdet", "LU", "pivots"),
)
def _linalg_slogdet(xp: Any, A: Array, name: str) -> Any:
    square(name, A)
    inexact(name, A, low=False)
    factors, pivots, _ = _lapack.lu_factor(A)
    diagonal = _diagonal(factors)
    signs = xp.sign(diagonal)
    signs = xp.where(xp.isnan(diagonal), 0, signs)  # PyTorch's sign of NaN
    sign = xp.prod(signs, -1) * _sign_of(xp, pivots)
    size = xp.log(xp.abs(diagonal)).sum(-1)
    return xp.asarray(sign, A.dtype), xp.asarray(size), factors, pivots


def slogdet(A: Tensor, *, out: Any = None) -> Any:
    """Return (sign, logabsdet) of square matrices: det is sign * exp(logabsdet).

    >>> import gradtape as torch
    >>> torch.linalg.slogdet(torch.tensor([[0.0, 1.0], [1.0, 0.0]])).sign
    tensor(-1.)
    """
    check_tensor(A, "linalg_slogdet", "A")

    def compute() -> Any:
        return return_types.linalg_slogdet(_linalg_slogdet(A, "linalg.slogdet")[:2])

    return into("_linalg_slogdet", out, (A,), compute)


@method("slogdet", function=True)
def _slogdet(input: Tensor, *, out: Any = None) -> Any:
    """Return (sign, logabsdet) of square matrices."""
    check_tensor(input, "slogdet")

    def compute() -> Any:
        return return_types.slogdet(_linalg_slogdet(input, "linalg.slogdet")[:2])

    return into("_linalg_slogdet", out, (input,), compute)


@method(function=True)
def logdet(input: Tensor) -> Tensor:
    """Return the logarithms of determinants; NaN where one is negative.

    >>> import gradtape as torch
    >>> torch.logdet(torch.eye(2))
    tensor(0.)
    """
    check_tensor(input, "logdet")
    sign, size = _linalg_slogdet(input, "logdet")[:2]
    if input.is_complex():
        return FUNCTIONS["log"](sign) + size
    return where(sign == -1, float("nan"), size)
