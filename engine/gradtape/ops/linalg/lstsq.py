"""Least squares, pseudo-inverses, ranks and condition numbers."""

# ruff: noqa: N803 - matrices have capital names, here as in PyTorch

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np

from ... import return_types
from ..._autocast.autocast import autocasts
from ..._dispatch.declare import FUNCTIONS, Array, Operand, method
from ..._dtypes import int64
from ..._modes.grad_mode import no_grad
from ..._tensor.tensor import Tensor
from .._kernels import lapack as _lapack
from .._kernels.lapack import host, routine
from .._support.arguments import check_tensor
from .._support.linalg import (
    CASTABLE,
    adjoint,
    at_least_matrix,
    columns,
    common_batch,
    into,
    kind_name,
    raise_for,
    rows,
    square,
)
from .._support.operands import hidden_op, number
from .eig import eigvalsh
from .norms import matrix_norm
from .solve import inverted
from .svd import singular_values

_OVERLOADS = """{name}() received an invalid combination of arguments - got ({got}), \
but expected one of:
 * (Tensor input, *, Tensor atol = None, Tensor rtol = None, bool hermitian = False, \
Tensor out = None)
 * (Tensor input, *, float atol = None, float rtol = None, bool hermitian = False, \
Tensor out = None)
 * (Tensor input, Tensor {old}, bool hermitian = False, *, Tensor out = None)
 * (Tensor input, float {old}, bool hermitian = False, *, Tensor out = None)
"""


def _check_input(name: str, old: str, input: Any) -> None:
    if not isinstance(input, Tensor):
        got = type(input).__name__
        raise TypeError(_OVERLOADS.format(name=name, got=got, old=old))


def _check_tolerances(name: str, **given: Any) -> None:
    for word, value in given.items():
        if isinstance(value, Tensor) and value.is_complex():
            raise RuntimeError(
                f"torch.linalg.{name}: {word} tensor of complex type is not supported. "
                f"Got {value.dtype.cpp_name}"
            )


def _cut(xp: Any, self: Any, largest: Any, atol: Any, rtol: Any) -> Any:
    """Return the size up to which singular values count as zero.

    ``largest`` is the largest of each matrix, with its axis kept.
    """
    default = float(xp.finfo(self.dtype).eps) * max(self.shape[-2:])
    if rtol is None:
        if atol is None:
            rtol = default
        else:
            given = xp.asarray(atol)
            rtol = xp.where(given > 0, 0.0, default)
    atol = 0.0 if atol is None else atol
    limits = [xp.asarray(t) for t in (atol, rtol)]
    absolute, relative = (t[..., None] if t.ndim else t for t in limits)
    return xp.maximum(absolute, relative * largest)


# ---- pseudoinverse -----------------------------------------------------------------


def pinv_backward(F: Any, grad: Any, self: Any, result: Any) -> Any:
    """Return the gradient; products are arranged to keep the matrices small."""
    turned, g = adjoint(F, result), adjoint(F, grad)
    if self.shape[-2] <= self.shape[-1]:
        k = F.matmul(g, result)
        kept = F.matmul(k, turned)
        found = -adjoint(F, F.matmul(result, k)) + kept
        found = found - F.matmul(F.matmul(self, result), kept)
        return found + F.matmul(F.matmul(turned, result), g - F.matmul(k, self))
    k = F.matmul(result, g)
    kept = F.matmul(turned, k)
    found = -adjoint(F, F.matmul(k, result))
    found = found + F.matmul(F.matmul(g - F.matmul(self, k), result), turned)
    return found + kept - F.matmul(F.matmul(kept, result), self)


@hidden_op({"self": pinv_backward}, name="linalg_pinv", key="_linalg_pinv")
def _linalg_pinv(
    xp: Any,
    self: Array,
    atol: Operand | None,
    rtol: Operand | None,
    hermitian: bool,
) -> Any:
    if self.ndim < 2 or self.dtype.char not in "fdFD":
        raise RuntimeError(
            f"linalg.pinv({kind_name(self)}{{{list(self.shape)}}}): expected a tensor "
            "with 2 or more dimensions of float, double, cfloat or cdouble types"
        )
    m, n = self.shape[-2:]
    if not self.size:
        return xp.zeros((*self.shape[:-2], n, m), self.dtype)
    if hermitian:
        square("linalg.eigh", self)
        values, u = _lapack.hermitian_spectrum(self, "L")
        v, sizes = u, xp.abs(values)
        largest = sizes.max(-1, keepdims=True)
    else:
        u, values, vh = _lapack.singular(self, False, True)
        v, sizes, largest = vh.conj().swapaxes(-1, -2), values, values[..., :1]
    kept = sizes > _cut(xp, self, largest, atol, rtol)
    inverses = xp.where(kept, 1 / values, 0).astype(values.dtype)
    found = xp.matmul(v * inverses[..., None, :], u.conj().swapaxes(-1, -2))
    return rows(xp, found.astype(self.dtype, copy=False))


