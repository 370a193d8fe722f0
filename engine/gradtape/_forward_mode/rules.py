"""How tangents pass through ops whose backward formulas do not say it.

Linear ops do to tangents what they do to values: they are called again. For a few
others the forward derivative is written out. The backward of ``logcumsumexp`` looks at
the sign of the gradient. Those of hermitian matrices give hermitian gradients:
transposed, they would make a tangent hermitian first, where PyTorch takes an asymmetric
one as it comes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf
from typing import Any, TypeAlias

from .._backend import backend_of
from .._dispatch.declare import tensor_ops as F
from .._dtypes import finfo
from .._graph.op import Op
from .._tensor.tensor import Tensor, wrap

# ---- linear ops ----

Tangents = Sequence[Tensor | None]

_LINEAR_NAMES = """
_cumsum _from_device _mean_all _mean_dims _mean_plain _onto_device _reverse_cumsum
_strided_gather _strided_scatter _sum_all _sum_dims _sum_plain _to_copy cat clone
col2im conj diag_embed diagonal_backward diagonal_copy embedding flip im2col index
index_select max_unpool2d max_unpool3d neg repeat roll rot90 select_backward
slice_backward stack trace tril triu unfold_backward
"""
LINEAR = frozenset(_LINEAR_NAMES.split())
"""Ops that do to tangents what they do to values: no need to transpose twice.

For some there is no other way: the backward of ``embedding`` leaves out the padding,
and that of ``max_unpool2d`` gives a gradient to each value that was put into one place,
where only the last one stayed.
"""


def inputs_of(op: Op, args: Sequence[Any]) -> list[Any]:
    """Return the arguments that have a derivative, a list of them spread out."""
    if op.listed is None:
        return [args[i] for i in op.edges]
    return [*args[: op.listed], *args[op.listed], *args[op.listed + 1 :]]


def in_place_of(op: Op, args: Sequence[Any], tangents: Tangents) -> tuple[Any, ...]:
    """Return the arguments with tangents for values, and zeros where there is none."""
    pushed = [
        F.zeros_like(wrap(each._data)) if t is None else t
        for each, t in zip(inputs_of(op, args), tangents, strict=True)
    ]
    if op.listed is not None:
        return (pushed, *args[1:])
    replaced = dict(zip(op.edges, pushed, strict=True))
    return tuple([replaced.get(i, each) for i, each in enumerate(args)])


# ---- derivatives that are written out ----

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
