"""Normal vectors whose covariance is a low-rank matrix and a diagonal."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from .. import linalg
from .._tensor.tensor import Tensor
from . import constraints
from ._matrices import log_diagonal, squared_length, times, with_identity
from .distribution import SCALAR, Distribution
from .utils import F, forwarded, lazy_property, standard_normal


def _inner(w: Tensor, d: Tensor) -> Tensor:
    return w.mT / d.unsqueeze(-2)


def capacitance_tril(w: Tensor, d: Tensor) -> Tensor:
    """Return the Cholesky factor of I + W' D^-1 W."""
    return linalg.cholesky(with_identity(F.matmul(_inner(w, d), w)))


def lowrank_logdet(w: Tensor, d: Tensor, factor: Tensor) -> Tensor:
    """Return log det(W W' + D), by the matrix determinant lemma."""
    return 2 * log_diagonal(factor) + d.log().sum(-1)


def lowrank_distance(w: Tensor, d: Tensor, x: Tensor, factor: Tensor) -> Tensor:
    """Return x' (W W' + D)^-1 x, by Woodbury's identity."""
    whole = (x.pow(2) / d).sum(-1)
    return whole - squared_length(factor, times(_inner(w, d), x))


class LowRankMultivariateNormal(Distribution):
    """Normal vectors of covariance ``cov_factor`` ``cov_factor``' + ``cov_diag``.

    ``cov_factor`` has one column per rank; costs grow with the rank, not with the size
    of vectors. Raises ValueError where shapes do not fit together.

    >>> import gradtape as torch
    >>> torch.distributions.LowRankMultivariateNormal(
    ...     torch.zeros(2), torch.tensor([[1.0], [0.0]]), torch.ones(2)
    ... ).covariance_matrix
    tensor([[2., 0.],
            [0., 1.]])
    """

    arg_constraints: ClassVar = {
        "loc": constraints.real_vector,
        "cov_factor": constraints.independent(constraints.real, 2),
        "cov_diag": constraints.independent(constraints.positive, 1),
    }
    support = constraints.real_vector
    has_rsample = True
    _expanded = ("loc", "cov_diag", "cov_factor")
    _kept = (
        "_unbroadcasted_cov_factor",
        "_unbroadcasted_cov_diag",
        "_capacitance_tril",
    )

    def __init__(
        self,
        loc: Tensor,
        cov_factor: Tensor,
        cov_diag: Tensor,
        validate_args: bool | None = None,
    ) -> None:
        _check_shapes(loc, cov_factor, cov_diag)
        columns = loc.unsqueeze(-1), cov_factor, cov_diag.unsqueeze(-1)
        try:
            wide, self.cov_factor, diag = F.broadcast_tensors(*columns)
        except RuntimeError as error:
            raise ValueError(
                f"Incompatible batch shapes: loc {loc.shape}, cov_factor "
                f"{cov_factor.shape}, cov_diag {cov_diag.shape}"
            ) from error
        self.loc, self.cov_diag = wide[..., 0], diag[..., 0]
        batch = self.loc.shape[:-1]
        self._unbroadcasted_cov_factor = cov_factor
        self._unbroadcasted_cov_diag = cov_diag
        self._capacitance_tril = capacitance_tril(cov_factor, cov_diag)
        super().__init__(batch, loc.shape[-1:], validate_args=validate_args)

    @property
    def _parts(self) -> tuple[Tensor, Tensor]:
        return self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag

    def _square(self, matrix: Tensor) -> Tensor:
        return matrix.expand(self._batch_shape + self._event_shape + self._event_shape)

    mean = mode = forwarded("loc")

    @lazy_property
    def variance(self) -> Tensor:  # type: ignore[override]
        w, d = self._parts
        return (w.pow(2).sum(-1) + d).expand(self._batch_shape + self._event_shape)

    @lazy_property
    def scale_tril(self) -> Tensor:
        """The Cholesky factor of the covariance, of which D^1/2 is taken out."""
        w, d = self._parts
        root = d.sqrt().unsqueeze(-1)
        scaled = w / root
        factor = linalg.cholesky(with_identity(F.matmul(scaled, scaled.mT)))
        return self._square(root * factor)

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        w, d = self._parts
        return self._square(F.matmul(w, w.mT) + F.diag_embed(d))

    @lazy_property
    def precision_matrix(self) -> Tensor:
        w, d = self._parts
        solved = linalg.solve_triangular(
            self._capacitance_tril, _inner(w, d), upper=False
        )
        found = F.diag_embed(d.reciprocal()) - F.matmul(solved.mT, solved)
        return self._square(found)

    def rsample(self, sample_shape: Any = SCALAR) -> Tensor:
        shape = self._extended_shape(sample_shape)
        low = standard_normal(shape[:-1] + self.cov_factor.shape[-1:], self.loc)
        own = standard_normal(shape, self.loc)
        w, d = self._parts
        return self.loc + times(w, low) + d.sqrt() * own

    def log_prob(self, value: Tensor) -> Tensor:
        self._checked(value)
        parts, factor = self._parts, self._capacitance_tril
        distance = lowrank_distance(*parts, value - self.loc, factor)
        norm = self._event_shape[0] * math.log(2 * math.pi)
        return -0.5 * (norm + lowrank_logdet(*parts, factor) + distance)

    def entropy(self) -> Tensor:
        norm = self._event_shape[0] * (1.0 + math.log(2 * math.pi))
        found = 0.5 * (norm + lowrank_logdet(*self._parts, self._capacitance_tril))
        return found.expand(self._batch_shape) if self._batch_shape else found


def _check_shapes(loc: Tensor, cov_factor: Tensor, cov_diag: Tensor) -> None:
    if loc.dim() < 1:
        raise ValueError("loc must be at least one-dimensional.")
    event = loc.shape[-1:]
    if cov_factor.dim() < 2:
        raise ValueError(
            "cov_factor must be at least two-dimensional, with optional leading batch "
            "dimensions"
        )
    if cov_factor.shape[-2:-1] != event:
        raise ValueError(
            f"cov_factor must be a batch of matrices with shape {event[0]} x m"
        )
    if cov_diag.shape[-1:] != event:
        raise ValueError(f"cov_diag must be a batch of vectors with shape {event}")
