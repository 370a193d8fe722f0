"""Eigenvalues and eigenvectors, of general and of hermitian matrices."""

# ruff: noqa: N803, N806 - matrices have capital names, here as in PyTorch

from __future__ import annotations

from typing import Any

from ... import return_types
from ..._autocast.autocast import autocasts
from ..._dispatch.declare import Array
from ..._tensor.tensor import Tensor
from .._kernels import lapack as _lapack
from .._support.arguments import check_tensor
from .._support.linalg import (
    CASTABLE,
    adjoint,
    complex_in,
    implemented,
    into,
    kind_name,
    raw,
    square,
)
from .._support.operands import hidden_op

_GAUGE = (
    "{name}_backward: The eigenvectors in the complex case are specified up to "
    "multiplication by e^{{i phi}}. The specified loss function depends on this "
    "quantity, so it is ill-defined."
)


def same_phase(name: str, product: Any) -> None:
    """Refuse a loss that depends on the phases that complex vectors may have.

    ``product`` is Vᴴ gV; its diagonal says how the loss changes with the phases.
    """
    imaginary = raw(product).diagonal(0, -2, -1).imag
    if imaginary.size and (abs(imaginary) > 1e-2).any():
        raise RuntimeError(_GAUGE.format(name=name))


def _hermitian_backward(F: Any, grad: Any, L: Any, V: Any) -> Any:
    into_values, into_vectors = grad
    turned = adjoint(F, V)
    if into_vectors is None:
        return F.matmul(V * F.unsqueeze(into_values, -2), turned)
    product = F.matmul(turned, into_vectors)
    if complex_in(F, V):
        same_phase("linalg_eigh", product)
    skew = 0.5 * (product - adjoint(F, product))  # V can only turn
    inner = _with_diagonal(F, skew / _gaps(F, L), into_values)
    return F.matmul(V, F.matmul(inner, turned))


def _gaps(F: Any, values: Any) -> Any:
    """Return λⱼ - λᵢ at (i, j), and ones on the diagonal."""
    apart = F.unsqueeze(values, -2) - F.unsqueeze(values, -1)
    return F._unit_diagonal(apart)


def _with_diagonal(F: Any, inner: Any, values: Any) -> Any:
    """Return matrices with other diagonals; zeros where there are no values."""
    off = F.tril(inner, -1) + F.triu(inner, 1)
    return off if values is None else off + F.diag_embed(values)


@hidden_op({"self": lambda F, grad: F.tril(grad, -1) + F.triu(grad, 1)})
def _unit_diagonal(xp: Any, self: Array) -> Any:
    """Return matrices with ones on their diagonals."""
    found = self.copy()
    steps = xp.arange(min(self.shape[-2:]))
    found[..., steps, steps] = 1
    return found


@hidden_op(
    {
        "A": lambda F, grad, result0, result1: _hermitian_backward(
            F, grad, result0, result1
        )
    },
    name="linalg_eigh",
    key="_linalg_eigh",
    outputs=2,
    differentiable=(0, 1),
    output_names=("eigenvalues", "eigenvectors"),
)
def _linalg_eigh(xp: Any, A: Array, UPLO: str) -> Any:
    square("linalg.eigh", A)
    if UPLO.upper() not in ("L", "U"):
        raise RuntimeError(f"Expected UPLO argument to be 'L' or 'U', but got {UPLO}")
    implemented("linalg_eigh_cpu", A)
    return _lapack.hermitian_spectrum(A, UPLO.upper())


@autocasts("linalg_eigh")
def eigh(input: Tensor, UPLO: str = "L", *, out: Any = None) -> Any:
    """Return (eigenvalues, eigenvectors) of hermitian matrices of shape (*, n, n).

    Eigenvalues ascend; the vectors are columns. Only the triangle that ``UPLO`` names
    is read. Gradients are undefined for repeated eigenvalues; for complex matrices
    backward raises RuntimeError where the loss depends on the vectors' phases.

    >>> import gradtape as torch
    >>> torch.linalg.eigh(torch.tensor([[3.0, 0.0], [0.0, 2.0]])).eigenvalues
    tensor([2., 3.])
    """
    check_tensor(input, "linalg_eigh")
    return into(
        "_linalg_eigh",
        out,
        (input,),
        lambda: return_types.linalg_eigh(_linalg_eigh(input, UPLO)),
    )