def pinv(
    input: Tensor,
    rcond: Any = None,
    hermitian: bool = False,
    *,
    atol: Any = None,
    rtol: Any = None,
    out: Tensor | None = None,
) -> Tensor:
    """Return the pseudoinverses of matrices: (*, m, n) gives (*, n, m).

    Singular values up to the larger of ``atol`` and ``rtol`` times the largest one
    count as zero. Both may be tensors, a value per matrix. ``rcond`` is the older name
    of ``rtol``. With ``hermitian`` only the lower triangle is read.

    >>> import gradtape as torch
    >>> torch.linalg.pinv(torch.tensor([[2.0], [0.0]]))
    tensor([[0.5000, 0.0000]])
    """
    _check_input("linalg_pinv", "rcond", input)
    if rcond is not None:
        _check_tolerances("pinv", rcond=rcond)
        atol, rtol = 0.0, rcond
    return _pinv(input, atol, rtol, hermitian, out)


def _pinv(input: Tensor, atol: Any, rtol: Any, hermitian: bool, out: Any) -> Tensor:
    _check_tolerances("pinv", atol=atol, rtol=rtol)
    return into(
        "linalg.pinv",
        out,
        (input,),
        lambda: _linalg_pinv(input, atol, rtol, hermitian),
        CASTABLE,
    )


@method(function=True)
@autocasts("pinverse")
def pinverse(input: Tensor, rcond: float = 1e-15) -> Tensor:
    """Return the pseudoinverses of matrices."""
    check_tensor(input, "pinverse")
    return _pinv(input, 0.0, rcond, False, None)


# ---- rank --------------------------------------------------------------------------


@autocasts("linalg_matrix_rank")
def matrix_rank(
    input: Tensor,
    tol: Any = None,
    hermitian: bool = False,
    *,
    atol: Any = None,
    rtol: Any = None,
    out: Tensor | None = None,
) -> Tensor:
    """Return how many singular values of matrices are not zero.

    Those up to the larger of ``atol`` and ``rtol`` times the largest count as zero.
    ``tol`` is the older name of ``atol``.

    >>> import gradtape as torch
    >>> torch.linalg.matrix_rank(torch.tensor([[1.0, 2.0], [2.0, 4.0]]))
    tensor(1)
    """
    _check_input("linalg_matrix_rank", "tol", input)
    if tol is not None:
        atol, rtol = tol, 0.0

    def compute() -> Tensor:
        name = "torch.linalg.matrix_rank"
        at_least_matrix(name, input, "input")
        if input._data.dtype.char not in "fdFD":
            raise RuntimeError(
                "This function doesn't handle types other than float and double"
            )
        _check_tolerances("matrix_rank", atol=atol, rtol=rtol)
        with no_grad():
            plain = input.detach()
            if not input.numel():
                shape = tuple(input.shape[:-2])
                return FUNCTIONS["zeros"](shape, dtype=int64, device=input.device)
            sizes = eigvalsh(plain).abs() if hermitian else singular_values(plain)
            return _count_above(plain, sizes, atol, rtol)

    return into("linalg.matrix_rank", out, (input,), compute, CASTABLE)


@hidden_op({})
def _count_above(
    xp: Any, self: Array, sizes: Array, atol: Operand | None, rtol: Operand | None
) -> Any:
    limit = _cut(xp, self, sizes.max(-1, keepdims=True), atol, rtol)
    return (sizes > limit).sum(-1)


# ---- condition ---------------------------------------------------------------------


@autocasts("linalg_cond")
def cond(input: Tensor, p: Any = None, *, out: Tensor | None = None) -> Tensor:
    """Return condition numbers: a matrix norm times that of the inverse.

    ``p`` is one of the orders of :func:`matrix_norm`; by default 2, for which matrices
    need not be square. Singular matrices have inf.

    >>> import gradtape as torch
    >>> torch.linalg.cond(torch.tensor([[4.0, 0.0], [0.0, 2.0]]))
    tensor(2.)
    """
    check_tensor(input, "linalg_cond")
    order = number(p)
    return into("linalg.cond", out, (input,), lambda: _cond(input, order), CASTABLE)


