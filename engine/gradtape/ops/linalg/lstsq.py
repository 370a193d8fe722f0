"""Least squares: ``lstsq``."""

# ruff: noqa: N803 - matrices have capital names, here as in PyTorch

from __future__ import annotations

from typing import Any

import numpy as np

from ... import return_types
from ..._autocast.autocast import autocasts
from ..._dispatch.declare import Array
from ..._tensor.tensor import Tensor
from .._kernels.lapack import host, routine
from .._support.arguments import check_tensor
from .._support.linalg import (
    CASTABLE,
    adjoint,
    columns,
    common_batch,
    into,
    kind_name,
    raise_for,
)
from .._support.operands import hidden_op
from .rank import pinv_backward

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
