"""QR factors, and the reflections that they are kept as."""

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
from .._support.linalg import (
    CASTABLE,
    adjoint,
    at_least_matrix,
    implemented,
    inexact,
    into,
    kind_name,
)
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


def _underived(F: Any, grad: Any) -> Any:
    raise NotImplementedError("the derivative for 'geqrf' is not implemented.")


@hidden_op(
    {"self": _underived},
    name="geqrf",
    key="_geqrf",
    outputs=2,
    differentiable=(0, 1),
    output_names=("a", "tau"),
    recorded="real",
)
def _geqrf(xp: Any, self: Array) -> Any:
    if self.ndim < 2:
        raise RuntimeError("torch.geqrf: input must have at least 2 dimensions.")
    implemented("geqrf_cpu", self)
    return _lapack.reflections(self)


@method(function=True)
@autocasts("geqrf")
def geqrf(input: Tensor, *, out: Any = None) -> Any:
    """Return (a, tau): R, and below it the reflections whose product is Q."""
    check_tensor(input, "geqrf")
    return into(
        "geqrf",
        out,
        (input,),
        lambda: return_types.geqrf(_geqrf(input)),
        CASTABLE,
    )


def _reflections_backward(F: Any, grad: Any, input: Any, tau: Any, last: Any) -> Any:
    """Return gradients of H₁ … Hₖ · last, where Hᵢ = I - tauᵢ vᵢ vᵢᴴ."""
    m, n, k = input.shape[-2], input.shape[-1], tau.shape[-1]
    if not k or 0 in input.shape:
        return None, None  # as PyTorch: no gradients, rather than zeros
    V = F._unit_diagonal(F.tril(input[..., :, :k], -1))
    vectors = [V[..., :, i : i + 1] for i in range(k)]
    factors = [F.unsqueeze(tau[..., i : i + 1], -1) for i in range(k)]
    products = [last]  # what each reflection is applied to, last one first
    for v, factor in zip(vectors[:0:-1], factors[:0:-1], strict=True):
        behind = products[-1]
        along = F.matmul(adjoint(F, v), behind)
        products.append(behind - factor * F.matmul(v, along))
    into_v, into_tau = [], []
    for v, factor, behind in zip(vectors, factors, reversed(products), strict=True):
        turned = adjoint(F, v)
        onto, along = F.matmul(turned, grad), F.matmul(turned, behind)
        into_tau.append(-F.sum(onto * F.conj(along), (-1,)))
        first = F.conj(factor) * F.matmul(grad, adjoint(F, along))
        into_v.append(-first - factor * F.matmul(behind, adjoint(F, onto)))
        grad = grad - F.conj(factor) * F.matmul(v, onto)
    return F._corner(F.tril(F.cat(into_v, -1), -1), m, n), F.cat(into_tau, -1)


def _householder_backward(F: Any, grad: Any, input: Any, tau: Any, result: Any) -> Any:
    identity = F._unit_diagonal(F.tril(0 * result, -1))
    return _reflections_backward(F, grad, input, tau, identity)


@hidden_op(
    {("input", "tau"): _householder_backward},
    name="linalg_householder_product",
    key="_householder_product",
)
def _householder_product(xp: Any, input: Array, tau: Array) -> Any:
    _check_reflections("torch.linalg.householder_product", input, tau)
    if input.shape[-2] < input.shape[-1]:
        raise RuntimeError(
            "torch.linalg.householder_product: input.shape[-2] must be greater than or "
            "equal to input.shape[-1]"
        )
    if input.shape[-1] < tau.shape[-1]:
        raise RuntimeError(
            "torch.linalg.householder_product: input.shape[-1] must be greater than or "
            "equal to tau.shape[-1]"
        )
    if tau.shape[:-1] != input.shape[:-2]:
        raise RuntimeError(
            "torch.linalg.householder_product: Expected batch dimensions of tau to be "
            f"equal to input.shape[:-2], but got {list(tau.shape[:-1])}"
        )
    if tau.dtype != input.dtype:
        raise RuntimeError(
            f"torch.linalg.householder_product: tau dtype {kind_name(tau)} does not "
            f"match input dtype {kind_name(input)}"
        )
    implemented("orgqr_cpu", input)
    return _lapack.householder(input, tau)


def _check_reflections(name: str, input: Any, tau: Any) -> None:
    if input.ndim < 2:
        raise RuntimeError(f"{name}: input must have at least 2 dimensions.")
    if not tau.ndim:
        raise IndexError("Dimension specified as -1 but tensor has no dimensions")