def _cond(input: Tensor, p: Any) -> Tensor:
    shown = p if isinstance(p, str) else "" if p is None else f"{p:g}"
    label = f"linalg.cond(ord={shown})"
    if isinstance(p, str):
        square(label, input)
    elif input.dim() < 2:
        raise RuntimeError(
            "linalg.cond: The input tensor must have at least 2 dimensions."
        )
    if p not in (None, 2, -2, 1, -1, inf, -inf, "fro", "nuc"):
        raise RuntimeError(f"linalg.cond got an invalid norm type: {shown}")
    if p in (None, 2, -2):
        return _extremes(input, p == -2)
    square(label, input)
    if not input.numel():
        real = input.abs() if input.is_complex() else input
        return FUNCTIONS["zeros"](tuple(input.shape[:-2]), dtype=real.dtype)
    if p == "nuc":
        values = singular_values(input)
        return values.sum(-1) * values.reciprocal().sum(-1)
    found, info = inverted(input, "")
    found = found.masked_fill((info > 0).unsqueeze(-1).unsqueeze(-1), inf)
    both = matrix_norm(input, p) * matrix_norm(found, p)
    return FUNCTIONS["nan_to_num"](both, inf, inf, -inf)


def _extremes(input: Tensor, inverse: bool) -> Tensor:
    """Return the largest singular value through the smallest, or the other way."""
    values = singular_values(input)
    if not input.numel():
        return FUNCTIONS["zeros"](tuple(input.shape[:-2]), dtype=values.dtype)
    last = values.shape[-1] - 1
    largest, smallest = values.narrow(-1, 0, 1), values.narrow(-1, last, 1)
    found = smallest / largest if inverse else largest / smallest
    return found.squeeze(-1)


_NAME = "torch.linalg.lstsq"
_RANK = (
    "The least squares solution could not be computed because the input matrix does "
    "not have full rank (error code: {number})."
)


def _is_vector(A: Any, B: Any) -> bool:
    return len(A.shape) - 1 == len(B.shape) and tuple(B.shape) == tuple(A.shape[:-1])


def _backward(F: Any, grad: Any, self: Any, b: Any, result0: Any, needs: Any) -> Any:
    into_x, into_residuals = grad[0], grad[1]
    vector = _is_vector(self, b)
    right, x = (F.unsqueeze(t, -1) if vector else t for t in (b, result0))
    into_a, into_b = [], []
    if into_x is not None:
        into_x = F.unsqueeze(into_x, -1) if vector else into_x
        inverse = F._linalg_pinv(self, None, None, False)
        if needs[0]:
            outer = F.matmul(into_x, adjoint(F, right))
            into_a.append(pinv_backward(F, outer, self, inverse))
        into_b.append(F.matmul(adjoint(F, inverse), into_x))
    if into_residuals is not None and 0 not in into_residuals.shape:
        apart = F.matmul(self, x) - right
        apart = 2 * apart * F.unsqueeze(into_residuals, -2)
        into_a.append(F.matmul(apart, adjoint(F, x)))
        into_b.append(-apart)
    first, second = (
        None if not parts else parts[0] if len(parts) == 1 else parts[0] + parts[1]
        for parts in (into_a, into_b)
    )
    if vector and second is not None:
        second = F.reshape(second, tuple(second.shape[:-1]))
    return first, second


@hidden_op(
    {("self", "b"): _backward},
    name="linalg_lstsq",
    key="_linalg_lstsq",
    outputs=4,
    differentiable=(0, 1),
    output_names=("solution", "residuals", "rank", "singular_values"),
)
def _linalg_lstsq(xp: Any, self: Array, b: Array, rcond: Any, driver: str) -> Any:
    _check(self, b)
    vector = _is_vector(self, b)
    right = b[..., None] if vector else b
    m, n = self.shape[-2:]
    batch = common_batch(self, right)
    if rcond is None:
        rcond = float(xp.finfo(self.dtype).eps) * max(m, n)
    memory, ranks, values, infos = _solved(self, right, float(rcond), driver, batch)
    if driver == "gels":
        raise_for(infos, _RANK, _NAME)
    solution = memory[..., :n, :]
    nothing = xp.zeros(0, self.real.dtype)
    residuals = nothing
    full = driver == "gels" or (driver != "gelsy" and bool((ranks == n).all()))
    if m > n and full:
        apart = xp.matmul(self, solution) - right
        residuals = (apart.real**2 + apart.imag**2).sum(-2)
    solution = solution[..., 0] if vector else solution
    return (
        solution,
        residuals,
        xp.zeros(0, "int64") if driver == "gels" else ranks,
        values if driver in ("gelsd", "gelss") else nothing.copy(),
    )


