"""Factors of symmetric matrices: Cholesky, and LDL for indefinite ones."""

# ruff: noqa: N803 - matrices have capital names, here as in PyTorch

from __future__ import annotations

from typing import Any

from ... import return_types
from ..._autocast.autocast import autocasts
from ..._common.warn import warn_once
from ..._dispatch.declare import Array, method, op
from ..._tensor.tensor import Tensor
from .._kernels import lapack as _lapack
from .._support.arguments import check_tensor, wrap_dim
from .._support.linalg import (
    CASTABLE,
    LinAlgError,
    adjoint,
    common_batch,
    implemented,
    inexact,
    into,
    kind_name,
    raise_for,
    square,
)
from .._support.operands import UNDERIVED, hidden_op, underived
from .triangular_solve import meets

_INDEFINITE = (
    "The factorization could not be completed because the input is not "
    "positive-definite (the leading minor of order {number} is not positive-definite)."
)
SINGULAR = (
    "The diagonal element {number} is zero, the inversion could not be completed "
    "because the input matrix is singular."
)


def cholesky_backward(F: Any, grad: Any, factor: Any, upper: bool) -> Any:
    """Return the gradient of the matrix, made hermitian as the matrix is."""
    low, high = factor, adjoint(F, factor)
    if upper:
        low, high, grad = high, low, adjoint(F, grad)
    product = F.tril(F.matmul(high, grad), 0)
    half = 0.5 * (product + adjoint(F, F.tril(product, -1)))
    half = F.linalg_solve_triangular(high, half, upper=True)
    return F.linalg_solve_triangular(low, half, upper=False, left=False)


@hidden_op(
    {
        "self": lambda F, grad, result0, upper: cholesky_backward(
            F, grad[0], result0, upper
        )
    },
    name="linalg_cholesky_ex",
    key="_linalg_cholesky_ex",
    outputs=2,
    output_names=("L", "info"),
)
def _cholesky_ex(xp: Any, self: Array, upper: bool) -> Any:
    square("linalg.cholesky", self)
    inexact("linalg.cholesky", self)
    implemented("cholesky_cpu", self)
    return _lapack.cholesky(self, upper)


@autocasts("linalg_cholesky_ex")
def cholesky_ex(
    input: Tensor,
    *,
    upper: bool = False,
    check_errors: bool = False,
    out: Any = None,
) -> Any:
    """Return (L, info): ``info`` is the order of the first minor that fails, or 0.

    ``input`` is (*, n, n) and hermitian positive-definite. Raises LinAlgError for one
    that is not, where ``check_errors`` asks for it.

    >>> import gradtape as torch
    >>> torch.linalg.cholesky_ex(torch.tensor([[1.0, 2.0], [2.0, 1.0]])).info
    tensor(2, dtype=torch.int32)
    """
    return _factors("linalg_cholesky_ex", input, upper, check_errors, out)


def _factors(name: str, input: Any, upper: bool, check: bool, out: Any) -> Any:
    check_tensor(input, name)

    def compute() -> Any:
        found = _cholesky_ex(input, upper)
        if check:
            raise_for(found[1]._data, _INDEFINITE, name.replace("_", ".", 1))
        return return_types.linalg_cholesky_ex(found)

    return into("linalg_cholesky_ex", out, (input,), compute)


@autocasts("linalg_cholesky")
def cholesky(
    input: Tensor, *, upper: bool = False, out: Tensor | None = None
) -> Tensor:
    """Return the triangular L with L Lᴴ equal to a hermitian positive-definite matrix.

    ``input`` is (*, n, n); only its lower triangle is read. With ``upper`` return U,
    where Uᴴ U is the matrix. Raises LinAlgError where it is not positive-definite.

    >>> import gradtape as torch
    >>> torch.linalg.cholesky(torch.tensor([[4.0, 2.0], [2.0, 5.0]]))
    tensor([[2., 0.],
            [1., 2.]])
    """
    check_tensor(input, "linalg_cholesky")
    return into(
        "linalg_cholesky_ex",
        out,
        (input,),
        lambda: _factors("linalg_cholesky", input, upper, True, None)[0],
    )


