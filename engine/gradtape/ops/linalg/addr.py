"""``addr``: a matrix plus the outer product of two vectors."""

from __future__ import annotations

from typing import Any

from ..._dispatch.declare import Array, op
from ..._dispatch.inplace import inplace
from ..._dtypes import DTYPE_OF, result_type_of
from .._support.matrix_product import check_expandable, conj, scaled
from .._support.new_tensor import array_like
from .._support.scalar_range import in_range
from .matmul import added

_NOT_INTEGRAL = (
    "For integral input tensors, argument {} must not be a floating point number."
)


@op(
    {
        "self": lambda F, grad, beta: scaled(grad, beta),
        "vec1": lambda F, grad, vec2, alpha: scaled(F.mv(grad, conj(F, vec2)), alpha),
        "vec2": lambda F, grad, vec1, alpha: scaled(
            F.mv(F.t(grad), conj(F, vec1)), alpha
        ),
    },
    out=True,
)
def addr(
    xp: Any, self: Array, vec1: Array, vec2: Array, *, beta: Any = 1, alpha: Any = 1
) -> Any:
    """Return ``beta * self + alpha * outer(vec1, vec2)``; ``self`` is broadcast."""
    for name, vector in (("vec1", vec1), ("vec2", vec2)):
        if vector.ndim != 1:
            raise RuntimeError(
                f"addr: Expected 1-D argument {name}, but got {vector.ndim}-D"
            )
    size = (vec1.shape[0], vec2.shape[0])
    check_expandable(self, size)
    kind = result_type_of([(DTYPE_OF[a.dtype], 1) for a in (self, vec1, vec2)])
    for name, factor in (("beta", beta), ("alpha", alpha)):
        if isinstance(factor, bool) and kind.numpy.kind != "b":
            raise RuntimeError(f"Boolean {name} only supported for Boolean results.")
        if isinstance(factor, float | complex) and kind.numpy.kind in "biu":
            raise RuntimeError(_NOT_INTEGRAL.format(name))
    beta, alpha = in_range(beta, kind), in_range(alpha, kind)
    self, vec1, vec2 = (a.astype(kind.numpy, copy=False) for a in (self, vec1, vec2))
    into = array_like(xp, self) if self.shape == size else None
    vec1 = vec1 if alpha == 1 else vec1 * kind.numpy.type(alpha)
    return added(xp, self, xp.multiply(vec1[:, None], vec2, into), beta, 1)


inplace("addr")
