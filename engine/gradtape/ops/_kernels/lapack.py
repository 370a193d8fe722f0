"""LAPACK over batches of matrices; what NumPy offers itself runs without a loop.

Everything here takes and returns NumPy arrays; arrays of a device come to the host and
go back. Matrices come out column-major, as LAPACK writes them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from ..._backend import backend_of
from .._support.linalg import LinAlgError, columns, raise_for, rows

K = TypeVar("K", bound=Callable[..., Any])

_LETTERS = {"f": "s", "d": "d", "F": "c", "D": "z"}
_COMPLEX = {"orgqr": "ungqr", "ormqr": "unmqr", "ormqr_lwork": "unmqr_lwork"}


def host(function: K) -> K:
    """Let a function of NumPy arrays serve arrays of a device too."""

    @functools.wraps(function)
    def run(*args: Any) -> Any:
        first = args[0]
        if type(first) is np.ndarray:
            return function(*args)
        backend = backend_of(first)
        kind = type(first)
        moved = [backend.to_host(a) if type(a) is kind else a for a in args]
        found = function(*moved)
        if isinstance(found, tuple):
            return tuple(backend.xp.asarray(a) for a in found)
        return backend.xp.asarray(found)

    return run  # type: ignore[return-value]


@functools.cache
def routine(name: str, dtype: Any, library: str = "lapack") -> Any:
    """Return the routine of LAPACK or BLAS for a dtype: ``dgetrf`` for getrf."""
    from scipy.linalg import blas, lapack  # 0.1 s, so not before the first call

    if dtype.kind == "c":
        name = _COMPLEX.get(name, name)
    source = lapack if library == "lapack" else blas
    return getattr(source, _LETTERS[dtype.char] + name)


def _expanded(array: Any, batch: tuple[int, ...]) -> Any:
    return np.broadcast_to(array, (*batch, *array.shape[-2:]))


# ---- LU ----------------------------------------------------------------------------


@host
def lu_factor(a: Any) -> Any:
    """Return (LU, pivots counted from 1, info) of matrices of any shape."""
    lu = columns(np, a, copy=True)
    batch, size = a.shape[:-2], min(a.shape[-2:])
    pivots, info = np.zeros((*batch, size), "int32"), np.zeros(batch, "int32")
    if not a.size:
        return lu, pivots, info
    getrf = routine("getrf", a.dtype)
    for at in np.ndindex(batch):
        lu[at], found, info[at] = getrf(lu[at], overwrite_a=True)
        pivots[at] = found + 1
    return lu, pivots, info


@host
def lu_solve(lu: Any, pivots: Any, b: Any, left: bool, adjoint: bool) -> Any:
    """Solve AX = B or XA = B, with A or its adjoint, from the factors of A."""
    batch = np.broadcast_shapes(lu.shape[:-2], b.shape[:-2])
    b = _expanded(b, batch)
    conjugated = not left and adjoint and b.dtype.kind == "c"
    if not left:  # solve for the transpose
        b = b.swapaxes(-1, -2)
    found = columns(np, b.conj() if conjugated else b, copy=True)
    transposed = (2 if adjoint else 0) if left else (0 if adjoint else 1)
    if found.size:
        getrs = routine("getrs", lu.dtype)
        lu = _expanded(lu, batch)
        pivots = np.broadcast_to(pivots, (*batch, pivots.shape[-1])) - 1
        for at in np.ndindex(batch):
            solved, _ = getrs(lu[at], pivots[at], found[at], transposed, True)
            found[at] = solved
    if conjugated:
        np.conjugate(found, found)
    return found if left else found.swapaxes(-1, -2)


@host
def inverse(a: Any) -> Any:
    """Return (inverses, info). A singular matrix gets infinities."""
    try:
        info = np.zeros(a.shape[:-2], "int32")
        return columns(np, np.linalg.inv(a)), info
    except np.linalg.LinAlgError:
        lu, pivots, info = lu_factor(a)
        eye = np.broadcast_to(np.eye(a.shape[-1], dtype=a.dtype), a.shape)
        return lu_solve(lu, pivots, eye, True, False), info


# ---- triangles ---------------------------------------------------------------------


@host
def solve_triangular(a: Any, b: Any, upper: bool, left: bool, unit: bool) -> Any:
    """Solve AX = B or XA = B where A is a triangle of the matrices given."""
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    found = columns(np, _expanded(b, batch), copy=True)
    if found.size:
        trsm = routine("trsm", a.dtype, "blas")
        a, side, lower = _expanded(a, batch), int(not left), int(not upper)
        for at in np.ndindex(batch):
            one = a[at]
            turned = one.flags.c_contiguous and not one.flags.f_contiguous
            found[at] = trsm(
                1.0,
                one.T if turned else one,
                found[at],
                side=side,
                lower=lower ^ turned,
                trans_a=int(turned),
                diag=int(unit),
                overwrite_b=1,
            )
    return found


@host
def cholesky(a: Any, upper: bool) -> Any:
    """Return (factors, info): lower triangles, or upper ones of the upper part."""
    if upper:  # the lower factor of what the upper part says
        a = a.conj().swapaxes(-1, -2)
    info = np.zeros(a.shape[:-2], "int32")
    try:
        found = np.linalg.cholesky(a)
        bad = np.isnan(found.diagonal(0, -2, -1))
        info[...] = np.where(bad.any(-1), bad.argmax(-1) + 1, 0) if a.size else 0
    except np.linalg.LinAlgError:
        found = columns(np, a, copy=True)
        potrf = routine("potrf", a.dtype)
        for at in np.ndindex(info.shape):
            found[at], info[at] = potrf(found[at], lower=1, clean=1)
    return columns(np, found.conj().swapaxes(-1, -2) if upper else found), info


@host
def cholesky_solve(factor: Any, b: Any, upper: bool) -> Any:
    """Solve AX = B from the Cholesky factor of A."""
    batch = np.broadcast_shapes(factor.shape[:-2], b.shape[:-2])
    found = columns(np, _expanded(b, batch), copy=True)
    if found.size:
        potrs, factor = routine("potrs", b.dtype), _expanded(factor, batch)
        for at in np.ndindex(batch):
            found[at], _ = potrs(factor[at], found[at], lower=int(not upper))
    return found


# ---- orthogonal factors ------------------------------------------------------------


@host
def householder(a: Any, tau: Any) -> Any:
    """Return the first columns of the products of Householder reflections."""
    found = columns(np, a, copy=True)
    if not a.size:
        return found
    if not tau.shape[-1]:
        found[...] = np.eye(*a.shape[-2:], dtype=a.dtype)
        return found
    orgqr = routine("orgqr", a.dtype)
    for at in np.ndindex(a.shape[:-2]):
        found[at], _, _ = orgqr(found[at], tau[at])
    return found


@host
def multiply_reflections(a: Any, tau: Any, c: Any, left: bool, transposed: bool) -> Any:
    """Multiply by the square Q that reflections stand for, from the left or right."""
    found = columns(np, c, copy=True)
    if not (c.size and tau.size):
        return found
    ormqr = routine("ormqr", a.dtype)
    flag = "N" if not transposed else "C" if a.dtype.kind == "c" else "T"
    reflections = columns(np, a)
    lwork = max(1, 64 * max(c.shape[-2:]))
    for at in np.ndindex(a.shape[:-2]):
        found[at], _, info = ormqr(
            "L" if left else "R",
            flag,
            reflections[at][:, : tau.shape[-1]],
            tau[at],
            found[at],
            lwork,
        )
        assert info == 0, "LAPACK refused an argument of ormqr"
    return found


# ---- symmetric indefinite ----------------------------------------------------------


@host
def ldl_factor(a: Any, hermitian: bool) -> Any:
    """Return (LD, pivots, info): the lower factor and its diagonal in one matrix."""
    ld = np.zeros_like(columns(np, a))
    ld[...] = np.tril(a)
    pivots = np.zeros(a.shape[:-1], "int32")
    info = np.zeros(a.shape[:-2], "int32")
    trf = routine(_symmetric("trf", a, hermitian), a.dtype)
    if a.size:
        for at in np.ndindex(a.shape[:-2]):
            found, pivots[at], info[at] = trf(ld[at], lower=1)
            ld[at] = np.tril(found)
    return ld, pivots, info


@host
def ldl_solve(ld: Any, pivots: Any, b: Any, hermitian: bool) -> Any:
    """Solve AX = B from the LDL factors of A."""
    batch = np.broadcast_shapes(ld.shape[:-2], b.shape[:-2])
    found = columns(np, _expanded(b, batch), copy=True)
    if found.size:
        trs = routine(_symmetric("trs", ld, hermitian), ld.dtype)
        ld, pivots = (
            _expanded(ld, batch),
            np.broadcast_to(pivots, (*batch, ld.shape[-1])),
        )
        for at in np.ndindex(batch):
            found[at], _ = trs(ld[at], pivots[at], found[at], lower=1)
    return found


def _symmetric(name: str, a: Any, hermitian: bool) -> str:
    return ("he" if hermitian and a.dtype.kind == "c" else "sy") + name


# ---- spectra -----------------------------------------------------------------------

_NOT_CONVERGED = (
    "The algorithm failed to converge because the input matrix is ill-conditioned or "
    "has too many repeated {values} (error code: {{number}})."
)
_NOT_FINITE = (
    "The algorithm failed to converge because the input matrix contained non-finite "
    "values."
)


@host
def singular(a: Any, full: bool, vectors: bool) -> Any:
    """Return (U, S, Vh) of matrices; U and Vh empty where no vectors are asked for.

    Raises LinAlgError for matrices with NaN.
    """
    refuse_nan(a)
    try:
        found = np.linalg.svd(a, full_matrices=full, compute_uv=vectors)
    except np.linalg.LinAlgError:
        infos = np.zeros(a.shape[:-2], "int32") + min(a.shape[-2:]) - 1
        sentence = _NOT_CONVERGED.format(values="singular values")
        raise_for(infos, sentence, "linalg.svd")
        raise LinAlgError("linalg.svd: " + _NOT_FINITE) from None
    if not vectors:
        empty = np.zeros(0, a.dtype)
        return empty, rows(np, found), empty
    u, s, vh = found
    return columns(np, u), rows(np, s), columns(np, vh)


def refuse_nan(a: Any) -> None:
    """Raise LinAlgError for matrices with NaN, in the words of the SVD."""
    bad = np.isnan(a).any((-2, -1)).astype("int32")
    raise_for(bad, _NOT_FINITE, "linalg.svd")


@host
def hermitian_spectrum(a: Any, uplo: Any) -> Any:
    """Return (eigenvalues, eigenvectors) of the matrices that one triangle gives."""
    try:
        values, vectors = np.linalg.eigh(a, uplo)
    except np.linalg.LinAlgError:
        infos = np.zeros(a.shape[:-2], "int32") + max(a.shape[-1] - 1, 1)
        sentence = _NOT_CONVERGED.format(values="eigenvalues")
        raise_for(infos, sentence, "linalg.eigh")
        raise
    return rows(np, values), columns(np, vectors)


@host
def spectrum(a: Any) -> Any:
    """Return complex (eigenvalues, eigenvectors) of square matrices."""
    kind = np.result_type(a.dtype, "complex64")
    if not a.size:
        return np.zeros(a.shape[:-1], kind), np.zeros(a.shape, kind)
    values, vectors = np.linalg.eig(a)
    return rows(np, values.astype(kind)), columns(np, vectors.astype(kind))


@host
def reflections(a: Any) -> Any:
    """Return (R over the reflections, tau): a QR factorization as LAPACK keeps it."""
    if not a.size:
        size = min(a.shape[-2:])
        return columns(np, a, copy=True), np.zeros((*a.shape[:-2], size), a.dtype)
    turned, tau = np.linalg.qr(a, mode="raw")
    return columns(np, turned.swapaxes(-1, -2)), rows(np, tau)


@host
def orthogonal(a: Any, mode: Any) -> Any:
    """Return (Q, R) of matrices; Q is empty in the mode "r"."""
    if mode == "r":
        return np.zeros(0, a.dtype), columns(np, np.linalg.qr(a, mode="r"))
    q, r = np.linalg.qr(a, mode=mode)
    return columns(np, q), columns(np, r)