# ---- the older functions -----------------------------------------------------------


@hidden_op(
    {"self": lambda F, grad, result, upper: cholesky_backward(F, grad, result, upper)},
    name="cholesky",
    key="_cholesky_old",
)
def _cholesky_old(xp: Any, self: Array, upper: bool) -> Any:
    if not self.size:
        if self.ndim < 2:
            square("cholesky", self)
        return self.copy()
    square("cholesky", self)
    implemented("cholesky_cpu", self)
    found, infos = _lapack.cholesky(self, upper)
    raise_for(infos, _INDEFINITE, "cholesky")
    return found


_DEPRECATED = (
    "torch.cholesky is deprecated in favor of torch.linalg.cholesky and will be "
    "removed in a future PyTorch release.\n"
    "L = torch.cholesky(A)\n"
    "should be replaced with\n"
    "L = torch.linalg.cholesky(A)\n"
    "and\n"
    "U = torch.cholesky(A, upper=True)\n"
    "should be replaced with\n"
    "U = torch.linalg.cholesky(A).mH\n"
    "This transform will produce equivalent results for all valid (symmetric positive "
    "definite) inputs."
)


@method("cholesky", function=True)
@autocasts("cholesky")
def old_cholesky(
    input: Tensor, upper: bool = False, *, out: Tensor | None = None
) -> Tensor:
    """Return the Cholesky factor.

    Deprecated, as in PyTorch: use :func:`gradtape.linalg.cholesky`.
    """
    check_tensor(input, "cholesky")
    warn_once(_DEPRECATED)
    return into(
        "cholesky", out, (input,), lambda: _cholesky_old(input, upper), CASTABLE
    )


def _inverse_backward(F: Any, grad: Any, self: Any, result: Any, upper: bool) -> Any:
    both = grad + adjoint(F, grad)
    product = F.matmul(result, F.matmul(both, result))
    if upper:
        return -F.matmul(self, product)
    return -F.matmul(product, self)


@op({"self": _inverse_backward}, out=True, out_rule=CASTABLE)
def cholesky_inverse(xp: Any, self: Array, upper: bool = False) -> Any:
    """Return the inverse of the matrix whose Cholesky factor is given."""
    square("cholesky_inverse", self)
    implemented("cholesky_inverse_out_cpu", self)
    zeros = (self.diagonal(0, -2, -1) == 0).astype("int32")
    first = xp.where(zeros.any(-1), zeros.argmax(-1) + 1, 0) if self.size else zeros
    raise_for(xp.asarray(first), SINGULAR, "cholesky_inverse")
    eye = xp.broadcast_to(xp.eye(self.shape[-1], dtype=self.dtype), self.shape)
    return _lapack.cholesky_solve(self, eye, upper)


def _solve_backward(
    F: Any, grad: Any, self: Any, input2: Any, result: Any, upper: bool, needs: Any
) -> Any:
    into_self = F.cholesky_solve(grad, input2, upper)
    if not needs[1]:
        return into_self, None
    common = F.matmul(into_self, adjoint(F, result))
    common = common + adjoint(F, common)
    if upper:
        return into_self, -F.matmul(input2, common)
    return into_self, -F.matmul(common, input2)


@op({("self", "input2"): _solve_backward}, out=True, out_rule=CASTABLE)
def cholesky_solve(xp: Any, self: Array, input2: Array, upper: bool = False) -> Any:
    """Solve AX = self, where ``input2`` is the Cholesky factor of A."""
    for name, array in (("b", self), ("u", input2)):
        if array.ndim < 2:
            raise RuntimeError(
                f"{name} should have at least 2 dimensions, but has {array.ndim} "
                "dimensions instead"
            )
    common_batch(self, input2)
    meets("cholesky_solve", self, input2)
    implemented("cholesky_solve_cpu", self)
    return _lapack.cholesky_solve(input2, self, upper)