@autocasts("linalg_eigvalsh")
def eigvalsh(input: Tensor, UPLO: str = "L", *, out: Tensor | None = None) -> Tensor:
    """Return the eigenvalues of hermitian matrices, ascending.

    >>> import gradtape as torch
    >>> torch.linalg.eigvalsh(torch.tensor([[0.0, 3.0], [3.0, 0.0]]))
    tensor([-3.,  3.])
    """
    check_tensor(input, "linalg_eigvalsh")
    return into("_linalg_eigh", out, (input,), lambda: _linalg_eigh(input, UPLO)[0])


# ---- general matrices --------------------------------------------------------------


def _general_backward(F: Any, grad: Any, result0: Any, result1: Any) -> Any:
    into_values, into_vectors = grad
    L, V = result0, result1
    turned = adjoint(F, V)
    if into_vectors is None:
        inner = F.unsqueeze(into_values, -1) * turned
        return F._linalg_solve_ex(turned, inner, True, "")[0]
    product = F.matmul(turned, into_vectors)
    same_phase("linalg_eig", product)
    lengths = F.unsqueeze(F.real(F.diagonal(product, 0, -2, -1)), -2)
    inner = product - F.matmul(turned, V) * lengths
    inner = _with_diagonal(F, inner / _gaps(F, F.conj(L)), into_values)
    return F._linalg_solve_ex(turned, F.matmul(inner, turned), True, "")[0]


@hidden_op(
    {"self": _general_backward},
    name="linalg_eig",
    key="_linalg_eig",
    outputs=2,
    differentiable=(0, 1),
    output_names=("eigenvalues", "eigenvectors"),
)
def _linalg_eig(xp: Any, self: Array, name: str) -> Any:
    square(name, self)
    if not xp.isfinite(self).all():
        raise RuntimeError(
            "torch.linalg.eig: input tensor should not contain infs or NaNs."
        )
    if self.dtype.kind not in "fcV":
        raise RuntimeError(f"Unknown Complex ScalarType for {kind_name(self)}")
    implemented("linalg_eig_out_cpu", self)
    return _lapack.spectrum(self)


@autocasts("linalg_eig")
def eig(input: Tensor, *, out: Any = None) -> Any:
    """Return (eigenvalues, eigenvectors), complex, of square matrices.

    ``input`` is (*, n, n); the vectors are columns of length 1. Backward raises
    RuntimeError where the loss depends on their phases.

    >>> import gradtape as torch
    >>> torch.linalg.eig(torch.tensor([[0.0, -1.0], [1.0, 0.0]])).eigenvalues
    tensor([0.+1.j, 0.-1.j])
    """
    check_tensor(input, "linalg_eig")

    def compute() -> Any:
        return return_types.linalg_eig(_linalg_eig(input, "linalg.eig"))

    name = "torch.linalg.eig"
    return into(name, out, (input,), compute, CASTABLE, _EIG)


_EIG = ("eigenvalues", "eigenvectors")


@autocasts("linalg_eigvals")
def eigvals(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the eigenvalues, complex, of square matrices in no order.

    >>> import gradtape as torch
    >>> torch.linalg.eigvals(torch.tensor([[2.0, 0.0], [0.0, 3.0]]))
    tensor([2.+0.j, 3.+0.j])
    """
    check_tensor(input, "linalg_eigvals")
    name = "torch.linalg.eigvals"
    return into(
        name,
        out,
        (input,),
        lambda: _linalg_eig(input, "linalg.eigvals")[0],
        CASTABLE,
        "eigenvalues",
    )
