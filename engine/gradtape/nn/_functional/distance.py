"""Distances and similarities of vectors."""

from __future__ import annotations

from ..._autocast.autocast import autocasts
from ..._dispatch.declare import FUNCTIONS
from ..._dtypes import promote_types
from ..._modes.grad_mode import no_grad
from ..._tensor.tensor import Tensor
from ...ops._support.arguments import check_tensors
from ...ops.pointwise.scalar import add_number, norm
from ...ops.reduction.norms import linalg_vector_norm

__all__ = ["cosine_similarity", "normalize", "pairwise_distance"]


def normalize(
    input: Tensor,
    p: float = 2.0,
    dim: int | tuple[int, ...] = 1,
    eps: float = 1e-12,
    out: Tensor | None = None,
) -> Tensor:
    """Divide by the norm along a dimension, so that it becomes 1."""
    size = input.norm(p, dim, keepdim=True).clamp_min(eps).expand_as(input)
    return (
        FUNCTIONS["div"](input, size)
        if out is None
        else FUNCTIONS["div"](input, size, out=out)
    )


@autocasts("cosine_similarity")
def cosine_similarity(
    x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8
) -> Tensor:
    """Return the cosine of the angle between vectors along a dimension."""
    check_tensors("cosine_similarity", x1=x1, x2=x2)
    kind = promote_types(x1.dtype, x2.dtype)
    if not kind.is_floating_point:
        raise RuntimeError(
            "expected common dtype to be floating point, yet common dtype is "
            f"{kind.cpp_name}"
        )
    first, second = x1.to(kind), x2.to(kind)
    if x1.shape != x2.shape:
        first, second = FUNCTIONS["broadcast_tensors"](x1, x2)
    norms: list[Tensor] = []
    for tensor in (first, second):
        size = linalg_vector_norm(tensor, 2, dim, True).clone()
        with no_grad():  # eps keeps from dividing by zero; it is not differentiated
            size.clamp_min_(eps)
        norms.append(size)
    return ((first / norms[0]) * (second / norms[1])).sum(dim)


def pairwise_distance(
    x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False
) -> Tensor:
    """Return the p-norm of the differences along the last dimension."""
    check_tensors("pairwise_distance", x1=x1, x2=x2)
    return norm(add_number(x1 - x2, eps), float(p), -1, keepdim)


for _function in (cosine_similarity, pairwise_distance):
    FUNCTIONS[_function.__name__] = _function