def _check(self: Any, b: Any) -> None:
    if self.ndim < 2:
        raise RuntimeError(f"{_NAME}: input must have at least 2 dimensions.")
    if b.ndim < 1:
        raise RuntimeError(f"{_NAME}: other must have at least 1 dimension.")
    if not 0 <= self.ndim - b.ndim <= 1:
        raise RuntimeError(
            f"{_NAME}: input.dim() must be greater or equal to other.dim() and "
            "(input.dim() - other.dim()) <= 1"
        )
    if self.dtype != b.dtype:
        raise RuntimeError(
            f"{_NAME}: Expected input and other to have the same dtype, but got "
            f"input's dtype {kind_name(self)} and other's dtype {kind_name(b)}"
        )
    lone = b.ndim == self.ndim - 1
    if _is_vector(self, b) or not lone:
        side = -1 if lone else -2
    else:
        side = -2 if b.ndim > 1 else -1
    if self.shape[-2] != b.shape[side]:
        raise RuntimeError(f"{_NAME}: input.size(-2) should match other.size({side})")
    if self.dtype.char not in "fdFD":
        raise RuntimeError(
            "This function doesn't handle types other than float and double"
        )


@host
def _solved(a: Any, b: Any, rcond: float, driver: str, batch: Any) -> Any:
    """Return (memory with the solutions in its first rows, ranks, values, infos)."""
    m, n = a.shape[-2:]
    k, own = b.shape[-1], a.shape[:-2]
    memory = columns(np, np.zeros((*batch, max(m, n), k), a.dtype), copy=True)
    memory[..., :m, :] = b
    ranks, infos = np.zeros(own, "int64"), np.zeros(batch, "int32")
    values = np.zeros((*own, min(m, n)), a.real.dtype)
    if not (a.size and k):
        memory[...] = 0
        return memory, ranks, values, infos
    lead = len(batch) - len(own)
    wide = np.broadcast_to(a, (*batch, m, n))
    for at in np.ndindex(batch):
        place = tuple(
            i if size > 1 else 0 for i, size in zip(at[lead:], own, strict=True)
        )
        if driver == "gels":
            found, infos[at] = _gels(wide[at], memory[at])
        else:
            found, ranks[place], values[place] = _by_rank(
                wide[at], memory[at], rcond, driver
            )
        memory[at] = found
    return memory, ranks, values, infos


def _gels(a: Any, b: Any) -> Any:
    size, _ = routine("gels_lwork", a.dtype)(*a.shape, b.shape[-1])
    _, found, info = routine("gels", a.dtype)(a, b, lwork=int(size.real))
    return found, info


def _by_rank(a: Any, b: Any, rcond: float, driver: str) -> Any:
    """Solve with a driver that finds the rank; rows beyond the solution are rubbish."""
    (m, n), k = a.shape, b.shape[-1]
    solve, ask = routine(driver, a.dtype), routine(f"{driver}_lwork", a.dtype)
    if driver == "gelsy":
        size, _ = ask(m, n, k, rcond)
        _, found, _, rank, _ = solve(
            a, b, np.zeros((n, 1), "int32"), rcond, int(size.real), False, False
        )
        return found, rank, 0
    if driver == "gelss":
        size, _ = ask(m, n, k, rcond)
        _, found, values, rank, *_ = solve(a, b, rcond, int(size.real), False, False)
        return found, rank, values
    if a.dtype.kind == "c":
        size, reals, ints, _ = ask(m, n, k, rcond)
        found, values, rank, _ = solve(
            a, b, int(size.real), int(reals), int(ints), rcond, False, False
        )
    else:
        size, ints, _ = ask(m, n, k, rcond)
        found, values, rank, _ = solve(a, b, int(size), int(ints), rcond, False, False)
    return found, rank, values


@autocasts("linalg_lstsq")
def lstsq(
    input: Tensor,
    b: Tensor,
    rcond: float | None = None,
    *,
    driver: str | None = None,
    out: Any = None,
) -> Any:
    """Return (solution, residuals, rank, singular_values) of least squares problems.

    ``input`` is (*, m, n), ``b`` is (*, m, k) or (*, m); the solution X makes the sum
    of squares of ``input @ X - b`` smallest. ``driver`` is the routine of LAPACK:
    "gelsy" (the default), "gelsd", "gelss", or "gels" for matrices of full rank. What a
    driver does not find is empty.

    >>> import gradtape as torch
    >>> a = torch.tensor([[1.0], [1.0]])
    >>> torch.linalg.lstsq(a, torch.tensor([[2.0], [4.0]])).solution
    tensor([[3.0000]])
    """
    check_tensor(input, "linalg_lstsq")
    check_tensor(b, "linalg_lstsq", "b", 2)

    def compute() -> Any:
        _check(input._data, b._data)
        if driver not in (None, "gels", "gelsy", "gelsd", "gelss"):
            raise RuntimeError(
                f"{_NAME}: parameter `driver` should be one of (gels, gelsy, gelsd, "
                "gelss)"
            )
        found = _linalg_lstsq(input, b, rcond, driver or "gelsy")
        return return_types.linalg_lstsq(found)

    return into(_NAME, out, (input, b), compute, CASTABLE, "solution")
