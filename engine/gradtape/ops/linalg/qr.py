"""QR factors: ``qr``."""

# ruff: noqa: N803, N806 - matrices have capital names, here as in PyTorch

from __future__ import annotations

from typing import Any

from ... import return_types
from ..._autocast.autocast import autocasts
from ..._common.warn import warn_once
from ..._dispatch.declare import Array, method
from ..._tensor.tensor import Tensor
from .._kernels import lapack as _lapack
from .._support.arguments import as_bool, check_tensor
from .._support.linalg import adjoint, at_least_matrix, implemented, inexact, into
from .._support.operands import hidden_op

_NO_Q = (
    "The derivative of linalg.qr depends on Q, which is not computed when mode='r'. "
    "Please use linalg.qr(A, mode='reduced') if you are going to differentiate through "
    "linalg.qr."
)
_COMPLETE = (
    "The QR decomposition is not differentiable when mode='complete' and nrows > ncols."
)


def _qr_backward(F: Any, grad: Any, result0: Any, result1: Any, mode: str) -> Any:
    into_q, into_r = grad
    Q, R = result0, result1
    if mode == "r":
        raise RuntimeError(_NO_Q)
    m, n = Q.shape[-2], R.shape[-1]
    if mode == "complete" and m > n:
        raise RuntimeError(_COMPLETE)
    if m < n:
        return _wide_backward(F, into_q, into_r, Q, R)
    turned = adjoint(F, R)
    parts = [] if into_r is None else [F.matmul(into_r, turned)]
    parts += [] if into_q is None else [-F.matmul(adjoint(F, Q), into_q)]
    both = parts[0] if len(parts) == 1 else parts[0] + parts[1]
    found = F.matmul(Q, both - _skew_part(F, both))
    found = found if into_q is None else found + into_q
    return F.linalg_solve_triangular(turned, found, upper=False, left=False)


def _skew_part(F: Any, matrix: Any) -> Any:
    """Return the lower half of X - Xᴴ, half of its diagonal with it."""
    skew = matrix - adjoint(F, matrix)
    return 0.5 * (F.tril(skew, 0) + F.tril(skew, -1))


def _wide_backward(F: Any, into_q: Any, into_r: Any, Q: Any, R: Any) -> Any:
    """Return the gradient of A where it has fewer rows than columns."""
    m = Q.shape[-2]
    turned = adjoint(F, R[..., :, :m])
    direct = None
    spin = None if into_q is None else F.matmul(adjoint(F, Q), into_q)
    if into_r is not None:
        direct = F.matmul(into_r[..., :, :m], turned)
        beyond = F.matmul(into_r[..., :, m:], adjoint(F, R[..., :, m:])) + direct
        spin = -beyond if spin is None else spin - beyond
    inner = _skew_part(F, spin)
    inner = inner if direct is None else inner + direct
    first = F.linalg_solve_triangular(
        turned, F.matmul(Q, inner), upper=False, left=False
    )
    if into_r is None:
        return F._corner(first, m, R.shape[-1])
    return F.cat([first, F.matmul(Q, into_r[..., :, m:])], -1)


@hidden_op(
    {"A": _qr_backward},
    name="linalg_qr",
    key="_linalg_qr",
    outputs=2,
    differentiable=(0, 1),
    output_names=("Q", "R"),
)
def _linalg_qr(xp: Any, A: Array, mode: str) -> Any:
    at_least_matrix("linalg.qr", A)
    inexact("linalg.qr", A)
    if mode not in ("reduced", "complete", "r"):
        raise RuntimeError(
            f"qr received unrecognized mode '{mode}' but expected one of 'reduced' "
            "(default), 'r', or 'complete'"
        )
    implemented("geqrf_cpu", A)
    return _lapack.orthogonal(A, mode)


@autocasts("linalg_qr")
def qr(A: Tensor, mode: str = "reduced", *, out: Any = None) -> Any:
    """Return (Q, R) with A = Q R: orthonormal columns and an upper triangle.

    A is (*, m, n). Q is (*, m, k) with the smaller size k, or (*, m, m) in the mode
    "complete"; in the mode "r" it is empty, and backward raises RuntimeError.

    >>> import gradtape as torch
    >>> torch.linalg.qr(torch.tensor([[3.0, 1.0], [4.0, 2.0]])).R.abs()
    tensor([[5.0000, 2.2000],
            [0.0000, 0.4000]])
    """
    check_tensor(A, "linalg_qr", "A")
    return into(
        "linalg_qr", out, (A,), lambda: return_types.linalg_qr(_linalg_qr(A, mode))
    )


_DEPRECATED = (
    "torch.qr is deprecated in favor of torch.linalg.qr and will be removed in a "
    "future PyTorch release.\n"
    "The boolean parameter 'some' has been replaced with a string parameter 'mode'.\n"
    "Q, R = torch.qr(A, some)\n"
    "should be replaced with\n"
    "Q, R = torch.linalg.qr(A, 'reduced' if some else 'complete')"
)


@method("qr", function=True)
@autocasts("qr")
def _old_qr(input: Tensor, some: bool = True, *, out: Any = None) -> Any:
    """Return (Q, R); the complete Q where ``some`` is False.

    Deprecated, as in PyTorch: use :func:`gradtape.linalg.qr`.
    """
    check_tensor(input, "qr")
    warn_once(_DEPRECATED)
    mode = "reduced" if as_bool(some, "qr", "some", 2) else "complete"
    return into("qr", out, (input,), lambda: return_types.qr(_linalg_qr(input, mode)))
