"""Linear systems and inverses: ``solve``, ``inv``, ``tensorsolve``, ``tensorinv``."""

# ruff: noqa: N803 - matrices have capital names, here as in PyTorch

from __future__ import annotations

import math
from typing import Any

from ... import return_types
from ..._autocast.autocast import autocasts
from ..._dispatch.declare import FUNCTIONS, Array, method
from ..._tensor.tensor import Tensor
from .._kernels import lapack as _lapack
from .._support.arguments import check_tensor
from .._support.linalg import (
    CASTABLE,
    adjoint,
    columns,
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
from ..views.reshape import reshape
from .cholesky import SINGULAR

_SINGULAR_SYSTEM = "The solver failed because the input matrix is singular."


def _is_vector(A: Any, B: Any) -> bool:
    """Tell whether B is one vector, or a batch of them of the same size as A's."""
    shape = tuple(B.shape)
    return len(shape) == 1 or (
        len(shape) == len(A.shape) - 1 and shape == tuple(A.shape[:-1])
    )


def _solve_backward(
    F: Any,
    grad: Any,
    A: Any,
    result0: Any,
    result1: Any,
    result2: Any,
    left: bool,
    B_shape: Any,
    needs: Any,
) -> Any:
    grad, x = grad[0], result0
    vector = len(B_shape) == 1 or tuple(B_shape) == tuple(A.shape[:-1])
    if vector:
        grad, x = F.unsqueeze(grad, -1), F.unsqueeze(x, -1)
    if F.raw:
        into_b = F.linalg_lu_solve(result1, result2, grad, left=left, adjoint=True)
    else:  # the factors have no history
        into_b = F._linalg_solve_ex(adjoint(F, A), grad, left, "")[0]
    into_a = None
    if needs[0]:
        turned = adjoint(F, x)
        into_a = -(F.matmul(into_b, turned) if left else F.matmul(turned, into_b))
    return into_a, F.reshape(into_b, tuple(into_b.shape[:-1])) if vector else into_b


@hidden_op(
    {("A", "B"): _solve_backward},
    name="linalg_solve_ex",
    key="_linalg_solve_ex",
    outputs=4,
    output_names=("result", "LU", "pivots", "info"),
)
def _linalg_solve_ex(xp: Any, A: Array, B: Array, left: bool, check: str) -> Any:
    inexact("linalg.solve", A)
    square("linalg.solve", A)
    same_kind("linalg.solve", A, B)
    vector = _is_vector(A, B)
    right = B[..., None] if vector else B
    equation("linalg.solve", A, right, left)
    if vector and not left:
        raise RuntimeError(
            "linalg.solve: Vector broadcasting of the left hand side is not supported "
            "for left=False. In this case linalg.solve is equivalent to B / "
            "A.squeeze(-1)"
        )
    common_batch(right, A)
    implemented("lu_cpu", A)
    factors, pivots, info = _lapack.lu_factor(A)
    if check:
        raise_for(info, _SINGULAR_SYSTEM, check)
    found = _lapack.lu_solve(factors, pivots, right, left, False)
    if vector:
        found = found[..., 0]
        found = columns(xp, found) if found.ndim > 1 else found.copy()
    return found, factors, pivots, info


@autocasts("linalg_solve")
def solve(
    A: Tensor,
    B: Tensor,
    *,
    left: bool = True,
    out: Tensor | None = None,
) -> Tensor:
    """Solve AX = B for square A of shape (*, n, n) and B of shape (*, n, k) or (*, n).

    With ``left=False`` solve XA = B. Raises LinAlgError where A is singular,
    RuntimeError where shapes or dtypes do not meet.

    >>> import gradtape as torch
    >>> A = torch.tensor([[3.0, 1.0], [1.0, 2.0]])
    >>> torch.linalg.solve(A, torch.tensor([9.0, 8.0]))
    tensor([2., 3.])
    """
    return into(
        "linalg_solve_ex",
        out,
        (A, B),
        lambda: _solved("linalg_solve", A, B, left, True)[0],
    )


def solve_ex(
    A: Tensor,
    B: Tensor,
    *,
    left: bool = True,
    check_errors: bool = False,
    out: Any = None,
) -> Any:
    """Return (result, info): what :func:`solve` returns, and where A is singular."""
    return into(
        "linalg_solve_ex",
        out,
        (A, B),
        lambda: _solved("linalg_solve_ex", A, B, left, check_errors),
    )


def _solved(name: str, A: Any, B: Any, left: bool, check: bool) -> Any:
    check_tensor(A, name, "A")
    check_tensor(B, name, "B", 2)
    shown = "torch." + name.replace("_", ".", 1) if check else ""
    found = _linalg_solve_ex(A, B, left, shown)
    return return_types.linalg_solve_ex((found[0], found[3]))


# ---- inverses ----------------------------------------------------------------------


def _inverse_backward(F: Any, grad: Any, result0: Any) -> Any:
    turned = adjoint(F, result0)
    return -F.matmul(turned, F.matmul(grad[0], turned))


@hidden_op(
    {"A": _inverse_backward},
    name="linalg_inv_ex",
    key="_linalg_inv_ex",
    outputs=2,
    output_names=("inverse", "info"),
)
def linalg_inv_ex(xp: Any, A: Array) -> Any:
    """Return (inverses, info)."""
    square("linalg.inv", A)
    inexact("linalg.inv", A, low=False)
    return _lapack.inverse(A)


def inverted(A: Tensor, name: str) -> Any:
    """Return (inverse, info); refuse singular matrices under ``name``, if it is set."""
    found = linalg_inv_ex(A)
    if name:
        raise_for(found[1]._data, SINGULAR, name)
    return return_types.linalg_inv_ex(found)


@autocasts("linalg_inv_ex")
def inv_ex(
    A: Tensor,
    *,
    check_errors: bool = False,
    out: Any = None,
) -> Any:
    """Return (inverse, info): ``info`` is where A was found singular, or 0."""
    check_tensor(A, "linalg_inv_ex", "A")
    name = "linalg.inv_ex" if check_errors else ""
    return into("linalg_inv_ex", out, (A,), lambda: inverted(A, name))


@autocasts("linalg_inv")
def inv(A: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the inverses of square matrices of shape (*, n, n).

    Raises LinAlgError for a singular one.

    >>> import gradtape as torch
    >>> torch.linalg.inv(torch.tensor([[2.0, 0.0], [0.0, 4.0]]))
    tensor([[0.5000, 0.0000],
            [0.0000, 0.2500]])
    """
    check_tensor(A, "linalg_inv", "A")
    return into("linalg_inv_ex", out, (A,), lambda: inverted(A, "linalg.inv")[0])


@method(function=True)
@autocasts("inverse")
def inverse(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the inverses of square matrices."""
    check_tensor(input, "inverse")
    return into(
        "linalg_inv_ex", out, (input,), lambda: inverted(input, "linalg.inv")[0]
    )


# ---- tensors as matrices -----------------------------------------------------------


@autocasts("linalg_tensorinv")
def tensorinv(input: Tensor, ind: int = 2, *, out: Tensor | None = None) -> Tensor:
    """Return the inverse of a tensor as a map from its last dimensions to its first.

    The sizes of the first ``ind`` dimensions must have the product of the others.

    >>> import gradtape as torch
    >>> torch.linalg.tensorinv(torch.eye(6).reshape(2, 3, 6)).shape
    torch.Size([6, 2, 3])
    """
    check_tensor(input, "linalg_tensorinv")

    def compute() -> Tensor:
        if ind <= 0:
            raise RuntimeError(
                f"Expected a strictly positive integer for 'ind', but got {ind}"
            )
        shape = tuple(input.shape)
        if ind > len(shape):
            raise RuntimeError(
                f"ArrayRef: invalid slice, N = {ind}; size = {len(shape)}"
            )
        first, last = shape[:ind], shape[ind:]
        if math.prod(first) != math.prod(last):
            raise RuntimeError(
                "Expected self to satisfy the requirement prod(self.shape[ind:]) == "
                f"prod(self.shape[:ind]), but got {math.prod(last)} != "
                f"{math.prod(first)}"
            )
        matrix = reshape(input, (math.prod(last), math.prod(first)))
        return reshape(inverted(matrix, "inv")[0], (*last, *first))

    return into("tensorinv", out, (input,), compute, CASTABLE)


@autocasts("linalg_tensorsolve")
def tensorsolve(
    input: Tensor,
    other: Tensor,
    dims: Any = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Solve tensordot(input, X, X.ndim) = other for X.

    ``dims`` of ``input`` are moved to its end first.
    """
    check_tensor(input, "linalg_tensorsolve")
    check_tensor(other, "linalg_tensorsolve", "other", 2)

    def compute() -> Tensor:
        moved = input
        if dims is not None:
            ends = range(input.dim() - len(dims), input.dim())
            moved = FUNCTIONS["movedim"](input, tuple(dims), tuple(ends))
        shape = tuple(moved.shape)
        last = shape[other.dim() :]
        size = math.prod(last)
        if size != other.numel():
            raise RuntimeError(
                "Expected self to satisfy the requirement prod(self.shape[other.ndim:])"
                f" == prod(self.shape[:other.ndim]), but got {size} != {other.numel()}"
            )
        found = _solved(
            "linalg_solve",
            reshape(moved, (size, size)),
            reshape(other, (-1,)),
            True,
            True,
        )[0]
        return reshape(found, last)

    return into("tensorsolve", out, (input, other), compute, CASTABLE)
