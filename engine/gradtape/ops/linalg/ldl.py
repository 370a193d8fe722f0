"""LDL factors of symmetric matrices that need not be positive: ``ldl_factor``."""

# ruff: noqa: N803 - matrices have capital names, here as in PyTorch

from __future__ import annotations

from typing import Any

from ... import return_types
from ..._dispatch.declare import Array
from ..._tensor.tensor import Tensor
from .._kernels import lapack as _lapack
from .._support.arguments import check_tensor, wrap_dim
from .._support.linalg import (
    LinAlgError,
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
        lambda: _factors(input, hermitian, check_errors, _NAME),
    )


def _factors(input: Tensor, hermitian: bool, check: bool, name: str) -> Any:
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
        found = _factors(input, hermitian, True, "torch.linalg.ldl_factor")
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
