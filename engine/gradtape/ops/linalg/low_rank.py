"""Singular values of matrices of low rank, found from random projections.

Algorithms 4.4 and 5.1 of Halko, Martinsson and Tropp, "Finding structure with
randomness" (arXiv:0909.4061).
"""

# ruff: noqa: N803, N806 - matrices have capital names, here as in PyTorch

from __future__ import annotations

from ..._dispatch.declare import FUNCTIONS, public
from ..._dtypes import float32
from ..._tensor.tensor import Tensor
from .qr import qr
from .svd import svd


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