_NAME = "torch.linalg.ldl_factor_ex"


@hidden_op(
    underived("linalg_ldl_factor_ex", "self"),
    name="linalg_ldl_factor_ex",
    key="_ldl_factor_ex",
    node=UNDERIVED,
    outputs=3,
    output_names=("LD", "pivots", "info"),
)
def _ldl_factor_ex(xp: Any, self: Array, hermitian: bool) -> Any:
    square(_NAME, self)
    inexact(_NAME, self)
    implemented("ldl_factor_kernel_cpu", self)
    return _lapack.ldl_factor(self, hermitian)


def ldl_factor_ex(
    input: Tensor,
    *,
    hermitian: bool = False,
    check_errors: bool = False,
    out: Any = None,
) -> Any:
    """Return (LD, pivots, info): ``info`` is where D was found singular, or 0."""
    check_tensor(input, "linalg_ldl_factor_ex")
    return into(
        "linalg_ldl_factor_ex",
        out,
        (input,),
        lambda: _ldl_factors(input, hermitian, check_errors, _NAME),
    )


def _ldl_factors(input: Tensor, hermitian: bool, check: bool, name: str) -> Any:
    found = _ldl_factor_ex(input, bool(hermitian))
    if check:
        sentence = "Unknown error code: {number}."
        raise_for(found[2]._data, sentence, name, LinAlgError)
    return return_types.linalg_ldl_factor_ex(found)


def ldl_factor(input: Tensor, *, hermitian: bool = False, out: Any = None) -> Any:
    """Return (LD, pivots) of symmetric, or hermitian, matrices: A = L D Lᵀ.

    Only the lower triangle of ``input``, of shape (*, n, n), is read. There are no
    gradients. Raises LinAlgError where D is singular.

    >>> import gradtape as torch
    >>> torch.linalg.ldl_factor(torch.tensor([[2.0, 0.0], [1.0, 3.0]])).LD
    tensor([[2.0000, 0.0000],
            [0.5000, 2.5000]])
    """
    check_tensor(input, "linalg_ldl_factor")

    def compute() -> Any:
        found = _ldl_factors(input, hermitian, True, "torch.linalg.ldl_factor")
        return return_types.linalg_ldl_factor(found[:2])

    return into("linalg_ldl_factor_ex", out, (input,), compute)


@hidden_op(
    underived("linalg_ldl_solve", "LD", "B"),
    name="linalg_ldl_solve",
    key="_ldl_solve",
    node=UNDERIVED,
)
def _ldl_solve(xp: Any, LD: Array, pivots: Array, B: Array, hermitian: bool) -> Any:
    name = "torch.linalg.ldl_solve"
    wrap_dim(-2, B.ndim)
    meets(name, B, LD)
    if pivots.dtype.kind not in "iu":
        raise RuntimeError(
            f"{name}: Expected pivots to be integers. Got {kind_name(pivots)}"
        )
    if pivots.shape != LD.shape[:-1]:
        raise RuntimeError(
            f"{name}: Expected LD.shape[:-1] and pivots.shape to be the same, but got "
            f"pivots with shape {list(pivots.shape)} instead"
        )
    common_batch(LD, B)
    implemented("ldl_solve_kernel_cpu", LD)
    return _lapack.ldl_solve(LD, pivots.astype("int32"), B, hermitian)


def ldl_solve(
    LD: Tensor,
    pivots: Tensor,
    B: Tensor,
    *,
    hermitian: bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """Solve AX = B from what ``ldl_factor(A)`` returned. There are no gradients."""
    names = {"LD": LD, "pivots": pivots, "B": B}
    for at, (name, given) in enumerate(names.items()):
        check_tensor(given, "linalg_ldl_solve", name, at + 1)
    return into(
        "linalg_ldl_solve",
        out,
        (LD, pivots, B),
        lambda: _ldl_solve(LD, pivots, B, bool(hermitian)),
    )