@autocasts("linalg_householder_product")
def householder_product(
    input: Tensor, tau: Tensor, *, out: Tensor | None = None
) -> Tensor:
    """Return the first n columns of a product of k Householder reflections.

    ``input`` is (*, m, n) with m >= n >= k: column i holds the vector of reflection i
    below its diagonal; ``tau`` is (*, k).

    >>> import gradtape as torch
    >>> a = torch.tensor([[3.0, 1.0], [4.0, 2.0]])
    >>> q = torch.linalg.householder_product(*torch.geqrf(a))
    >>> torch.allclose(q, torch.linalg.qr(a).Q)
    True
    """
    check_tensor(input, "linalg_householder_product")
    check_tensor(tau, "linalg_householder_product", "tau", 2)
    name = "torch.linalg.householder_product"
    return into(
        name, out, (input, tau), lambda: _householder_product(input, tau), CASTABLE
    )


@method(function=True)
@autocasts("orgqr")
def orgqr(input: Tensor, input2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return what :func:`gradtape.linalg.householder_product` returns."""
    check_tensor(input, "orgqr")
    check_tensor(input2, "orgqr", "input2", 2)
    return householder_product(input, input2, out=out)


def _ormqr_backward(
    F: Any,
    grad: Any,
    self: Any,
    input2: Any,
    input3: Any,
    result: Any,
    left: bool,
    transpose: bool,
    needs: Any,
) -> Any:
    into_other = F._ormqr(self, input2, grad, left, not transpose)
    if not (needs[0] or needs[1]):
        return None, None, into_other
    first, last = grad, input3
    if not left:
        first, last = adjoint(F, first), adjoint(F, last)
    if left == transpose:
        first, last = last, first
    return *_reflections_backward(F, first, self, input2, last), into_other


@hidden_op({("self", "input2", "input3"): _ormqr_backward}, name="ormqr", key="_ormqr")
def _ormqr(
    xp: Any, self: Array, input2: Array, input3: Array, left: bool, transpose: bool
) -> Any:
    name, tau, other = "torch.ormqr", input2, input3
    _check_reflections(name, self, tau)
    if other.ndim < 2:
        raise RuntimeError(f"{name}: other must have at least 2 dimensions.")
    side = -2 if left else -1
    if other.shape[side] != self.shape[-2]:
        raise RuntimeError(
            f"{name}: other.shape[{side}] must be equal to input.shape[-2]"
        )
    if tau.shape[-1] != min(other.shape[side], self.shape[-1]):
        raise RuntimeError(
            f"{name}: tau.shape[-1] must be equal to min(other.shape[{side}], "
            "input.shape[-1])"
        )
    _check_others(name, self, tau=tau, other=other)
    implemented("ormqr_cpu", self)
    return _lapack.multiply_reflections(self, tau, other, left, transpose)


def _check_others(name: str, input: Any, **others: Any) -> None:
    for label, array in others.items():
        if array.ndim != input.ndim - (label == "tau"):
            less = "one dimension less than" if label == "tau" else ""
            meant = less or "the same number of dimensions as"
            raise RuntimeError(
                f"{name}: Expected {label} to have {meant} input, but got {label}.ndim "
                f"equal to {array.ndim} and input.ndim is equal to {input.ndim}"
            )
    for label, array in others.items():
        if array.shape[: input.ndim - 2] != input.shape[:-2]:
            raise RuntimeError(
                f"{name}: Expected batch dimensions of {label} to be equal to "
                f"input.shape[:-2], but got {list(array.shape[: input.ndim - 2])}"
            )
    for label, array in others.items():
        if array.dtype != input.dtype:
            raise RuntimeError(
                f"{name}: Expected input and {label} to have the same dtype, but input "
                f"has dtype{kind_name(input)} and {label} has dtype {kind_name(array)}"
            )


@method(function=True)
@autocasts("ormqr")
def ormqr(
    input: Tensor,
    input2: Tensor,
    input3: Tensor,
    left: bool = True,
    transpose: bool = False,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Multiply ``input3`` by the square Q of the reflections in ``input``, ``input2``.

    From the left or the right; by the adjoint of Q where ``transpose`` is set.
    """
    for at, (name, given) in enumerate(
        {"input": input, "input2": input2, "input3": input3}.items()
    ):
        check_tensor(given, "ormqr", name, at + 1)
    return into(
        "torch.ormqr",
        out,
        (input, input2, input3),
        lambda: _ormqr(input, input2, input3, left, transpose),
        CASTABLE,
    )
