"""The normal distribution of vectors."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from .._tensor.tensor import Tensor
from . import constraints
from ._matrices import factor_of, log_diagonal, only_given, squared_length, times
from .distribution import SCALAR, Distribution
from .utils import F, forwarded, lazy_property, standard_normal


class MultivariateNormal(Distribution):
    """Normal vectors of mean ``loc``, with one of three matrices.

    ``scale_tril`` is the lower Cholesky factor of ``covariance_matrix``, which is the
    inverse of ``precision_matrix``; the factor is what everything is computed from.
    Raises ValueError where not exactly one is given.

    >>> import gradtape as torch
    >>> torch.distributions.MultivariateNormal(torch.zeros(2), torch.eye(2)).entropy()
    tensor(2.8379)
    """

    arg_constraints: ClassVar = {
        "loc": constraints.real_vector,
        "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
    }
    support = constraints.real_vector
    has_rsample = True
    _expanded = ("loc", "covariance_matrix", "precision_matrix", "scale_tril")
    _kept = ("_unbroadcasted_scale_tril",)

    def __init__(
        self,
        loc: Tensor,
        covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        name, matrix = only_given(
            covariance_matrix, precision_matrix, scale_tril, ValueError
        )
        if matrix.dim() < 2:
            label = "scale_tril matrix" if name == "scale_tril" else name
            raise ValueError(
                f"{label} must be at least two-dimensional, with optional leading "
                "batch dimensions"
            )
        batch = F.broadcast_shapes(matrix.shape[:-2], loc.shape[:-1])
        self.__dict__[name] = matrix.expand((*batch, -1, -1))
        self.loc = loc.expand((*batch, -1))
        super().__init__(batch, self.loc.shape[-1:], validate_args=validate_args)
        self._unbroadcasted_scale_tril = factor_of(name, matrix)

    def _square(self, matrix: Tensor) -> Tensor:
        """Widen a matrix over the batch."""
        return matrix.expand(self._batch_shape + self._event_shape + self._event_shape)

    @lazy_property
    def scale_tril(self) -> Tensor:
        return self._square(self._unbroadcasted_scale_tril)

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        factor = self._unbroadcasted_scale_tril
        return self._square(F.matmul(factor, factor.mT))

    @lazy_property
    def precision_matrix(self) -> Tensor:
        return self._square(F.cholesky_inverse(self._unbroadcasted_scale_tril))

    mean = mode = forwarded("loc")

    @property
    def variance(self) -> Tensor:
        squares = self._unbroadcasted_scale_tril.pow(2).sum(-1)
        return squares.expand(self._batch_shape + self._event_shape)

    def rsample(self, sample_shape: Any = SCALAR) -> Tensor:
        eps = standard_normal(self._extended_shape(sample_shape), self.loc)
        return self.loc + times(self._unbroadcasted_scale_tril, eps)

    def log_prob(self, value: Tensor) -> Tensor:
        self._checked(value)
        factor = self._unbroadcasted_scale_tril
        distance = squared_length(factor, value - self.loc)
        norm = self._event_shape[0] * math.log(2 * math.pi)
        return -0.5 * (norm + distance) - log_diagonal(factor)

    def entropy(self) -> Tensor:
        norm = 0.5 * self._event_shape[0] * (1.0 + math.log(2 * math.pi))
        found = norm + log_diagonal(self._unbroadcasted_scale_tril)
        return found.expand(self._batch_shape) if self._batch_shape else found
