"""Singular values, of whole matrices and of their few largest."""

# ruff: noqa: N803, N806 - matrices have capital names, here as in PyTorch

from __future__ import annotations

from typing import Any

from ... import return_types
from ..._autocast.autocast import autocasts
from ..._dispatch.declare import FUNCTIONS, Array, method, public
from ..._dtypes import float32
from ..._tensor.tensor import Tensor
from .._kernels import lapack as _lapack
from .._support.arguments import as_bool, check_tensor
from .._support.linalg import (
    adjoint,
    at_least_matrix,
    complex_in,
    implemented,
    inexact,
    into,
    raw,
)
from .._support.operands import hidden_op
from ..views.permute import transpose
from .qr import qr

_PHASE = (
    "svd_backward: The singular vectors in the complex case are specified up to "
    "multiplication by e^{i phi}. The specified loss function depends on this phase "
    "term, making it ill-defined."
)


def _svd_backward(
    F: Any,
    grad: Any,
    result0: Any,
    result1: Any,
    result2: Any,
    full_matrices: bool,
) -> Any:
    into_u, into_s, into_vh = grad
    U, S, Vh = result0, result1, result2
    m, k, n = U.shape[-2], S.shape[-1], Vh.shape[-1]
    if into_u is None and into_vh is None:
        u, vh = U[..., :, :k], Vh[..., :k, :]
        if m >= n:
            return F.matmul(u, F.unsqueeze(into_s, -1) * vh)
        return F.matmul(u * F.unsqueeze(into_s, -2), vh)
    u, vh = U, Vh
    if full_matrices and m != n:  # the vectors beyond have no gradient
        u, vh = U[..., :, :k], Vh[..., :k, :]
        into_u = None if into_u is None else into_u[..., :, :k]
        into_vh = None if into_vh is None else into_vh[..., :k, :]
    inner = _inner(F, into_u, into_vh, u, S, vh)
    if into_s is not None:
        inner = inner + F.diag_embed(into_s)
    found = F.matmul(F.matmul(u, inner), vh)
    inverse = F.unsqueeze(1 / S, -2)
    if m > k and into_u is not None:
        part = into_u - F.matmul(u, F.matmul(adjoint(F, u), into_u))
        found = found + F.matmul(part * inverse, vh)
    if n > k and into_vh is not None:
        part = into_vh - F.matmul(F.matmul(into_vh, adjoint(F, vh)), vh)
        found = found + F.matmul(u * inverse, part)
    return found


def _inner(F: Any, into_u: Any, into_vh: Any, U: Any, S: Any, Vh: Any) -> Any:
    """Return the part of the gradient between U and Vᴴ that their turning makes."""
    skew_u = None if into_u is None else _skew(F, F.matmul(adjoint(F, U), into_u))
    skew_v = None if into_vh is None else _skew(F, F.matmul(Vh, adjoint(F, into_vh)))
    is_complex = complex_in(F, U)
    if is_complex:
        _same_phase(skew_u, skew_v)
    across, down = F.unsqueeze(S, -2), F.unsqueeze(S, -1)
    squares = F._unit_diagonal(across * across - down * down)
    parts = [] if skew_u is None else [skew_u * across]
    parts += [] if skew_v is None else [down * skew_v]
    if len(parts) == 1:
        return parts[0] / squares
    inner = (parts[0] + parts[1]) / squares
    if is_complex:  # turning both vectors of a pair alike changes nothing
        inner = inner + F.diag_embed(F.diagonal(skew_u, 0, -2, -1) / (2 * S))
    return inner


def _skew(F: Any, product: Any) -> Any:
    return product - adjoint(F, product)


def _same_phase(skew_u: Any, skew_v: Any) -> None:
    """Refuse a loss that depends on the phase each pair of vectors may have."""
    skews = [raw(s) for s in (skew_u, skew_v) if s is not None]
    turns = [s.diagonal(0, -2, -1).imag for s in skews]
    apart = turns[0] if len(turns) == 1 else turns[0] + turns[1]
    if apart.size and (abs(apart) > 1e-2 + 1e-2 * abs(turns[-1])).any():
        raise RuntimeError(_PHASE)


@hidden_op(
    {"A": _svd_backward},
    name="linalg_svd",
    key="_linalg_svd",
    outputs=3,
    differentiable=(0, 1, 2),
    output_names=("U", "S", "Vh"),
)
def _linalg_svd(xp: Any, A: Array, full_matrices: bool, compute_uv: bool = True) -> Any:
    at_least_matrix("linalg.svd", A)
    inexact("linalg.svd", A)
    implemented("linalg_svd_cpu", A)
    return _lapack.singular(A, full_matrices, compute_uv)


def _check_driver(driver: Any) -> None:
    if driver is not None:
        raise RuntimeError(
            "torch.linalg.svd: keyword argument `driver=` is only supported on CUDA "
            "inputs with cuSOLVER backend."
        )


@autocasts("linalg_svd")
def svd(
    A: Tensor,
    full_matrices: bool = True,
    *,
    driver: str | None = None,
    out: Any = None,
) -> Any:
    """Return (U, S, Vh) with A = U diag(S) Vh, singular values descending.

    A is (*, m, n). U is (*, m, m) and Vh (*, n, n), or (*, m, k) and (*, k, n) with
    ``full_matrices=False``, where k is the smaller size. Gradients are undefined for
    repeated singular values; for complex A, backward raises RuntimeError where the
    loss depends on the phases of the vectors.

    >>> import gradtape as torch
    >>> torch.linalg.svd(torch.tensor([[3.0, 0.0], [0.0, 4.0]])).S
    tensor([4., 3.])
    """
    check_tensor(A, "linalg_svd", "A")
    _check_driver(driver)
    return into(
        "_linalg_svd",
        out,
        (A,),
        lambda: return_types.linalg_svd(_linalg_svd(A, full_matrices)),
    )


