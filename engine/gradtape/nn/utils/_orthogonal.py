"""The parametrization of orthogonal matrices."""

from __future__ import annotations

from enum import Enum, auto
from typing import Any

from ... import linalg
from ..._dispatch.declare import FUNCTIONS
from ..._dtypes import finfo
from ..._tensor.tensor import Tensor
from ..modules.module import Module
from .parametrize import register_parametrization

_NO_ASSIGNMENT = (
    "It is not possible to assign to the matrix exponential or the Cayley "
    "parametrizations when use_trivialization=False."
)


class _OrthMaps(Enum):
    matrix_exp = auto()
    cayley = auto()
    householder = auto()


def _eye_like(q: Tensor) -> Tensor:
    return FUNCTIONS["eye"](q.size(-1), dtype=q.dtype, device=q.device)


def _is_orthogonal(q: Tensor) -> bool:
    eps = 10.0 * q.size(-2) * finfo(q.dtype).eps
    return bool(FUNCTIONS["allclose"](q.mH @ q, _eye_like(q), atol=eps))


def _make_orthogonal(a: Tensor) -> Tensor:
    """Return the Q of a QR decomposition whose R has a positive diagonal."""
    factors, tau = FUNCTIONS["geqrf"](a)
    q = linalg.householder_product(factors, tau)
    return q * factors.diagonal(dim1=-2, dim2=-1).sgn().unsqueeze(-2)


class _Orthogonal(Module):
    """Matrices to orthogonal ones, by one of three maps.

    With a base, the map starts around an orthogonal matrix, that it can be assigned.
    """

    base: Tensor | None

    def __init__(
        self,
        weight: Tensor,
        orthogonal_map: _OrthMaps,
        *,
        use_trivialization: bool = True,
    ) -> None:
        super().__init__()
        if weight.is_complex() and orthogonal_map is _OrthMaps.householder:
            raise ValueError(
                "The householder parametrization does not support complex tensors."
            )
        self.shape = weight.shape
        self.orthogonal_map = orthogonal_map
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, x: Tensor) -> Tensor:
        wide = x.size(-2) < x.size(-1)
        x = x.mT if wide else x
        if self.orthogonal_map is _OrthMaps.householder:
            q = _from_reflections(x)
        else:
            q = self._from_skew(x)
        base = getattr(self, "base", None)
        q = q if base is None else base @ q
        return q.mT if wide else q

    def _from_skew(self, x: Tensor) -> Tensor:
        n, k = x.size(-2), x.size(-1)
        x = x.tril()
        if n != k:
            more = x.new_zeros(n, n - k).expand(*x.shape[:-2], -1, -1)
            x = FUNCTIONS["cat"]([x, more], dim=-1)
        skew = x - x.mH
        if self.orthogonal_map is _OrthMaps.matrix_exp:
            q = FUNCTIONS["matrix_exp"](skew)
        else:  # Cayley: (I + A / 2) (I - A / 2)^-1
            one = _eye_like(skew)
            q = linalg.solve(one - 0.5 * skew, one + 0.5 * skew)
        return q[..., :k] if n != k else q

    def right_inverse(self, q: Tensor) -> Tensor:
        """Return what the map takes to ``q``, made orthogonal where it is not."""
        if q.shape != self.shape:
            raise ValueError(
                "Expected a matrix or batch of matrices of shape "
                f"{self.shape}. Got a tensor of shape {q.shape}."
            )
        given, wide = q, q.size(-2) < q.size(-1)
        q = q.mT if wide else q
        if not hasattr(self, "base"):
            if self.orthogonal_map is not _OrthMaps.householder:
                raise NotImplementedError(_NO_ASSIGNMENT)
            a, tau = FUNCTIONS["geqrf"](q)
            # The diagonal carries the signs of R's, which a reflection cannot make.
            diagonal = a.diagonal(dim1=-2, dim2=-1)
            diagonal.sign_()
            diagonal[tau == 0.0] *= -1
            return a.mT if wide else a
        n, k = q.size(-2), q.size(-1)
        if n == k:
            q = q.clone() if _is_orthogonal(q) else _make_orthogonal(q)
        else:
            shape = (*q.size()[:-2], n, n - k)
            more = FUNCTIONS["randn"](shape, dtype=q.dtype, device=q.device)
            q = _make_orthogonal(FUNCTIONS["cat"]([q, more], dim=-1))
        self.base = q
        # Every map takes -I (a 0 skew part) to the base itself.
        negative = FUNCTIONS["zeros_like"](given)
        negative.diagonal(dim1=-2, dim2=-1).fill_(-1.0)
        return negative


def _from_reflections(x: Tensor) -> Tensor:
    a = x.tril(diagonal=-1)
    tau = 2.0 / (1.0 + (a * a).sum(dim=-2))
    q = linalg.householder_product(a, tau)
    return q * x.diagonal(dim1=-2, dim2=-1).int().unsqueeze(-2)


def orthogonal(
    module: Any,
    name: str = "weight",
    orthogonal_map: str | None = None,
    *,
    use_trivialization: bool = True,
) -> Any:
    """Keep a matrix, or a batch of them, orthogonal (its columns, or its rows).

    ``orthogonal_map`` is "matrix_exp", "cayley" or "householder"; square matrices take
    the first by default, others the last. Raises ValueError for another name, or for a
    tensor of fewer than two dimensions.

    >>> import gradtape as torch
    >>> _ = torch.manual_seed(0)
    >>> layer = torch.nn.utils.parametrizations.orthogonal(torch.nn.Linear(4, 2))
    >>> torch.allclose(layer.weight @ layer.weight.T, torch.eye(2), atol=1e-6)
    True
    """
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(
            f"Module '{module}' has no parameter or buffer with name '{name}'"
        )
    if weight.dim() < 2:
        raise ValueError(
            "Expected a matrix or batch of matrices. "
            f"Got a tensor of {weight.dim()} dimensions."
        )
    if orthogonal_map is None:
        square = weight.size(-2) == weight.size(-1)
        orthogonal_map = (
            "matrix_exp" if square or weight.is_complex() else "householder"
        )
    chosen = getattr(_OrthMaps, orthogonal_map, None)
    if chosen is None:
        raise ValueError(
            'orthogonal_map has to be one of "matrix_exp", "cayley", "householder". '
            f"Got: {orthogonal_map}"
        )
    made = _Orthogonal(weight, chosen, use_trivialization=use_trivialization)
    register_parametrization(module, name, made, unsafe=True)
    return module
