"""Solving with triangles: ``linalg.solve_triangular`` and ``triangular_solve``."""

# ruff: noqa: N803 - matrices have capital names, here as in PyTorch

from __future__ import annotations

from typing import Any

from ... import return_types
from ..._autocast.autocast import autocasts
from ..._common.warn import warn_once
from ..._dispatch.declare import ABSENT, Array, method
from ..._tensor.tensor import Tensor
from .._kernels import lapack as _lapack
from .._support.arguments import check_tensor
from .._support.linalg import (
    adjoint,
    columns,
    common_batch,
    equation,
    implemented,
    into,
    kind_name,
    square,
)
from .._support.operands import hidden_op


def _into_operands(
    F: Any,
    grad: Any,
    self: Any,
    result: Any,
    left: bool,
    upper: bool,
    unitriangular: bool,
    needs: Any,
) -> Any:
    into_b = F.linalg_solve_triangular(
        adjoint(F, self),
        grad,
        upper=not upper,
        left=left,
        unitriangular=unitriangular,
    )
    if not needs[0]:
        return None, into_b
    x = adjoint(F, result)
    product = F.matmul(into_b, x) if left else F.matmul(x, into_b)
    step = int(unitriangular)  # ones on the diagonal have no gradient
    return -(F.triu(product, step) if upper else F.tril(product, -step)), into_b


def _solve(
    self: Any,
    B: Any,
    upper: bool,
    left: bool,
    unitriangular: bool,
) -> Any:
    equation("linalg.solve_triangular", self, B, left)
    implemented("triangular_solve_cpu", self)
    common_batch(self, B)
    return _lapack.solve_triangular(
        self, B.astype(self.dtype, copy=False), upper, left, unitriangular
    )


@hidden_op({("self", "B"): _into_operands})
def linalg_solve_triangular(
    xp: Any,
    self: Array,
    B: Array,
    *,
    upper: bool,
    left: bool = True,
    unitriangular: bool = False,
) -> Any:
    """Solve AX = B, or XA = B, reading one triangle of A."""
    return _solve(self, B, upper, left, unitriangular)


def solve_triangular(
    input: Tensor,
    B: Tensor,
    *,
    upper: Any = ABSENT,
    left: bool = True,
    unitriangular: bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """Solve AX = B for a triangular A of shape (*, n, n) and B of shape (*, n, k).

    Only the triangle that ``upper`` names is read. With ``left=False``, solve XA = B.
    With ``unitriangular`` the diagonal counts as ones. A zero on the diagonal gives
    infinities. Raises RuntimeError where shapes do not meet.

    >>> import gradtape as torch
    >>> A = torch.tensor([[2.0, 1.0], [0.0, 4.0]])
    >>> torch.linalg.solve_triangular(A, torch.tensor([[4.0], [8.0]]), upper=True)
    tensor([[1.],
            [2.]])
    """
    if upper is ABSENT:
        raise TypeError(
            'linalg_solve_triangular() missing 1 required positional arguments: "upper"'
        )
    return into(
        "linalg_solve_triangular",
        out,
        (input, B),
        lambda: linalg_solve_triangular(
            input, B, upper=upper, left=left, unitriangular=unitriangular
        ),
        "expected scalar type {result} but found {out}",
    )


# ---- the older function ------------------------------------------------------------


def _into_old_operands(
    F: Any,
    grad: Any,
    self: Any,
    A: Any,
    result0: Any,
    upper: bool,
    transpose: bool,
    unitriangular: bool,
    needs: Any,
) -> Any:
    into_x, into_copy = grad
    into_b, into_a = None, into_copy
    if into_x is not None:
        factor = F.conj(A) if transpose else adjoint(F, A)
        turned = upper if transpose else not upper
        into_b = F.linalg_solve_triangular(
            factor, into_x, upper=turned, unitriangular=unitriangular
        )
        step = int(unitriangular)
        if needs[1]:
            if transpose:
                product = F.matmul(F.conj(result0), F.transpose(into_b, -2, -1))
            else:
                product = F.matmul(into_b, adjoint(F, result0))
            part = -(F.triu(product, step) if upper else F.tril(product, -step))
            into_a = part if into_a is None else into_a + part
    return into_b, into_a


@hidden_op(
    {("self", "A"): _into_old_operands},
    key="_triangular_solve",
    name="triangular_solve",
    outputs=2,
    differentiable=(0, 1),
    output_names=("solution", "cloned_coefficient"),
)
def _triangular_solve(
    xp: Any,
    self: Array,
    A: Array,
    upper: bool,
    transpose: bool,
    unitriangular: bool,
) -> Any:
    for name, array in (("b", self), ("A", A)):
        if array.ndim < 2:
            raise RuntimeError(
                f"torch.triangular_solve: Expected {name} to have at least 2 "
                f"dimensions, but it has {array.ndim} dimensions instead"
            )
    meets("triangular_solve", self, A)
    implemented("triangular_solve_cpu", A)
    batch = common_batch(self, A)
    copy = columns(xp, xp.broadcast_to(A, (*batch, *A.shape[-2:])), copy=True)
    factor = A.swapaxes(-1, -2) if transpose else A
    solved = _lapack.solve_triangular(
        factor, self, upper != bool(transpose), True, unitriangular
    )
    return solved, copy


def meets(name: str, b: Any, A: Any) -> None:
    """Refuse operands of the older solvers whose sizes or dtypes do not meet."""
    square("", A)
    if A.shape[-1] != b.shape[-2]:
        raise RuntimeError(
            f"Incompatible matrix sizes for {name}: each A matrix is {A.shape[-1]} by "
            f"{A.shape[-1]} but each b matrix is {b.shape[-2]} by {b.shape[-1]}"
        )
    if A.dtype != b.dtype:
        raise RuntimeError(
            "Expected b and A to have the same dtype, but found b of type "
            f"{kind_name(b)} and A of type {kind_name(A)} instead."
        )


_DEPRECATED = (
    "torch.triangular_solve is deprecated in favor of torch.linalg.solve_triangular"
    "and will be removed in a future PyTorch release.\n"
    "torch.linalg.solve_triangular has its arguments reversed and does not return a "
    "copy of one of the inputs.\n"
    "X = torch.triangular_solve(B, A).solution\n"
    "should be replaced with\n"
    "X = torch.linalg.solve_triangular(A, B)."
)


@method(function=True)
@autocasts("triangular_solve")
def triangular_solve(
    input: Tensor,
    A: Tensor,
    upper: bool = True,
    transpose: bool = False,
    unitriangular: bool = False,
    *,
    out: Any = None,
) -> Any:
    """Return (solution of AX = input, copy of A) for a triangular A.

    Deprecated, as in PyTorch: use :func:`gradtape.linalg.solve_triangular`.
    """
    check_tensor(input, "triangular_solve")
    check_tensor(A, "triangular_solve", "A", 2)
    warn_once(_DEPRECATED)
    return into(
        "triangular_solve",
        out,
        (input, A),
        lambda: return_types.triangular_solve(
            _triangular_solve(input, A, upper, transpose, unitriangular)
        ),
    )