def singular_values(A: Tensor) -> Tensor:
    """Return singular values; the vectors are computed where gradients need them."""
    return _linalg_svd(A, False, _is_recorded(A))[1]


def _is_recorded(A: Tensor) -> bool:
    from ..._modes.grad_mode import mode

    return (mode.grad and A.requires_grad) or mode.now.duals is not None


@autocasts("linalg_svdvals")
def svdvals(
    A: Tensor, *, driver: str | None = None, out: Tensor | None = None
) -> Tensor:
    """Return the singular values of matrices of shape (*, m, n), descending.

    >>> import gradtape as torch
    >>> torch.linalg.svdvals(torch.tensor([[3.0, 0.0], [0.0, 4.0]]))
    tensor([4., 3.])
    """
    check_tensor(A, "linalg_svdvals", "A")
    _check_driver(driver)
    return into("_linalg_svd", out, (A,), lambda: singular_values(A))


@method("svd", function=True)
@autocasts("svd")
def _old_svd(
    input: Tensor, some: bool = True, compute_uv: bool = True, *, out: Any = None
) -> Any:
    """Return (U, S, V) with input = U diag(S) Vᴴ; zeros for vectors not asked for."""
    check_tensor(input, "svd")
    as_bool(some, "svd", "some", 2)
    if input.dim() < 2:
        raise RuntimeError(
            "linalg.svd: input should have at least 2 dimensions, but has "
            f"{input.dim()} dimensions instead"
        )

    def compute() -> Any:
        if not compute_uv:
            return return_types.svd(_without_vectors(input))
        u, s, vh = _linalg_svd(input, not some)
        return return_types.svd((u, s, _turned(vh)))

    return into("svd", out, (input,), compute)


def _without_vectors(input: Tensor) -> Any:
    from ..creation.factories import zeros

    s = singular_values(input)
    *batch, m, n = input.shape
    kind, place = input.dtype, input.device
    u = zeros((*batch, m, m), dtype=kind, device=place)
    v = zeros((*batch, n, n), dtype=kind, device=place)
    return u, s, transpose(v, -2, -1)


def _turned(vh: Tensor) -> Tensor:
    found = transpose(vh, -2, -1)
    return found.conj() if vh.is_complex() else found


def _away(A: Tensor, M: Tensor | None, X: Tensor) -> Tensor:
    """Return ``(A - M) X`` without making ``A - M``."""
    found = A.matmul(X)
    return found if M is None else found - M.matmul(X)


def _basis(A: Tensor, q: int, niter: int, M: Tensor | None) -> Tensor:
    """Return ``q`` orthonormal columns that span most of what ``A - M`` does."""
    inexact = A.is_floating_point() or A.is_complex()
    kind = A.dtype if inexact else float32
    start = FUNCTIONS["randn"](A.shape[-1], q, dtype=kind, device=A.device)
    found = qr(_away(A, M, start)).Q
    turned = None if M is None else M.mH
    for _ in range(niter):
        found = qr(_away(A.mH, turned, found)).Q
        found = qr(_away(A, M, found)).Q
    return found


@public
def svd_lowrank(
    A: Tensor, q: int | None = 6, niter: int | None = 2, M: Tensor | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """Return (U, S, V), about the ``q`` largest singular values of ``A - M``.

    A is of shape (…, m, n), U (…, m, q), V (…, n, q). ``niter`` rounds make the random
    guess better. Not exact, and not the same in two calls.

    >>> import gradtape as torch
    >>> u, s, v = torch.svd_lowrank(torch.ones(3, 2), q=1)
    >>> s
    tensor([2.4495])
    """
    mean = None if M is None else M.expand(A.shape)
    is_wide = A.shape[-2] < A.shape[-1]
    tall = A.mH if is_wide else A
    if mean is not None and is_wide:
        mean = mean.mH
    Q = _basis(tall, 6 if q is None else q, 2 if niter is None else niter, mean)
    small = Q.mH.matmul(tall)
    if mean is not None:
        small = small - Q.mH.matmul(mean)
    found = svd(small, full_matrices=False)
    U, V = Q.matmul(found.U), found.Vh.mH
    return (V, found.S, U) if is_wide else (U, found.S, V)


@public
def pca_lowrank(
    A: Tensor, q: int | None = None, center: bool = True, niter: int = 2
) -> tuple[Tensor, Tensor, Tensor]:
    """Return (U, S, V) of the data in the rows of A: V are the principal directions.

    Raises ValueError for a ``q`` or ``niter`` out of range.
    """
    m, n = A.shape[-2:]
    if q is None:
        q = min(6, m, n)
    elif not 0 <= q <= min(m, n):
        raise ValueError(
            f"q(={q}) must be non-negative integer and not greater than min(m, n)="
            f"{min(m, n)}"
        )
    if niter < 0:
        raise ValueError(f"niter(={niter}) must be non-negative integer")
    if not center:
        return svd_lowrank(A, q, niter)
    if A.is_sparse:  # stays so
        if A.dim() != 2:
            raise ValueError("pca_lowrank input is expected to be 2-dimensional tensor")
        return svd_lowrank(A, q, niter, A.sum(0).to_dense() / m)
    return svd_lowrank(A - A.mean(dim=(-2,), keepdim=True), q, niter)
