"""Transforms of vectors and matrices."""

from __future__ import annotations

import math
from typing import Any

from .. import linalg
from .._dtypes import finfo
from .._tensor.tensor import Tensor
from . import constraints
from ._functions import F
from ._transform import FEW, Transform
from ._transform_values import clipped_sigmoid
from .utils import tril_matrix_to_vec, vec_to_tril_matrix


class CorrCholeskyTransform(Transform):
    """Vectors of n (n - 1) / 2 numbers to Cholesky factors of correlations.

    The tanh of each number is a partial correlation; a row is completed to length 1
    (Lewandowski, Kurowicka and Joe, "Generating random correlation matrices", 2009).
    """

    domain = constraints.real_vector
    codomain = constraints.corr_cholesky
    bijective = True

    def _call(self, x: Tensor) -> Tensor:
        eps = finfo(x.dtype).eps
        r = vec_to_tril_matrix(F.tanh(x).clamp(min=-1 + eps, max=1 - eps), diag=-1)
        rest = (1 - r**2).sqrt().cumprod(-1)
        r = r + F.eye(r.shape[-1], dtype=r.dtype, device=r.device)
        return r * F.pad(rest[..., :-1], [1, 0], value=1)

    def _inverse(self, y: Tensor) -> Tensor:
        rest = 1 - F.cumsum(y * y, dim=-1)
        rest = F.pad(rest[..., :-1], [1, 0], value=1)
        below, left = tril_matrix_to_vec(y, -1), tril_matrix_to_vec(rest, -1)
        t = below / left.sqrt()
        return (t.log1p() - t.neg().log1p()) / 2  # atanh

    def log_abs_det_jacobian(
        self, x: Tensor, y: Tensor, intermediates: Any = None
    ) -> Tensor:
        rest = tril_matrix_to_vec(1 - (y * y).cumsum(dim=-1), diag=-2)
        sticks = 0.5 * rest.log().sum(-1)
        tanhs = -2 * (x + F.softplus(-2 * x) - math.log(2.0)).sum(dim=-1)
        return sticks + tanhs

    def forward_shape(self, shape: Any) -> Any:
        if len(shape) < 1:
            raise ValueError(FEW)
        size = round((0.25 + 2 * shape[-1]) ** 0.5 + 0.5)
        if size * (size - 1) // 2 != shape[-1]:
            raise ValueError("Input is not a flattened lower-diagonal number")
        return (*shape[:-1], size, size)

    def inverse_shape(self, shape: Any) -> Any:
        if len(shape) < 2:
            raise ValueError(FEW)
        if shape[-2] != shape[-1]:
            raise ValueError("Input is not square")
        return (*shape[:-2], shape[-1] * (shape[-1] - 1) // 2)


def _vector(shape: Any) -> Any:
    if len(shape) < 1:
        raise ValueError(FEW)
    return shape


class SoftmaxTransform(Transform):
    """y = exp(x) over its sum; not bijective, as a constant added to x is lost."""

    domain = constraints.real_vector
    codomain = constraints.simplex
    _same_if_same_kind = True

    def _call(self, x: Tensor) -> Tensor:
        weights = (x - x.max(-1, True)[0]).exp()
        return weights / weights.sum(-1, True)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.log()

    def forward_shape(self, shape: Any) -> Any:
        return _vector(shape)

    def inverse_shape(self, shape: Any) -> Any:
        return _vector(shape)


class StickBreakingTransform(Transform):
    """Vectors to the simplex of one more dimension, breaking a stick again and again.

    The offsets put 0 at the simplex's centre.
    """

    domain = constraints.real_vector
    codomain = constraints.simplex
    bijective = True
    _same_if_same_kind = True

    def _call(self, x: Tensor) -> Tensor:
        z = clipped_sigmoid(x - self._offset(x).log())
        rest = (1 - z).cumprod(-1)
        return F.pad(z, [0, 1], value=1) * F.pad(rest, [1, 0], value=1)

    def _inverse(self, y: Tensor) -> Tensor:
        head = y[..., :-1]
        rest = F.clamp(1 - head.cumsum(-1), min=finfo(y.dtype).tiny)
        return head.log() - rest.log() + self._offset(head).log()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        x = x - self._offset(x).log()
        return (-x + F.logsigmoid(x) + y[..., :-1].log()).sum(-1)

    def _offset(self, x: Tensor) -> Tensor:
        return x.shape[-1] + 1 - x.new_ones(x.shape[-1]).cumsum(-1)

    def forward_shape(self, shape: Any) -> Any:
        return (*_vector(shape)[:-1], shape[-1] + 1)

    def inverse_shape(self, shape: Any) -> Any:
        return (*_vector(shape)[:-1], shape[-1] - 1)


class LowerCholeskyTransform(Transform):
    """Square matrices to lower triangular ones of positive diagonal."""

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.lower_cholesky
    _same_if_same_kind = True

    def _call(self, x: Tensor) -> Tensor:
        return x.tril(-1) + x.diagonal(dim1=-2, dim2=-1).exp().diag_embed()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.tril(-1) + y.diagonal(dim1=-2, dim2=-1).log().diag_embed()


class PositiveDefiniteTransform(Transform):
    """Square matrices to positive definite ones, by way of their Cholesky factors."""

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.positive_definite
    _same_if_same_kind = True

    def _call(self, x: Tensor) -> Tensor:
        factor = LowerCholeskyTransform()(x)
        return factor @ factor.mT

    def _inverse(self, y: Tensor) -> Tensor:
        return LowerCholeskyTransform().inv(linalg.cholesky(y))
