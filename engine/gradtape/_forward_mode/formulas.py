"""Forward derivatives that the backward formulas do not give, written out.

The backward of ``logcumsumexp`` looks at the sign of the gradient. Those of hermitian
matrices give hermitian gradients: transposed, they would make a tangent hermitian
first, where PyTorch takes an asymmetric one as it comes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf
from typing import Any, TypeAlias

from .._backend import backend_of
from .._dispatch.declare import tensor_ops as F
from .._dtypes import finfo
from .._tensor.tensor import Tensor, wrap

Pushed: TypeAlias = dict[int, Tensor]
"""The tangents of an op's outputs, by number."""


def _logcumsumexp(
    args: Sequence[Any], params: Any, outputs: Any, tangent: Tensor
) -> Pushed:
    self, dim = args[0], params[0]
    if not (self._data.ndim and self._data.size):
        return {0: F.clone(tangent)}
    largest = F.amax(self.detach(), dim, True)
    weights = F.exp(self - largest)
    running = F._cumsum(weights, dim)
    limits = finfo(self.dtype)
    if (abs(running._data) < limits.tiny / limits.eps).any():
        return {0: _each_by_its_sum(self, dim, outputs[0], tangent)}
    return {0: F._cumsum(weights * tangent, dim) / running}


def _each_by_its_sum(self: Any, dim: int, result: Any, tangent: Tensor) -> Tensor:
    """Weigh every pair: beside the largest of all, the first may come to nothing."""
    x, sums, t = (F.transpose(each, dim, -1) for each in (self, result, tangent))
    n = x.shape[-1]
    sofar = wrap(backend_of(x._data).xp.tri(n, dtype=bool))
    apart = F.unsqueeze(x, -2) - F.unsqueeze(sums, -1)
    weights = F.exp(F.where(sofar, apart, -inf))
    return F.transpose(F.sum(weights * F.unsqueeze(t, -2), (-1,)), dim, -1)


def _adjoint(matrix: Any) -> Any:
    return F.conj(F.transpose(matrix, -2, -1))


def _cholesky(args: Any, params: Any, outputs: Any, tangent: Tensor) -> Pushed:
    """Return L φ(L⁻¹ dA L⁻ᴴ): φ takes the lower triangle and half of the diagonal."""
    upper = params[0]
    low = _adjoint(outputs[0]) if upper else outputs[0]
    inner = F.linalg_solve_triangular(low, tangent, upper=False)
    high = _adjoint(low)
    inner = F.linalg_solve_triangular(high, inner, upper=True, left=False)
    found = F.matmul(low, 0.5 * (F.tril(inner, 0) + F.tril(inner, -1)))
    return {0: _adjoint(found) if upper else found}


def _eigh(args: Any, params: Any, outputs: Any, tangent: Tensor) -> Pushed:
    """Return the diagonal of P = Vᴴ dA V, and V (P / (λⱼ - λᵢ)) off the diagonal."""
    values, vectors = outputs
    product = F.matmul(_adjoint(vectors), F.matmul(tangent, vectors))
    into_values = F.diagonal(product, 0, -2, -1)
    if into_values.is_complex():
        into_values = F.real(into_values)
    gaps = F.unsqueeze(values, -2) - F.unsqueeze(values, -1)
    turned = product / F._unit_diagonal(gaps)
    turned = F.triu(turned, 1) + F.tril(turned, -1)
    return {0: F.clone(into_values), 1: F.matmul(vectors, turned)}


WRITTEN: dict[str, Callable[[Any, Any, Any, Any], Pushed]] = {
    "logcumsumexp": _logcumsumexp,
    "_linalg_cholesky_ex": _cholesky,
    "_linalg_eigh": _eigh,
}
"""By the op's key: from arguments, options, outputs and the input's tangent."""
